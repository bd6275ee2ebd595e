"""Why one side is faster: parts of a transaction's time that differ are named, noise is not."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.comparison.beside_parts import ROUND_TRIP, Counter, counted, counters_apart
from hdbkit.analysis.comparison.explaining import TOTAL, Level, explained_by_parts, replicated
from hdbkit.analysis.comparison.explanation import Explanation, Part, TimeRatio
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.run.waits import BESIDE, OUTSIDE, PROCESSORS, RUNNING, SERVER_CPU, UNTOLD, with_tables
from hdbkit.charts.wait_charts import explained
from hdbkit.execution.table_rows import statement_growth
from hdbkit.results.manifest import NetworkFacts
from tests.unit.synthetic import changed, with_result, write_run

LOG = "log (WalSync)"
Rows = Callable[..., pd.DataFrame]


@pytest.fixture
def rows() -> Rows:
    """Runs whose parts vary by 3 %, in milliseconds per transaction."""
    draw = np.random.default_rng(20261127)

    def of(n: int, log: float, cpu: float = 0.5, **more: float) -> pd.DataFrame:
        means = {SERVER_CPU: cpu, LOG: log, OUTSIDE: 0.4, **more}
        parts = pd.DataFrame({name: ms * draw.normal(1, 0.03, n) for name, ms in means.items()})
        return parts.assign(**{TOTAL: parts.sum(axis=1)})

    return of


def table(base: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    both = pd.concat([base.assign(side=BASE), new.assign(side=NEW)], ignore_index=True)
    return both.assign(run_id=[f"run-{number}" for number in range(len(both))])


def found(base: pd.DataFrame, new: pd.DataFrame, *, in_turn: bool = True, level: Level | None = None) -> Explanation:
    """Runs of one session, in turn (either side first as often) or one side first."""
    parts = table(base, new)
    pairs = [(f"run-{i}", f"run-{i + len(base)}")[:: (-1) ** i] for i in range(len(base))]
    order = [one for pair in pairs for one in pair] if in_turn else parts["run_id"].tolist()
    runs = pd.DataFrame({"run_id": order, "virtual_users": 4, "session": "one"})
    return explained_by_parts("transaction", parts, runs, level)


def test_a_wait_that_is_gone_is_named_with_its_interval(rows: Rows) -> None:
    why = found(rows(6, log=1.9), rows(6, log=0.0))
    assert [one.name for one in why.causes] == [LOG]
    assert why.causes[0].low_ms < -1.9 < why.causes[0].high_ms < -1.8
    assert re.match(
        r"A transaction takes 6\d\.?\d? % less time \(.+\): waits for log \(WalSync\) fell by 1\.", why.sentence
    )
    assert ", about all of the difference; no change of the CPU of the sessions is shown (" in why.sentence
    assert explained(why).table["part"].tolist()[:2] == [TOTAL, LOG]


def test_a_part_that_rose_is_named_too(rows: Rows) -> None:
    why = found(rows(5, log=0.2), rows(5, log=0.2, cpu=1.5))
    assert [one.name for one in why.causes] == [SERVER_CPU]
    assert " % more time (" in why.sentence and "): CPU of the sessions rose by 1.0" in why.sentence


def test_what_changed_beside_a_cause_is_named_with_it(rows: Rows) -> None:
    why = found(rows(5, log=0.2), rows(5, log=0.2, cpu=1.5))
    counted = (Counter("rows read by full scans", 0.0, 30_000.0, 1e-9), Counter("pages requested", 9.0, 10.0, 1e-4))
    more = dataclasses.replace(
        why, counters=counted, where={SERVER_CPU: "payment"}, plans=("payment find now reads",)
    )
    assert "most of it in payment, with rows read by full scans 30,000 instead of 0, payment find" in more.sentence
    assert more.sentence.endswith("now reads.")
    alike = dataclasses.replace(
        found(rows(5, log=0.2), rows(5, log=0.2)), plans=("payment find now reads",), plans_note=" (one build)"
    )
    assert alike.sentence.endswith("Plans: payment find now reads (one build).")
    fewer = dataclasses.replace(why, counters=(Counter("pages requested", 9.0, 1.0, 1e-4),))
    assert "pages requested" not in fewer.sentence


def test_waits_for_a_processor_belong_to_who_uses_more_of_it(rows: Rows) -> None:
    base = rows(6, log=0.2, **{PROCESSORS: 1.0})
    dearer = found(base, rows(6, log=0.2, cpu=1.5, **{PROCESSORS: 3.0}))
    assert [one.name for one in dearer.causes] == [SERVER_CPU]
    assert "of the difference, with its waits for a processor" in dearer.sentence
    starved = found(base, rows(6, log=0.2, **{PROCESSORS: 3.0}))
    assert [one.name for one in starved.causes] == [PROCESSORS]


def test_a_wait_without_a_table_has_that_of_the_nearest_of_its_kind() -> None:
    rows = [
        (5, "payment", "lock", "row", ""),
        (1, "payment", "lock", "row", "warehouse"),
        (6, "payment", "lock", "row", "total"),
        (5, "new_order", "lock", "row", ""),
        (6, "payment", "lock", "extend", ""),
    ]
    waits = with_tables(pd.DataFrame(rows, columns=["t_us", "operation", "class", "event", "table"]))
    assert sorted(waits["table"]) == ["", "", "total", "total", "warehouse"]
    assert waits.loc[waits["table"] == "total", "operation"].tolist() == ["payment", "payment"]


def test_the_statement_that_takes_most_of_the_difference_is_named() -> None:
    why = found_with_statements(rose_ms=1.0)
    assert why.sentence.endswith(" The time (ms) of SELECT a rose from 0.1 to 1.1 per transaction.")
    assert "SELECT a" not in found_with_statements(rose_ms=0.1).sentence


def found_with_statements(rose_ms: float) -> Explanation:
    parts = (Part(SERVER_CPU, 0.5, 1.5, 0.9, 1.1),)
    counted = (
        Counter("time (ms) of SELECT a", 0.1, 0.1 + rose_ms, 1e-9),
        Counter("executions of SELECT a", 1, 2, 1e-9),
    )
    total, time = Part(TOTAL, 1.0, 2.0, 0.9, 1.1), TimeRatio(2.0, 1.9, 2.1)
    return Explanation("transaction", total, time, parts, "blocks", statements=counted)


def test_work_of_hosts_and_the_way_to_the_server_are_compared_per_transaction(tmp_path: Path) -> None:
    run = with_result(write_run(tmp_path / "a", users=1, duration_s=3)).manifest
    use = {"per_s": {"context_switches": 900.0, "soft_interrupts_net_rx": 30.0}}
    run = changed(run, load_host=use, server_host=use, completed=300, window_s=3.0)
    found = counted(run.model_copy(update={"network": NetworkFacts(round_trip_ms=0.4)}))
    assert found["context switches of the load host"] == 9
    assert found["soft interrupts for received packets (NET_RX) of the database's host"] == 0.3
    assert found["round trip before the run (ms)"] == 0.4


def test_a_round_trip_that_accounts_for_the_difference_is_stated(rows: Rows) -> None:
    why = found(rows(6, log=0.2), rows(6, log=0.2, client=2.0))
    trip = Counter(ROUND_TRIP, 0.05, 0.4, 1e-6)
    far = dataclasses.replace(why, counters=(trip,), round_trips=5.0)
    assert far.sentence.endswith(
        " The round trip, measured before each run, rose from 0.05 to 0.4 ms; a transaction has 5 of them."
    )
    near = dataclasses.replace(trip, new=0.1)
    assert "round trip" not in dataclasses.replace(why, counters=(near,), round_trips=5.0).sentence


def test_what_grew_is_counted_by_statement() -> None:
    before = {
        "edge": "start",
        "rows": [["1", "SELECT a", 2, 1.0, 2, None, 9, 0, 0], ["2", "SELECT b", 1, 1, 1, 1, 1, 0, 0]],
    }
    after = {
        "edge": "end",
        "rows": [["1", "SELECT a", 5, 4.0, 5, None, 12, 0, 0], *before["rows"][1:], ["3", "c", 1] + 6 * [0]],
    }
    grew = statement_growth([before, after])
    assert [(one["text"], one["calls"], one["time_ms"], one["pages"]) for one in grew] == [
        ("SELECT a", 3, 3, 3),
        ("c", 1, 0, 0),
    ]
    assert np.isnan(grew[0]["rows_read"])
    assert statement_growth([after]) == []


def test_a_disturbance_of_both_runs_of_a_block_hides_no_cause(rows: Rows) -> None:
    base, new = rows(6, log=0.6), rows(6, log=1.2)
    busy = np.array([1.0, 4.0, 1.0, 6.0, 2.0, 9.0])
    why = found(base.mul(busy, axis=0), new.mul(busy, axis=0))
    assert [one.name for one in why.causes] == [LOG]


def test_alike_sides_have_no_cause(rows: Rows) -> None:
    named = sum(bool(found(rows(6, log=1.9), rows(6, log=1.9)).causes) for _ in range(60))
    assert named <= 6  # at 5 %, 7 or more of 60 in 3 % of all seeds


def test_two_runs_alone_name_no_cause_and_the_text_says_why(rows: Rows) -> None:
    why = explained_by_parts("transaction", table(rows(10, log=1.9), rows(10, log=0.5)))
    log = next(part for part in why.parts if part.name == LOG)
    assert log.high_ms < -1.2 and "10 stretches" in why.how and "these runs alone" in why.how
    assert not why.causes and not why.clear
    assert why.sentence.startswith("With one run on each side no cause is named, as another pair")


def test_neighbouring_stretches_that_are_alike_widen_the_intervals(rows: Rows) -> None:
    base, new = rows(10, log=1.9), rows(10, log=1.9)
    slow = np.repeat([1.0, 1.3], 5)
    alike = table(base.mul(slow, axis=0), new.mul(slow, axis=0))
    mixed = table(base.mul(np.tile([1.0, 1.3], 5), axis=0), new.mul(np.tile([1.0, 1.3], 5), axis=0))
    widths = [
        one.total.high_ms - one.total.low_ms
        for one in (explained_by_parts("transaction", it) for it in (alike, mixed))
    ]
    assert widths[0] > 1.5 * widths[1]


def test_a_part_that_differs_is_stated_where_the_total_is_undecided(rows: Rows) -> None:
    noise = np.random.default_rng(3).normal(8.0, 2.0, (2, 6))
    base, new = (rows(6, log=log, waiting=1.0) for log in (0.2, 0.9))
    for side, queued in zip((base, new), noise, strict=True):
        side["waiting"] += queued
        side[TOTAL] += queued
    why = found(base, new, level=Level(decided=False))
    assert not why.causes
    assert re.match(
        r"Whether a transaction takes more or less time is undecided \(-.+ % to \+.+ %\); waits for log", why.sentence
    )


def test_a_difference_that_the_comparison_has_not_decided_is_not_claimed(rows: Rows) -> None:
    base, new = rows(6, log=1.9), rows(6, log=0.0)
    why = found(base, new, level=Level(decided=False))
    assert why.time.is_clear and not why.causes and " takes 6" not in why.sentence
    assert "is undecided; waits for log (WalSync) fell by 1.9" in why.sentence


def test_a_stricter_level_makes_wider_intervals(rows: Rows) -> None:
    base, new = rows(6, log=1.9), rows(6, log=1.8)
    widths = [
        why.total.high_ms - why.total.low_ms
        for level in (Level(), Level(0.99), Level(0.95, comparisons=7))
        for why in [found(base, new, level=level)]
    ]
    assert widths[0] < widths[1] < widths[2]


def test_waits_for_a_processor_that_leave_nothing_to_the_network_are_one_part_with_it(rows: Rows) -> None:
    """A core is waited for within reported waits, too: neither is then measured by itself."""
    base, new = rows(6, log=0.2, **{PROCESSORS: 1.0}), rows(6, log=0.2, **{PROCESSORS: 3.0})
    for side in (base, new):
        side[OUTSIDE] -= 0.6
        side[TOTAL] -= 0.6
    why = found(base, new)
    assert [one.name for one in why.causes] == [UNTOLD]
    assert not {PROCESSORS, OUTSIDE} & {part.name for part in why.parts}


def test_a_part_below_zero_is_no_cause(rows: Rows) -> None:
    why = found(rows(6, log=0.2), rows(6, log=0.2, client=-0.5))
    part = next(one for one in why.parts if one.name == "client")
    assert part.high_ms < 0 and not part.is_clear and not why.causes


def test_work_beside_the_transactions_is_stated_and_is_no_cause(rows: Rows) -> None:
    base, new = rows(6, log=0.2), rows(6, log=0.2)
    base[BESIDE], new[BESIDE] = 0.1 + 0.001 * np.arange(6), 0.4 + 0.001 * np.arange(6)
    why = found(base, new)
    assert not why.causes and BESIDE not in [part.name for part in why.parts]
    assert "CPU of the server's other work rose by 0.3 ms" in why.sentence
    assert why.sentence.endswith("per transaction, which is no part of its time.")


def test_counters_of_sessions_are_judged_by_sessions(rows: Rows) -> None:
    """Two sessions a side, five runs each: what differs from session to session differs in all of its runs."""
    draw = np.random.default_rng(5)
    sides = np.repeat([BASE, NEW, BASE, NEW], 5)
    sessions = np.repeat(["a", "b", "c", "d"], 5)
    runs = pd.DataFrame(
        {"side": sides, "session": sessions, "virtual_users": 4, "run_id": [f"r{i}" for i in range(20)]}
    )
    levels = draw.normal(10, 0.5, (4, 40)).repeat(5, axis=0) + draw.normal(0, 0.05, (20, 40))
    counters = pd.DataFrame(levels, columns=[f"counter {i}" for i in range(40)])
    assert not counters_apart(counters, runs["side"], partial(replicated, runs))
    counters["counter 0"] += np.where(sides == NEW, 500.0, 0.0)
    assert [one.name for one in counters_apart(counters, runs["side"], partial(replicated, runs))] == ["counter 0"]


def test_sides_that_do_not_alternate_have_no_interval_and_no_cause(rows: Rows) -> None:
    why = found(rows(3, log=1.9), rows(3, log=0.1), in_turn=False)
    assert not why.causes
    assert "have no intervals" in why.sentence and "do not alternate" in why.sentence


def test_waits_that_are_small_on_both_sides_are_one_part(rows: Rows) -> None:
    many = {f"latch (L{number})": 0.001 for number in range(30)}
    why = found(rows(4, log=1.9, **many), rows(4, log=1.9))
    assert sorted(one.name for one in why.parts) == sorted([SERVER_CPU, LOG, OUTSIDE, "anything else"])


def test_an_interval_of_too_few_blocks_is_none() -> None:
    assert TimeRatio.of(0.1, -0.1, 0.3).ends == "-9.5 % to +35 %"
    for ends in ((-900.0, 900.0), (-np.inf, np.inf), (np.nan, np.nan)):
        assert np.isnan(TimeRatio.of(0.1, *ends).low)


def test_time_without_a_wait_is_whole_where_one_run_cannot_split_it() -> None:
    order = pd.DataFrame({"side": [BASE, NEW, NEW, BASE, NEW, BASE], "run_id": [*"abcdef"]})
    whole = {RUNNING: 6.0, SERVER_CPU: np.nan, "log (WALSync)": 2.0, TOTAL: 8.0}
    split = {RUNNING: np.nan, SERVER_CPU: 6.0, "log (WALSync)": 2.0, TOTAL: 8.0}
    rows = [{**(split if run == "c" else whole), "run_id": run} for run in order["run_id"]]
    times = pd.DataFrame(rows).assign(side=order["side"])
    runs = order.assign(session="s", virtual_users=4)
    found = explained_by_parts("operation", times, runs.drop(columns="side"), Level(decided=False))
    assert {part.name for part in found.parts} == {RUNNING, "log (WALSync)"}
    assert not found.clear
    assert found.sentence.startswith("Whether an operation takes more or less time is undecided")
