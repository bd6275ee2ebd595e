"""Import of HammerDB's stored jobs as runs: its figures, marked as measured by it; nothing in them is executed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hdbkit import api
from hdbkit.api import Workspace
from hdbkit.cli import app
from hdbkit.errors import InputError
from hdbkit.hammerdb.translating import translation
from hdbkit.results.manifest import HostFacts

ENGINE, ENTRY = next((name, one) for name, one in translation()["databases"].items() if one["prefix"] == "pg_")
SECRET = "kx9_not_for_files"
SETTINGS = (
    f"connection {{pg_host db1 pg_port 5433 pg_sslmode prefer}} tpcc {{pg_count_ware 40 pg_superuserpass {SECRET} "
    f"pg_user bench pg_pass {SECRET} pg_dbase lab pg_rampup 2 pg_duration 5 pg_of_the_future {{a b}}}}"
)
TABLES = """
CREATE TABLE JOBMAIN(jobid TEXT, db TEXT, bm TEXT, jobdict TEXT, timestamp DATETIME, profile_id INTEGER DEFAULT 0);
CREATE TABLE JOBOUTPUT(jobid TEXT, vu INTEGER, output TEXT);
CREATE TABLE JOBTIMING(jobid TEXT, vu INTEGER, procname TEXT, calls INTEGER, min_ms REAL, avg_ms REAL, max_ms REAL,
    total_ms REAL, p99_ms REAL, p95_ms REAL, p50_ms REAL, sd REAL, ratio_pct REAL, summary INTEGER, elapsed_ms REAL);
CREATE TABLE JOBSYSTEM(jobid TEXT, hostname TEXT, cpumodel TEXT, cpucount INTEGER);
"""


def job_file(folder: Path, **results: str) -> Path:
    """A file of jobs: by its id the line of each job's result."""
    path = folder / "hammer.DB"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(TABLES)
        for day, (job_id, line) in enumerate(results.items(), 1):
            database.execute(
                "INSERT INTO jobmain VALUES (?, ?, 'TPC-C', ?, ?, 1000)",
                (job_id, ENTRY["title"], SETTINGS, f"2026-01-{day:02} 10:00:00"),
            )
            lines = ("Vuser 1:RUNNING", "8 Active Virtual Users configured", line)
            database.executemany("INSERT INTO joboutput VALUES (?, 0, ?)", [(job_id, one) for one in lines])
            database.execute(
                "INSERT INTO jobtiming VALUES (?, 0, 'NEWORD', 5000, 0.5, 1.5, 90, 1, 9, 4, 1.25, 1, 1, 1, 1)",
                (job_id,),
            )
            database.execute("INSERT INTO jobsystem VALUES (?, 'load1', 'a processor', 16)", (job_id,))
        database.commit()
    return path


def result_line(nopm: int) -> str:
    return f"TEST RESULT : System achieved {nopm} NOPM from {3 * nopm} {ENTRY['title']} TPM"


