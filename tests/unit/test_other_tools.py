"""Runs that pgbench, sysbench, BenchBase and HammerDB's logs report become runs with those figures alone."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hdbkit.api import Workspace
from hdbkit.errors import InputError
from hdbkit.hammerdb import read_jobs, table
from hdbkit.results.manifest import Manifest

TITLE = table()["databases"]["maria"]["title"]
PGBENCH = """pgbench (15.18 (Debian 15.18-0+deb12u1), server 18.4)
starting vacuum...end.
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 3
query mode: simple
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 4 s
number of transactions actually processed: 5937
number of failed transactions: 2 (0.000%)
latency average = 2.686 ms
initial connection time = 25.028 ms
tps = 1489.161627 (without initial connection time)
"""
PACED = """transaction type: multiple scripts
number of clients: 2
number of transactions actually processed: 96
latency average = 0.701 ms
rate limit schedule lag: avg 0.122 (max 1.946) ms
tps = 49.175365 (without initial connection time)
SQL script 1: <builtin: select only>
 - 79 transactions (82.3% of total, tps = 40.467227)
 - latency average = 0.456 ms
SQL script 2: <builtin: simple update>
 - 17 transactions (17.7% of total, tps = 8.708138)
 - latency average = 1.842 ms
"""
SYSBENCH = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 2
    transactions:                        1780   (589.97 per sec.)
    queries:                             35666  (11821.33 per sec.)
    ignored errors:                      4      (1.33 per sec.)
    total time:                          3.0160s
Latency (ms):
         min:                                    0.68
         avg:                                    3.38
         max:                                   17.81
         95th percentile:                        9.39
"""
LATENCIES = {"Median": 4000, "95th Percentile": 9000, "Average": 4500, "Maximum": 80000}
BENCHBASE = json.dumps(
    {
        "Current Timestamp (milliseconds)": 1795820060500,
        "Elapsed Time (nanoseconds)": 60_500_000_000,
        "DBMS Type": table()["databases"]["ora"]["title"].upper(),
        "Benchmark Type": "tpcc",
        "Measured Requests": 23456,
        "terminals": "4",
        "Latency Distribution": {f"{name} Latency (microseconds)": value for name, value in LATENCIES.items()},
        "Throughput (requests/second)": 390.93,
    }
)
LINES = (
    "Vuser 1:Beginning rampup time of 2 minutes",
    "Vuser 1:Timing test period of 5 in minutes",
    "Vuser 1:4 Active Virtual Users configured",
    f"Vuser 1:TEST RESULT : System achieved 12345 NOPM from 28400 {TITLE} TPM",
)
LOG = "\n".join(("Hammerdb Log @ Fri Nov 13 12:10:11 UTC 2026", *LINES))


def imported(folder: Path, content: str, name: str = "file") -> list[Manifest]:
    (folder / name).write_text(content, encoding="utf-8")
    work = Workspace(results=folder / "results")
    return [work.result(run_id).manifest for run_id in work.import_results(folder / name).run_ids]


@pytest.mark.parametrize(
    ("content", "tool", "figures", "operation", "times"),
    [
        (PGBENCH, "pgbench", (1489.161627, 5937, 2, 4), "builtin: TPC-B (sort of)", (2686, None, None)),
        (SYSBENCH, "sysbench", (589.97, 1780, None, 2), "transaction", (3380, 9390, 17810)),
        (BENCHBASE, "BenchBase", (390.93, 23456, None, 4), "tpcc", (4500, 9000, 80000)),
    ],
)
def test_a_summary_becomes_a_run_with_what_it_states_and_no_more(
    tmp_path: Path,
    content: str,
    tool: str,
    figures: tuple[float, int, int | None, int],
    operation: str,
    times: tuple[float | None, ...],
) -> None:
    (run,) = imported(tmp_path, content)
    result, found = run.measured, run.measured.operations[operation]
    assert (run.measured_by, run.metric_value) == (tool, figures[0])
    assert (result.completed, result.failed, run.plan.load.virtual_users) == figures[1:]
    assert (result.engine_tpm, result.retries, found.p50_us if tool != "BenchBase" else None) == (None, None, None)
    assert (found.mean_us, found.p95_us, found.max_us) == pytest.approx(times)
    assert ("licence may forbid" in run.notice) is (tool == "BenchBase")


def test_a_file_of_two_runs_becomes_two_whose_latencies_are_response_times_if_they_are_paced(tmp_path: Path) -> None:
    first, second = imported(tmp_path, PGBENCH + PGBENCH.replace("5937", "5938"))
    assert (first.measured.completed, second.measured.completed) == (5937, 5938)
    assert first.scale == "scaling factor: 3"
    (paced,) = imported(tmp_path, PACED)
    found = paced.measured.operations["builtin: simple update"]
    assert paced.paced
    assert found.mean_us is None
    assert found.response is not None
    assert (found.count, found.response.mean_us) == (17, 1842)


def test_the_logs_of_all_threads_are_one_run_with_exact_times_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "log.7.1").write_text("1 1 3000 0 1795822960 5000\n1 2 failed 0 1795822960 6000\n", encoding="utf-8")
    (tmp_path / "secret").write_text("9 1 3000 0 1795822960 5000\n", encoding="utf-8")
    (tmp_path / "log.7.2").symlink_to(tmp_path / "secret")
    (run,) = imported(tmp_path, "0 1 1000 0 1795822960 2000\n0 2 1000 0 1795822960 5000\n", "log.7")
    result = run.measured
    assert (run.plan.load.virtual_users, result.completed, result.failed) == (2, 3, 1)
    assert (result.window_s, result.operations["script 0"].max_us) == (pytest.approx(0.004), 3000)
    work = Workspace(results=tmp_path / "results")
    again = work.import_results(tmp_path / "log.7.1")
    assert (again.run_ids, "imported before" in again.left_out["reason"][0]) == ((), True)


@pytest.mark.parametrize("content", [LOG, json.dumps({"1": LINES})])
def test_a_log_of_hammerdb_and_its_job_as_json_become_a_run_without_a_guessed_scale(
    tmp_path: Path, content: str
) -> None:
    (run,) = imported(tmp_path, content)
    load = run.plan.load
    assert (run.metric_value, run.measured.engine_tpm, run.server.kind) == (12345, 28400, TITLE.lower())
    assert (load.virtual_users, load.rampup_s, load.duration_s) == (4, 120, 300)
    assert (run.scale, run.size) == ("", None)
    assert any("time is that of the file" in one for one in run.warnings) is (content != LOG)


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        BENCHBASE.replace("390.93", "NaN"),
        BENCHBASE.replace("390.93", "-390.93"),
        BENCHBASE.replace("tpcc", "\\ud800"),
        BENCHBASE.replace("1795820060500", "9" * 30),
        '{"Latency Distribution": 1}',
        "tps = 1\n",
        "0 1 1 0 99999999999999 2\n",
        SYSBENCH.replace("1780", "9" * 400),
        "\0" * 99,
    ],
)
def test_a_file_without_a_result_makes_no_run(tmp_path: Path, content: str) -> None:
    try:
        assert imported(tmp_path, content) == []
    except InputError as error:
        assert len(str(error)) < 200
    assert not [*tmp_path.glob("results/*/manifest.json")]


def test_a_database_of_jobs_with_views_is_not_read(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "hammer.DB")) as made:
        made.execute("CREATE VIEW jobmain AS SELECT 1 AS jobid, 1 AS timestamp")
    with pytest.raises(InputError, match="may never end"):
        read_jobs(tmp_path / "hammer.DB")
