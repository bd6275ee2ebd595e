"""Runs that pgbench, sysbench, BenchBase and HammerDB's logs report become runs with those figures alone."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hdbkit.api import Workspace
from hdbkit.cli.main import main
from hdbkit.errors import InputError
from hdbkit.hammerdb import read_jobs, translation
from hdbkit.results.manifest import Manifest

TITLE = translation()["databases"]["maria"]["title"]
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
        "DBMS Type": translation()["databases"]["ora"]["title"].upper(),
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


SYSBENCH_04 = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 8

Doing OLTP test.
Done.

OLTP test statistics:
    queries performed:
        total:                           3817636
    transactions:                        1908818 (31813.48 per sec.)
    deadlocks:                           0      (0.00 per sec.)

Test execution summary:
    total time:                          60.0003s
    total number of events:              1908818
    total time taken by event execution: 476.9254
    per-request statistics:
         min:                                  0.12ms
         avg:                                  0.25ms
         max:                                 14.12ms
         approx.  95 percentile:               0.33ms
"""
SYSBENCH_05 = (
    SYSBENCH_04.replace("0.4.12", "0.5")
    .replace("Test execution summary", "General statistics")
    .replace("per-request statistics", "response time")
    .replace("476.9254", "476.9254s")
)
SYSBENCH_11 = """sysbench 1.1.0 (using bundled LuaJIT 2.1.0-beta3)
Number of threads: 8
SQL statistics:
    transactions:                        1000   (100.00 per sec.)

Throughput:
    events/s (eps):                      100.0000
    time elapsed:                        10.0000s
    total number of events:              1000

SQL statistics:
    transactions:                        1908818 (31813.48 per sec.)

Throughput:
    events/s (eps):                      31813.4800
    time elapsed:                        60.0003s
    total number of events:              1908818

Latency (ms):
         min:                                    0.12
         avg:                                    0.25
         max:                                   14.12
         95th percentile:                        0.33
"""


@pytest.mark.parametrize(
    ("content", "version"), [(SYSBENCH_04, "0.4.12"), (SYSBENCH_05, "0.5"), (SYSBENCH_11, "1.1.0")]
)
def test_each_version_of_sysbench_is_read_and_of_several_reports_the_last(
    tmp_path: Path, content: str, version: str
) -> None:
    (run,) = imported(tmp_path, content)
    found = run.measured.operations["transaction"]
    assert (run.metric_value, run.measured.completed, run.measured.window_s) == (31813.48, 1908818, 60.0003)
    assert (found.mean_us, found.p95_us, found.max_us) == (250, 330, 14120)
    assert run.software["sysbench"] == version


FRENCH = """type de transaction : <builtin: TPC-B (sort of)>
facteur de mise a l'echelle : 3
mode de requete : simple
nombre de clients : 4
nombre de threads : 2
nombre maximal d'essais : 3
duree : 4 s
nombre de transactions effectivement traitees : 5937
nombre de transactions en echec : 2 (0,000 %)
latence moyenne = 2,686 ms
temps de connexion initial = 25,028 ms
tps = 1489,161627 (sans le temps de connexion initial)
"""
OLD = """transaction type: TPC-B (sort of)
scaling factor: 3
query mode: simple
number of clients: 4
number of threads: 2
number of transactions per client: 1000
number of transactions actually processed: 4000/4000
latency average: 2.686 ms
tps = 1400.000000 (including connections establishing)
tps = 1489.161627 (excluding connections establishing)
"""


@pytest.mark.parametrize(
    ("content", "done", "failed"),
    [
        (FRENCH, 5937, 2),
        (FRENCH.replace(" : ", "\uff1a"), 5937, 2),
        (OLD, 4000, None),
        (PGBENCH.replace("\n", "\r\n"), 5937, 2),
        ("\ufeff" + PGBENCH, 5937, 2),
    ],
    ids=["words", "wide colons", "9.5", "Windows", "mark"],
)
def test_what_pgbench_prints_is_read_by_its_form(tmp_path: Path, content: str, done: int, failed: int | None) -> None:
    (run,) = imported(tmp_path, content)
    result = run.measured
    assert (run.metric_value, result.completed, result.failed) == (1489.161627, done, failed)
    assert run.plan.load.virtual_users == 4
    (found,) = result.operations.values()
    assert found.mean_us == 2686