def test_a_timed_job_becomes_a_run_with_its_figures_and_a_mark(tmp_path: Path) -> None:
    work = Workspace(results=tmp_path / "results")
    (run_id,) = work.import_results(job_file(tmp_path, A1=result_line(9000))).run_ids
    run = work.result(run_id)
    assert (run.metric.name, run.metric_value, run.virtual_users) == ("NOPM", 9000, 8)
    assert (run.summary.engine_tpm, run.summary.failed) == (27000, None)
    assert run.latencies.loc["new_order", ["count", "p50_us", "p95_us", "p99_us", "max_us"]].tolist() == [
        *(5000, 1250, 4000, 9000, 90000)
    ]
    assert run.manifest.plan.load.duration_s == 300
    assert run.manifest.plan.target.host == "db1"
    assert run.manifest.scale == "40 warehouses"
    assert run.manifest.host == HostFacts(name="load1", processor="a processor", cores=16)
    assert run.manifest.measured_by in run.report().read_text(encoding="utf-8")
    assert any("imported" in one for one in run.warnings)
    assert not [path for path in work.results.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_a_job_is_imported_once_and_a_job_without_a_result_not_at_all(tmp_path: Path) -> None:
    work = Workspace(results=tmp_path / "results")
    path = job_file(tmp_path, A1=result_line(9000), B2="Vuser 1:FINISHED FAILED", C3=result_line(0))
    first, again = (work.import_results(path) for _ in range(2))
    assert len(first.run_ids) == 1
    assert first.left_out["job"].tolist() == ["B2", "C3"]
    assert not again.run_ids
    assert "imported before" in again.left_out.set_index("job")["reason"]["A1"]


def test_lists_comparisons_and_the_history_show_imported_runs(tmp_path: Path) -> None:
    work = Workspace(results=tmp_path / "results")
    figures = [9000, 9010, 9020, 8990, 6000, 6010, 5990, 6005]
    path = job_file(tmp_path, **{f"J{at}": result_line(one) for at, one in enumerate(figures)})
    run_ids = work.import_results(path).run_ids
    assert work.runs()["metric_value"].tolist() == figures[::-1]
    found = work.compare(run_ids[:4], run_ids[4:])
    assert found.ratio.ratio == pytest.approx(2 / 3, rel=0.01)
    assert found.ratio.verdict == "slower"
    assert any("measured by" in one for one in found.warnings)
    assert found.report().is_file()
    assert [chart.key for chart in found.charts().values()] == ["users", "changes"]
    profile = api.Profile("hammerdb-1000", work)
    assert profile.cells["runs"].tolist() == [8]


def test_a_result_that_states_the_transactions_first_is_read_too(tmp_path: Path) -> None:
    work = Workspace(results=tmp_path / "results")
    line = f"TEST RESULT : System achieved 27000 {ENTRY['title']} TPM at 9000 NOPM"
    (run_id,) = work.import_results(job_file(tmp_path, A1=line)).run_ids
    run = work.result(run_id)
    assert (run.metric_value, run.summary.engine_tpm) == (9000, 27000)


def test_a_job_with_thousands_of_errors_and_several_sessions_per_user_has_its_result(tmp_path: Path) -> None:
    work, path = Workspace(results=tmp_path / "results"), job_file(tmp_path, A1=result_line(9000))
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM joboutput")
        lines = [*["deadlock detected"] * 2000, "8 VU * 25 AC = 200 Active Sessions configured", result_line(9000)]
        database.executemany("INSERT INTO joboutput VALUES ('A1', 0, ?)", [(one,) for one in lines])
        several = SETTINGS.replace("pg_rampup 2", "pg_async_scale true pg_async_client 25 pg_rampup 2")
        database.execute("UPDATE jobmain SET jobdict = ?", (several,))
        database.commit()
    (run_id,) = work.import_results(path).run_ids
    run = work.result(run_id)
    assert (run.metric_value, run.virtual_users, run.manifest.plan.load.sessions_per_user) == (9000, 8, 25)


def test_the_command_imports_jobs_and_shows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path / "results"))
    path = job_file(tmp_path, A1=result_line(9000))
    done = CliRunner().invoke(app, ["import", str(path)])
    assert (done.exit_code, "1 run imported" in done.output) == (0, True), done.output
    shown = CliRunner().invoke(app, ["runs", "show", "last"])
    assert (shown.exit_code, "9,000" in shown.output) == (0, True), shown.output


def test_a_job_without_a_time_profile_is_shown_without_latencies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path / "results"))
    path = job_file(tmp_path, A1=result_line(9000))
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM jobtiming")
        database.commit()
    Workspace(results=tmp_path / "results").import_results(path)
    shown = CliRunner().invoke(app, ["runs", "show", "last"])
    assert (shown.exit_code, "9,000" in shown.output, "p50" in shown.output) == (0, True, False), shown.output


def test_results_of_a_vendor_whose_licence_restricts_publishing_have_a_notice(tmp_path: Path) -> None:
    work, found = Workspace(results=tmp_path / "results"), []
    titles = [one["title"] for one in translation()["databases"].values()]
    for number, title in enumerate(titles):
        (tmp_path / str(number)).mkdir()
        path = job_file(tmp_path / str(number), **{f"A{number}": result_line(9000)})
        with closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE jobmain SET db = ?, jobdict = ''", (title,))
            database.commit()
        (run_id,) = work.import_results(path).run_ids
        found.append("licence may forbid publishing" in work.result(run_id).manifest.notice)
    assert (len(found), sum(found)) == (6, 2)


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0 and no more"])
def test_another_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "hammer.DB"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"hammer\.DB"):
        Workspace(results=tmp_path / "results").import_results(path)
    assert not (tmp_path / "results").exists()
