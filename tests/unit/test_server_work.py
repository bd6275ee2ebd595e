"""The server's work, whether the data fits in memory, and whether the runs of a sweep started alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.server_work import (
    found_in_cache_pct,
    full_page_rates,
    mean_waiting,
    replication_lag,
    server_work_of,
)
from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.analysis.sweep.warnings import data_by_block, start_warnings
from hdbkit.caution import Kind
from hdbkit.config import Load
from hdbkit.execution.sampler import FullPages
from hdbkit.execution.table_rows import statement_courses, statement_growth
from hdbkit.readings import LAG
from hdbkit.report.server_work import growth_table, server_work, statements_work, work_by_configuration
from hdbkit.report.tables import UNKNOWN
from hdbkit.results import columns
from hdbkit.results.manifest import HostFacts, Manifest, ServerFacts, Status
from hdbkit.results.run_result import Lag
from hdbkit.results.writer import write_rows
from tests.unit.synthetic import METRIC, figures, plan_of, with_result, write_run

MIB = 1 << 20
SERVER = ServerFacts(cache="shared_buffers", cache_bytes=1024 * MIB, on_this_host=True)


def manifest(number: int = 1, **fields: Any) -> Manifest:
    """The ``number``th run of a sweep of two runs a block, on data that grow by 1 MiB and 100 orders a run."""
    place = {"number": number, "block": (number + 1) // 2, "configuration": number % 2, "rested_s": 30.0}
    data = {
        "bytes_before": (99.0 + number) * MIB,
        "bytes_after": (100.0 + number) * MIB,
        "counted_before": 100.0 * number,
        "counted_after": 100.0 * (number + 1),
    }
    result = figures(1.0, **{"data": data, "completed": 1000, **fields.pop("result", {})})
    place = {"experiment_id": "s", "settings": {}, **place, **fields.pop("place", {})}
    plan = plan_of(experiment=place, load=Load(virtual_users=4))
    given = {"server": SERVER, **fields}
    return Manifest(
        run_id=f"run-{number}",
        notice="",
        status=Status.DONE,
        plan=plan,
        operations=["new_order"],
        metric=METRIC,
        noun="transaction",
        host=HostFacts(memory_bytes=4096 * MIB),
        result=result,
        **given,
    )


def samples(*rows: tuple[float, str, float, float]) -> pd.DataFrame:
    """Samples of a server: second, edge, transactions, full-page images."""
    found = []
    for second, edge, done, images in rows:
        at = {"t_sent_us": int(second * 1e6), "t_returned_us": int(second * 1e6), "edge": edge}
        values = {"commits": done, "rollbacks": 0.0, "wal_fpi": images, "waiting_locks": second}
        found += [{**at, "name": name, "value": value} for name, value in values.items()]
    return pd.DataFrame(found)


def test_work_is_reported_per_operation_and_in_all_where_the_engine_counts_it() -> None:
    counters = {"wal_bytes": 4_000_000.0, "wal_fpi": 250.0, "blks_hit": 990.0, "blks_read": 10.0}
    found = {
        one.what: (one.total, one.each) for one in server_work_of(figures(1.0, counters=counters, completed=1000))
    }
    assert found["log written (bytes)"] == (4_000_000, 4000)
    assert found["full-page images in the log"] == (250, 0.25)
    assert found["pages read from files"] == (10, 0.01)
    assert "waits for row locks" not in found
    assert found_in_cache_pct(figures(1.0, counters=counters)) == pytest.approx(99)
    assert server_work_of(figures(1.0, counters={"commits": 5.0}, completed=5)) == []


def test_engines_with_other_names_count_the_same_work_of() -> None:
    counters = {"log_bytes": 4_000_000.0, "page_requests": 1000.0, "pages_read": 10.0, "row_lock_waits": 3.0}
    found = {one.what: one.total for one in server_work_of(figures(1.0, counters=counters, completed=0))}
    assert found["log written (bytes)"] == 4_000_000
    assert found["waits for row locks"] == 3
    assert found_in_cache_pct(figures(1.0, counters=counters)) == pytest.approx(99)


def test_the_rates_of_full_page_images_are_those_of_the_windows_ends() -> None:
    course = [(0.0, "run_start", 0.0, 0.0), (10.0, "start", 1000.0, 1000.0), (15.0, "", 2000.0, 1300.0)]
    course += [(20.0, "", 3000.0, 1400.0), (25.0, "", 4000.0, 1440.0), (30.0, "end", 5000.0, 1460.0)]
    counters = samples(*course, (40.0, "run_end", 9000.0, 9999.0))
    assert dict(full_page_rates(counters)) == pytest.approx({"first": 0.3, "last": 0.02})
    assert mean_waiting(counters) == 20
    assert full_page_rates(counters[counters["edge"] != ""]) is None
    assert full_page_rates(None) is None


def test_a_standby_that_answered_after_the_start_of_the_window_has_a_lag() -> None:
    counters = samples((0.0, "start", 0.0, 0.0), (1.0, "", 1.0, 0.0), (2.0, "end", 2.0, 0.0), (3.0, "", 3.0, 0.0))
    lags = counters[(counters["name"] == "commits") & (counters["edge"] != "start")].assign(name=LAG)
    assert replication_lag(pd.concat([counters, lags])) == Lag(mean=1.5, max=2.0)
    assert replication_lag(counters) is None
    assert replication_lag(lags) is None, "without an edge no window is known"


def test_a_window_among_full_page_images_is_a_warning_and_one_behind_them_is_not() -> None:
    among = manifest(result={"full_pages": {"first": 0.3, "last": 0.02}})
    assert "0.3 per transaction at its start, 0.02 at its end" in run_warnings(among)[0]
    assert run_warnings(manifest(result={"full_pages": {"first": 0.3, "last": 0.25}})) == []
    assert run_warnings(manifest(result={"full_pages": {"first": 0.03, "last": 0.0}})) == []
    lists = among.model_copy(update={"lists": [(["new_order"], 1)]})
    assert run_warnings(lists) == [], "a list has no ramp-up to extend"


def test_a_history_list_that_grew_by_much_is_a_warning_with_what_helps() -> None:
    found, few = (run_warnings(manifest(result={"counters": {"history_list_length": n}})) for n in (200_000.0, 9.0))
    assert (few, found[0].kind) == ([], Kind.HISTORY)
    assert all(word in found[0] for word in ("200,000", "--maintain", "innodb_purge_threads", "innodb_max_purge_lag"))


def test_waits_for_log_switches_are_a_warning_from_a_share_of_all_users_time_on() -> None:
    found, few = (
        run_warnings(manifest(result={"counters": {"log_switches": 3.0, "waited_log_switches_ms": ms}}))
        for ms in (9e6, 1.0)
    )
    assert (few, found[0].kind) == ([], Kind.LOG_SWITCHES)
    assert "waited 9,000 s for 3 log switches" in found[0]


def test_data_that_are_larger_than_the_cache_or_the_memory_are_reported() -> None:
    small = SERVER.model_copy(update={"cache_bytes": 64 * MIB})
    counters = {"blks_hit": 900.0, "blks_read": 100.0}
    found = run_warnings(manifest(server=small, result={"counters": counters}))[0]
    assert found.startswith("the data (100 MiB) are larger than shared_buffers (64 MiB)")
    assert "(0.1 per transaction; 90.00 % were in its cache)" in found
    full = manifest(server=small).model_copy(update={"host": HostFacts(memory_bytes=80 * MIB)})
    assert "larger than the memory of the host (80 MiB)" in run_warnings(full)[0]
    elsewhere = full.model_copy(update={"server": small.model_copy(update={"on_this_host": False})})
    assert "larger than shared_buffers" in run_warnings(elsewhere)[0]
    assert run_warnings(manifest()) == []


def test_growth_is_shown_by_block_and_a_warning_when_it_is_much() -> None:
    few, many = [manifest(number) for number in range(1, 5)], [manifest(number) for number in range(1, 9)]
    blocks = data_by_block(few)
    assert list(blocks["bytes_before"] / MIB) == [100, 102]
    assert list(blocks["bytes_after"] / MIB) == [102, 104]
    (table,) = growth_table(few)
    assert table.rows[0] == ["1", "100 MiB", "102 MiB", "200"]
    assert start_warnings(few) == []
    (found,) = start_warnings(many)
    assert found.startswith("the data grew by 6 % from the first block to the last (100 MiB to 106 MiB)")
    assert growth_table([manifest(result={"data": None})]) == []


def test_data_of_a_schema_without_a_count_have_a_size_alone() -> None:
    uncounted = {"data": {"bytes_before": 1, "bytes_after": 2, "counted_before": None, "counted_after": None}}
    (table,) = growth_table([manifest(1, result=uncounted)])
    assert table.rows[0][1:] == ["1 bytes", "2 bytes", UNKNOWN]


def test_a_sweep_counts_the_runs_with_warnings() -> None:
    busy = [manifest(1), manifest(2, place={"busy_pct": 42.0}), manifest(3, place={"busy_pct": 3.0})]
    assert [one.kind for one in run_warnings(busy[1])] == [Kind.BUSY]
    (found,) = start_warnings(busy)
    assert found == "in 1 of 3 runs: the host was 42 % busy when the clients started, after a cool-down of 30 s"


def test_the_work_of_configurations_stand_side_by_side() -> None:
    runs = [manifest(number, result={"counters": {"wal_bytes": 1000.0 * number}}) for number in (1, 2, 3)]
    (table,) = work_by_configuration(runs, {1: "baseline", 0: "fsync=off"})
    assert table.head == ["configuration", "virtual users", "log written (bytes)"]
    assert [row[0] for row in table.rows] == ["fsync=off", "baseline"]
    assert [row[2] for row in table.rows] == ["2", "2"]
    assert server_work(manifest(result={"data": None})) == []


def totals(done: float, images: float) -> dict[str, float]:
    return {"commits": done, "rollbacks": 0.0, "wal_fpi": images}


def test_full_page_images_are_over_at_a_fifth_of_their_first_rate() -> None:
    pages = FullPages()
    for done, images, over in ((0, 0, False), (50, 40, False), (1000, 200, False), (2000, 260, False)):
        pages.see(totals(done, images))
        assert pages.over is over
    pages.see(totals(3000, 300))
    assert pages.over


def test_few_full_page_images_are_none() -> None:
    pages = FullPages()
    pages.see(totals(0, 0))
    pages.see(totals(1000, 19))
    assert pages.over


def test_a_server_without_full_page_images_is_not_waited_for() -> None:
    pages = FullPages()
    pages.see({"commits": 0.0, "rollbacks": 0.0})
    assert pages.over


def test_a_server_that_crashed_counts_anew() -> None:
    pages = FullPages()
    for done, images in ((5000, 3000), (6000, 3400), (10, 5), (1010, 905), (2010, 955)):
        pages.see(totals(done, images))
    assert pages.over


def test_the_statements_of_a_range_of_time_are_those_that_its_operations_executed(tmp_path: Path) -> None:
    """One statement costs 1 ms per transaction up to the reading at 12 s, then 3."""
    made = with_result(write_run(tmp_path / "a-run", duration_s=20))
    done = [
        int((made.rows["t_start_us"] + made.rows["latency_us"] < at_us).sum())
        for at_us in range(0, 23 * 10**6, 10**6)
    ]
    ms = [done[12] - done[2], done[12] - done[2] + 3 * (done[22] - done[12])]
    lines = [
        {"t_us": 2 * 10**6, "edge": "start", "rows": [["1", "SELECT a", 5, 7.0, *5 * [None]]]},
        {"t_us": 12 * 10**6, "edge": "", "rows": [["1", "", 5 + done[12] - done[2], 7.0 + ms[0], *5 * [None]]]},
        {
            "t_us": 22 * 10**6,
            "edge": "end",
            "rows": [["1", "SELECT a", 5 + done[22] - done[2], 7.0 + ms[1], *5 * [None]]],
        },
    ]
    write_rows(made.folder.table("statements"), columns.STATEMENTS, statement_growth(lines))
    write_rows(made.folder.table("statement_courses"), columns.STATEMENT_COURSES, statement_courses(lines))
    (shown,) = statements_work(made.folder, made.manifest)
    assert shown.course
    ended, calls, time_ms = (np.array(one) for one in shown.course.series[0])
    assert (shown.course.step_s, shown.head[:2]) == (10, ["executions per transaction", "time (ms) per transaction"])
    whole = slice(1, 2)  # from 10 to 20 s: the others are not whole in the window
    assert calls.nonzero()[0].tolist() == [1]
    assert calls[whole] == pytest.approx(ended[whole], rel=0.01)
    assert time_ms[whole].sum() == pytest.approx(done[12] - done[10] + 3 * (done[20] - done[12]), rel=0.01)