def test_a_text_in_utf_16_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(PGBENCH.encode("utf-16"))
    assert len(Workspace(results=tmp_path / "results").import_results(tmp_path / "file").run_ids) == 1


def logged(step: int = 1, *more: int) -> str:
    """A log of two clients, one transaction in 10 ms each, of which one in ``step`` is logged."""
    rows = [(number * 10_000 + client, client, number) for client in (0, 1) for number in range(step, 1001, step)]
    extra = "".join(f" {one}" for one in more)
    return "".join(f"{client} {n} 9000 0 {1795822960 + us // 10**6} {us % 10**6}{extra}\n" for us, client, n in rows)


def test_a_sampled_log_is_scaled_and_the_run_says_so(tmp_path: Path) -> None:
    (whole,) = imported(tmp_path, logged())
    path = tmp_path / "sampled"
    path.write_text(logged(5), encoding="utf-8")
    work = Workspace(results=tmp_path / "results")
    done = work.import_results(path)
    sampled = work.result(done.run_ids[0]).manifest
    assert sampled.metric_value == pytest.approx(whole.metric_value, rel=0.01) == pytest.approx(200, rel=0.01)
    assert sampled.measured.operations["script 0"].count == pytest.approx(1992, abs=2)
    (remark,) = done.remarks
    assert "the log has 400 of about 1,992 transactions (sampling-rate of pgbench)" in remark
    assert any(one in remark for one in sampled.warnings)
    assert not any("sampl" in one for one in whole.warnings)


@pytest.mark.parametrize(
    ("last", "paced", "retries"), [((0,), False, 0), ((150,), True, None), ((150, 1), True, 2000)]
)
def test_the_last_columns_of_a_log_are_told_apart_by_their_values(
    tmp_path: Path, last: tuple[int, ...], paced: bool, retries: int | None
) -> None:
    (run,) = imported(tmp_path, logged(1, *last))
    assert (run.paced, run.measured.retries) == (paced, retries)


NEW_BENCHBASE = BENCHBASE.replace('"terminals": "4"', '"terminals": "4", "DBMS Version": null, "scalefactor": null')


def test_a_field_of_a_summary_that_is_null_is_unknown(tmp_path: Path) -> None:
    (run,) = imported(
        tmp_path,
        NEW_BENCHBASE.replace('"Median Latency (microseconds)": 4000', '"Median Latency (microseconds)": null'),
    )
    assert (run.server.version, run.scale, run.measured.operations["tpcc"].p50_us) == (None, "", None)


def test_a_summary_of_2022_is_read_with_the_samples_beside_it(tmp_path: Path) -> None:
    known = json.loads(BENCHBASE)
    old = json.dumps({name: known[name] for name in known if "Elapsed" not in name and "Measured" not in name})
    (tmp_path / "a.summary.json").write_text(old, encoding="utf-8")
    work = Workspace(results=tmp_path / "results")
    (reason,) = work.import_results(tmp_path / "a.summary.json").left_out["reason"]
    assert "it states no length" in reason
    (tmp_path / "a.samples.csv").write_text(
        "Time (seconds),Requests,Throughput (requests/second)\n0,300,300\n1,482,482\n"
    )
    (run_id,) = work.import_results(tmp_path / "a.summary.json").run_ids
    result = work.result(run_id).manifest.measured
    assert (result.window_s, result.completed) == (2, 782)


def test_the_list_of_benchbases_requests_has_exact_times_by_name(tmp_path: Path) -> None:
    rows = [f"1,NewOrder,{1795820000 + n / 10:.6f},{1000 + n},{n % 4},0" for n in range(100)]
    head = (
        "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),"
        "Worker Id (start number),Phase Id (index in config file)"
    )
    (run,) = imported(tmp_path, "\n".join([head, *rows, "2,Payment,1795820009.9,5000,3,0"]))
    assert (run.plan.load.virtual_users, run.measured.completed, run.metric.unit) == (4, 101, "requests/s")
    assert (run.measured.operations["NewOrder"].max_us, run.measured.operations["Payment"].count) == (1099, 1)


