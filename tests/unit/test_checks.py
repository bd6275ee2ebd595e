"""Each check of a result passes on a valid run and finds its own fault."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run import drift
from hdbkit.analysis.run.brackets import brackets
from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.records import completed_by_part, window_of
from hdbkit.analysis.run.summary import summarize
from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.caution import Kind
from hdbkit.report.card import checks_over_runs
from hdbkit.results import columns
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import CheckLine
from tests.unit.synthetic import (
    DETAILS,
    Synthetic,
    clients_of,
    counters_of,
    host_of,
    operations,
    write_errors,
    write_run,
    write_table,
)

BRACKET = "schema's count bracketed by the clients"
Write = Callable[..., Synthetic]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    """A run without a fault, which no test changes."""
    return write_run(tmp_path_factory.mktemp("sound") / "a-run", duration_s=12)


@pytest.fixture
def write(sound: Synthetic, tmp_path: Path) -> Write:
    """Writes a run of its own; one without changes is a copy of the sound one."""

    def make(**changes: Any) -> Synthetic:
        path = tmp_path / "a-run"
        if changes:
            return write_run(path, **{"duration_s": 12, **changes})
        shutil.copytree(sound.folder.path, path)
        return Synthetic(RunFolder(path), sound.manifest, sound.rows.copy())

    return make


def line(run: Synthetic, name: str) -> CheckLine:
    return {check.name: check for check in check_run(run.folder, run.manifest)}[name]


def with_orders(run: Synthetic, edge: str, more: int) -> Synthetic:
    """The same run with a schema that counted ``more`` new orders at an edge."""
    counters = counters_of(run.rows, 2_000_000, 14_000_000)
    counters.loc[(counters["edge"] == edge) & (counters["name"] == columns.COUNTED), "value"] += more
    write_table(run.folder.table("counters"), counters, columns.COUNTERS)
    return run


def test_a_server_that_ends_other_transactions_in_half_of_the_window_is_found(write: Write) -> None:
    run = write()
    counters = counters_of(run.rows, 2_000_000, 14_000_000)
    commits = counters["name"] == "commits"
    middle, end = (counters.loc[commits & (counters["edge"] == edge), "value"].iloc[0] for edge in ("", "end"))
    counters.loc[commits & (counters["edge"] == "end"), "value"] = middle + 3 * (end - middle)
    write_table(run.folder.table("counters"), counters, columns.COUNTERS)
    found = line(run, "engine TPM follows NOPM")
    assert found.passed is False
    assert "in the first half of the window" in found.detail


def test_a_sound_run_passes_every_check(write: Write) -> None:
    run = write()
    found = check_run(run.folder, run.manifest)
    assert {check.name for check in found if check.passed is not True} == {"CPU pressure"}
    assert len({check.name for check in found}) == len(found) == 12


@pytest.mark.parametrize("edge", ["start", "end"])
@pytest.mark.parametrize("more", [-10, 10])
def test_orders_too_many_or_too_few_at_either_edge_are_found(write: Write, edge: str, more: int) -> None:
    assert line(with_orders(write(), edge, more), BRACKET).passed is False


def test_the_bracket_is_as_tight_as_the_orders_in_flight(write: Write) -> None:
    """No more than the orders of 2 ms and four clients lie between the bounds."""
    run = write()
    for one in brackets(run.folder, run.manifest, clients_lost=0):
        assert 0 <= one.started - one.acknowledged < 15
        assert one.acknowledged > 1000


def test_the_bracket_is_undecided_without_the_count_at_the_runs_start(write: Write) -> None:
    run = write()
    counters = counters_of(run.rows, 2_000_000, 14_000_000)
    write_table(run.folder.table("counters"), counters[counters["edge"] != "run_start"], columns.COUNTERS)
    assert line(run, BRACKET).passed is None


def test_orders_of_a_lost_connection_may_have_been_committed(write: Write) -> None:
    rows = operations(4, 14.5)
    sure = ((rows["operation"] == 0) & (rows["outcome"] == 0)).to_numpy().nonzero()[0][:9]
    run = write(rows=rows)
    rows.loc[sure, ["outcome", "error_class"]] = [2, columns.ERROR_CLASSES.index("connection_lost")]
    for user, part in rows.groupby("virtual_user"):
        write_table(run.folder.operations / f"user-{user:05d}.parquet", part, columns.OPERATIONS | DETAILS)
    assert line(run, BRACKET).passed, "counted by the schema, failed for the client"
    rows.loc[sure, "error_class"] = columns.ERROR_CLASSES.index("deadlock")
    for user, part in rows.groupby("virtual_user"):
        write_table(run.folder.operations / f"user-{user:05d}.parquet", part, columns.OPERATIONS | DETAILS)
    assert line(run, BRACKET).passed is False, "a deadlock leaves nothing behind"


def test_a_record_without_a_known_outcome_is_found(write: Write) -> None:
    rows = operations(4, 14.5)
    rows.loc[5000, "outcome"] = 9
    assert line(write(rows=rows), "every transaction accounted for").passed is False


def test_a_record_that_was_lost_on_its_way_to_the_table_is_found(write: Write) -> None:
    run = write()
    part = run.rows[run.rows["virtual_user"] == 2]
    write_table(run.folder.operations / "user-00002.parquet", part.head(-1), columns.OPERATIONS | DETAILS)
    found = line(run, "every transaction accounted for")
    assert (found.passed, f"{len(run.rows) - 1:,} records" in found.detail) == (False, True)


@pytest.mark.parametrize("other", ["seconds", "clients"])
def test_a_count_that_differs_from_the_records_is_found(write: Write, other: str) -> None:
    run = write()
    path = run.folder.table(other)
    frame = pd.read_parquet(path)
    frame.loc[0, "committed" if other == "seconds" else "operations"] += 1
    write_table(path, frame, getattr(columns, other.upper()))
    assert line(run, "every transaction accounted for").passed is False


def test_failed_transactions_are_found_by_class(write: Write) -> None:
    run = write(failed=0.001)
    write_errors(run.folder, "permission denied for table orders")
    found = line(run, "no transaction failed")
    assert found.passed is False
    assert "deadlock" in found.detail
    assert found.detail.endswith("; most frequent error: permission denied for table orders")


def test_operations_one_by_one_fail_each_for_its_reason(write: Write) -> None:
    run = write(failed=0.001)
    write_errors(run.folder, "no space left on device.")
    one_by_one = replace(run, manifest=run.manifest.model_copy(update={"lists": [(["new_order"], 1)]}))
    names = {check.name for check in check_run(one_by_one.folder, one_by_one.manifest)}
    assert not names & {"steady state", "Little's law"}, "lists end when they end"
    assert line(one_by_one, "no transaction failed").detail.endswith(
        "; new_order: deadlock detected; payment: no space left on device"
    )


def test_a_killed_client_is_found(write: Write) -> None:
    run = write()
    clients = clients_of(run.rows, 4)
    clients.loc[1, "ended"] = "killed"
    write_table(run.folder.table("clients"), clients, columns.CLIENTS)
    found = line(run, "clients ended as planned")
    assert (found.passed, "3 of 4" in found.detail, "1 killed" in found.detail) == (False, True, True)


def test_a_client_that_left_no_trace_is_found(write: Write) -> None:
    run = write()
    write_table(run.folder.table("clients"), clients_of(run.rows, 4).head(3), columns.CLIENTS)
    assert line(run, "clients ended as planned").passed is False


def test_another_mix_than_asked_is_found(write: Write) -> None:
    weights = {"new_order": 40, "payment": 48, "order_status": 4, "delivery": 4, "stock_level": 4}
    assert line(write(load={"mix": weights}), "mix as asked").passed is False


def test_a_transaction_that_was_not_asked_for_is_found(write: Write) -> None:
    found = line(write(load={"mix": {"new_order": 51, "payment": 49}}), "mix as asked")
    assert (found.passed, "not planned" in found.detail) == (False, True)


def test_new_orders_must_be_rolled_back_in_one_of_a_hundred(write: Write) -> None:
    """TPC-C 2.4.1.4."""
    rows = operations(4, 14.5)
    rows.loc[rows["outcome"] == 1, "outcome"] = 0
    assert line(write(rows=rows), "1 % of new_order rolled back").passed is False


def test_no_rollback_rate_is_checked_where_none_is_planned(write: Write) -> None:
    run = write(load={"input_rules": "hammerdb"})
    assert not [one.name for one in check_run(run.folder, run.manifest) if "rolled back" in one.name]


def test_users_that_stood_idle_break_littles_law(write: Write) -> None:
    rows = operations(4, 14.5)
    idle = rows[(rows["virtual_user"] != 3) | (rows["t_start_us"] < 6_000_000)]
    assert line(write(rows=idle), "Little's law").passed is False


def test_a_stall_at_the_edge_of_a_short_window_breaks_no_law(write: Write) -> None:
    """The operations of all users wait for a second, and end after the window: they count in none of it."""
    rows = operations(4, 7.5)
    last = rows[rows["t_start_us"] < 6_300_000].groupby("virtual_user")["t_start_us"].idxmax()
    rows.loc[last, "latency_us"] = 1_200_000
    stalled = rows[(rows["t_start_us"] < 6_300_000) | (rows["t_start_us"] > 7_500_000)]
    found = line(write(rows=stalled, duration_s=5), "Little's law")
    assert found.passed is True, found.detail


def test_clients_that_wait_for_a_processor_at_the_edge_of_a_short_window_break_no_law(write: Write) -> None:
    """All users begin no operation for 0.6 s, once within the window and once at its end."""
    rows = operations(4, 7.5)
    paused = rows[~rows["t_start_us"].between(3_000_000, 3_600_000) & (rows["t_start_us"] < 6_400_000)]
    found = line(write(rows=paused, duration_s=5), "Little's law")
    assert found.passed is True, found.detail


def test_time_outside_the_calls_is_reported_and_is_not_an_error(write: Write) -> None:
    found = line(write(gap_us=400), "Little's law")
    assert found.passed is True
    assert "35." in found.detail or "36." in found.detail


def test_stolen_and_throttled_time_are_warnings_and_no_failed_checks(write: Write) -> None:
    """A virtual machine or a container cannot prevent it, and the figures are those of this machine."""
    run = write(host=host_of(16, steal=0.05, throttled=0.3))
    manifest = run.manifest.model_copy(update={"result": summarize(run.folder, run.manifest)})
    found = {one.kind: one for one in run_warnings(manifest)}
    assert "other machines took 5.0 % of the CPU time of the load host (steal time)" in found[Kind.STEAL]
    assert "a CPU quota of a control group paused" in found[Kind.THROTTLED]
    assert "for 30 % of the window" in found[Kind.THROTTLED]
    assert [one.name for one in check_run(run.folder, run.manifest) if one.passed is False] == []


@pytest.mark.parametrize(("server_share", "others"), [(0.25, True), (0.6, False)])
def test_other_processes_on_the_host_are_a_warning(write: Write, server_share: float, others: bool) -> None:
    host = host_of(16)
    run = write(host=host.assign(server_cpu_s=server_share * 2 * host["t_us"] / 1e6))
    result = summarize(run.folder, run.manifest)
    warnings = {one.kind: one for one in run_warnings(run.manifest.model_copy(update={"result": result}))}
    assert (Kind.OTHERS in warnings) is others
    if others:
        assert re.fullmatch(
            r"other processes used \d\d % of the CPU time of the load host; at most .*", warnings[Kind.OTHERS]
        )


@pytest.mark.parametrize(("address", "known"), [("localhost", False), ("db.example.com", True)])
def test_other_processes_are_unknown_where_the_server_may_be_among_them(
    write: Write, address: str, known: bool
) -> None:
    run = write(host=host_of(16).assign(server_cpu_s=np.nan))
    target = run.manifest.plan.target.model_copy(update={"host": address})
    plan = run.manifest.plan.model_copy(update={"target": target})
    found = summarize(run.folder, run.manifest.model_copy(update={"plan": plan})).others_cpu_pct
    assert (found is not None) is known


def test_pressure_counts_where_the_clients_have_the_host_to_themselves(write: Write) -> None:
    host = host_of(16, pressure=0.5).assign(server_cpu_s=np.nan)
    assert line(write(host=host), "CPU pressure").passed is False


def test_a_run_that_slows_down_is_not_steady(write: Write) -> None:
    assert line(write(drift=0.5), "steady state").passed is False


def test_a_short_window_cannot_be_steady_or_not(write: Write) -> None:
    assert line(write(duration_s=5), "steady state").passed is None


def test_a_window_that_ends_some_milliseconds_early_is_long_enough(write: Write) -> None:
    """A window that was to last 10 s lasts 9.99 s; its ten parts hold all that was completed."""
    run = write(duration_s=9.99)
    assert "too short" not in line(run, "steady state").detail
    parts = completed_by_part(run.folder, window_of(run.manifest))
    assert (len(parts), parts.sum()) == (10, (run.inside["outcome"] != 2).sum())
    assert line(write_run(run.folder.path.with_name("short"), duration_s=9.4), "steady state").passed is None


def autoregressive(seed: int, seconds: int, correlation: float, deviation: float) -> np.ndarray:
    """Operations by second around 1,000, correlated from each second to the next."""
    draw, values = np.random.default_rng(seed), [0.0]
    for _ in range(seconds + 20):
        values.append(correlation * values[-1] + draw.normal(0, np.sqrt(1 - correlation**2)))
    return 1000 * (1 + deviation * np.array(values[-seconds:]))


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("seconds", [10, 30])
def test_correlated_seconds_are_no_drift(seconds: int, correlation: float) -> None:
    found = [drift.drift(autoregressive(seed, seconds, correlation, 0.1)) for seed in range(200)]
    assert sum(one is not None and not one.low <= 0 <= one.high for one in found) <= 0.08 * len(found)
    assert sum(one is not None and one.steady is False for one in found) <= 0.05 * len(found)
    assert not any(one is not None and one.steady for one in found if one and one.high - one.low > 0.1)


def test_a_drift_is_found_although_it_looks_like_correlation() -> None:
    course = 1000 * np.linspace(1.1, 0.9, 60)
    found = drift.drift(course + np.random.default_rng(1).normal(0, 20, 60))
    assert found is not None and found.steady is False
    assert found.change == pytest.approx(-0.1, abs=0.02)


def test_a_drift_is_a_share_of_the_first_half() -> None:
    course = np.repeat([1000.0, 500.0], 15) + np.random.default_rng(1).normal(0, 5, 30)
    found = drift.drift(course)
    assert found is not None and found.change == pytest.approx(-0.5, abs=0.01)
    assert -1 <= found.low < -0.5 < found.high < 0
    stopped = drift.drift(course * (course > 750))
    assert stopped is not None and stopped.change == stopped.low == -1


def test_a_wide_interval_decides_nothing() -> None:
    wide, narrow, beyond = (
        drift.Drift(-0.13, -0.29, 0.03),
        drift.Drift(0.01, -0.04, 0.049),
        drift.Drift(0.1, 0.06, 0.14),
    )
    assert [wide.steady, narrow.steady, beyond.steady] == [None, True, False]


def test_the_interval_of_a_drift_lies_around_it() -> None:
    for seed in range(20):
        found = drift.drift(np.random.default_rng(seed).normal(1000, 50, 11))
        assert found is not None
        assert found.low < found.change < found.high
        assert (found.high + found.low) / 2 == pytest.approx(found.change, abs=0.3 * (found.high - found.low))


def test_a_run_in_slices_counts_once_among_the_runs_of_a_sweep(write: Write) -> None:
    run = write()
    kept = run.manifest.model_copy(update={"checks": check_run(run.folder, run.manifest)})
    found = {one.name: one.detail for one in checks_over_runs([kept, kept])}
    assert found["every transaction accounted for"] == "passed in 1 of 1 runs"