DOCUMENT = {
    "schema": "hammerdb-job-report-v1",
    "job": {
        "jobid": "6A01",
        "hdb_version": "v6.0",
        "database": TITLE,
        "release": "18.4",
        "timestamp": "2026-06-06 15:12:14",
    },
    "benchmark_config": {"warehouses": 100, "virtual_users": "24", "rampup_minutes": 2, "duration_minutes": 5},
    "result": {"type": "tproc_c_result", "active_virtual_users": 24, "nopm": 799073, "tpm": 1837241},
    "response_times": {
        "unit": "milliseconds",
        "rows": [{"name": "NEWORD", "calls": 564, "avg_ms": 0.801, "p99_ms": None}, 1],
    },
}


def test_a_document_of_hammerdb_becomes_a_run(tmp_path: Path) -> None:
    (run,) = imported(tmp_path, json.dumps([DOCUMENT]))
    load, found = run.plan.load, run.measured.operations["new_order"]
    assert (run.metric_value, run.measured.engine_tpm, run.scale) == (799073, 1837241, "100 warehouses")
    assert (load.virtual_users, load.rampup_s, load.duration_s) == (24, 120, 300)
    assert (found.count, found.mean_us, found.p99_us) == (564, pytest.approx(801), None)
    assert (run.server.version, run.software["HammerDB"]) == ("18.4", "v6.0")


@pytest.mark.parametrize(
    ("part", "content", "reason"),
    [
        ("result", {"geomean_seconds": 1.5}, "it has no NOPM"),
        ("result", {"nopm": 1e308, "tpm": 1}, "its nopm is 1e+308"),
        ("result", {"nopm": math.nan, "tpm": 1}, "its nopm is NaN"),
        ("result", None, "it has no NOPM"),
        ("benchmark_config", {"virtual_users": 1}, "it does not state its minutes"),
        ("job", {"database": "\u0007" * 99}, "is not known"),
        ("job", [], "is not known"),
    ],
)
def test_a_document_without_a_result_is_left_out_with_the_reason(
    tmp_path: Path, part: str, content: object, reason: str
) -> None:
    (tmp_path / "file").write_text(json.dumps({**DOCUMENT, part: content}), encoding="utf-8")
    done = Workspace(results=tmp_path / "results").import_results(tmp_path / "file")
    assert not done.run_ids
    assert reason in done.left_out["reason"][0]
    assert len(done.left_out["reason"][0]) < 120


def test_a_log_names_the_database_in_words(tmp_path: Path) -> None:
    title = " ".join(re.findall("[A-Z][a-z]+|[A-Z]+(?![a-z])", "SQLServer"))
    (run,) = imported(tmp_path, LOG.replace(f"{TITLE} TPM", f"{title} TPM"))
    assert run.server.kind == translation()["databases"]["mssqls"]["kind"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f"{SYSBENCH[:60]}\nCPU speed:\n    total number of events:  10\n", "it has no transactions"),
        (
            "1795942298 361 1965105 17810174979 703 31883 0 0 0\n",
            "a log of aggregates (aggregate-interval) states no clients",
        ),
        ("Time (seconds),Requests\n0,1\n", "import the *.summary.json"),
        (PGBENCH[:100], "it lacks the clients"),
        (2 * logged(1, 5) + logged(1, 15), "may be a lag or a number of retries"),
    ],
    ids=["another test", "aggregates", "samples", "broken off", "one column"],
)
def test_what_is_not_imported_has_its_reason_and_the_command_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, content: str, reason: str
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "file").write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["import", str(tmp_path / "file")])
    assert ended.value.code == 2
    assert reason in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("my.cnf", "[mysqld]\ninnodb_buffer_pool_size=1G\n", "settings_file: [my.cnf]"),
        ("any", "# a comment\nshared_buffers = 1GB  # more\nfsync = off\n", "settings_file: [any]"),
        ("redis.conf", "maxmemory 1gb\n", "settings_file: [redis.conf]"),
        ("params.json", '{"shared_buffers": ["1GB", "4GB"]}', "hdbkit sweep TARGET"),
        ("a.yaml", "name: a\nsettings: {shared_buffers: [1GB]}\n", "is a sweep"),
    ],
)
def test_files_of_settings_are_named_with_the_command_that_takes_them(
    tmp_path: Path, name: str, content: str, words: str
) -> None:
    with pytest.raises(InputError, match="no result; to measure") as caught:
        imported(tmp_path, content, name)
    assert words in str(caught.value)
