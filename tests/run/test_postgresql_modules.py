"""What modules of PostgreSQL report: the plans of slow executions, and the CPU time of statements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.analysis.run.records import table
from hdbkit.config import Load
from hdbkit.errors import CannotConnect
from hdbkit.servers import PrivateServer, find_binaries, private_server
from tests.conftest import execute

SERVERS = [one for one in find_binaries() if one.kind == "postgresql"]
WITH = [one for one in SERVERS if [*one.folder.parent.rglob("auto_explain.so")]]
KCACHE = bool(WITH and [*WITH[0].folder.parent.rglob("pg_stat_kcache.so")])
LOAD = Load(virtual_users=2, rampup_s=0, duration_s=60, iterations=20, waits_hz=0)


@pytest.fixture(scope="module")
def own() -> Iterator[PrivateServer]:
    """A server with these modules."""
    if not WITH:
        pytest.skip("no PostgreSQL here has auto_explain, which Debian's packages have")
    loaded = {"shared_preload_libraries": "pg_stat_statements,pg_stat_kcache"} if KCACHE else {}
    with private_server("postgresql", source=WITH[0].source, settings=loaded) as server:
        yield server


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    """A workload with a slow operation of two lines, and a quick one."""
    (tmp_path / "workload.yaml").write_text("name: naps\noperations: {nap: {}, look: {weight: 3}}\n")
    (tmp_path / "statements.sql").write_text(
        "-- name: nap\nSELECT n, pg_sleep(0.02)\nFROM generate_series(1, 2) AS n;\n\n-- name: look\nSELECT 1;\n"
    )
    return tmp_path


def test_the_plan_of_a_slow_execution_is_kept_with_its_times_and_operation(
    own: PrivateServer, workload: Path
) -> None:
    found = hdbkit.run(own.target, workload, LOAD.with_(slow_plans_ms=30))
    ((operation, ms, plan, statement),) = found.slow_plans[["operation", "ms", "plan", "statement"]].to_numpy()
    assert (operation, statement.splitlines()[-1]) == ("nap", "FROM generate_series(1, 2) AS n")
    assert 40 <= ms < 10_000
    assert plan.startswith("Function Scan on")
    assert "actual time=" in plan
    assert "nap: " in found.report().read_text("utf-8")
    assert hdbkit.run(own.target, workload, LOAD).slow_plans.empty
    execute(own.admin, "REVOKE SET ON PARAMETER session_preload_libraries FROM hdbkit")
    with pytest.raises(CannotConnect, match="GRANT SET ON PARAMETER session_preload_libraries, "):
        hdbkit.run(own.target, workload, LOAD.with_(slow_plans_ms=30))


@pytest.mark.skipif(not KCACHE, reason="no pg_stat_kcache here (Debian's postgresql-NN-pg-stat-kcache)")
def test_statements_have_the_cpu_time_that_the_kernel_counted(own: PrivateServer, workload: Path) -> None:
    execute(own.admin, "CREATE EXTENSION pg_stat_statements", "CREATE EXTENSION pg_stat_kcache")
    (workload / "statements.sql").write_text(
        "-- name: nap\nSELECT count(*) FROM generate_series(1, 300000);\n\n-- name: look\nSELECT pg_sleep(0.01);\n"
    )
    found = hdbkit.run(own.target, workload, LOAD.with_(counter_interval_s=1))
    rows = table(found.folder, "statements")
    assert rows is not None
    by_text = rows.set_index("text")
    busy, idle = by_text.loc["SELECT count(*) FROM generate_series($1, $2)"], by_text.loc["SELECT pg_sleep($1)"]
    of_busy, of_idle = ((one["cpu_user_ms"] + one["cpu_system_ms"]) / one["time_ms"] for one in (busy, idle))
    assert 3 * of_idle < of_busy < 1.2, "a busy host gives a statement less"
    assert busy["disk_written_bytes"] > 0
    assert "user CPU (ms) per operation" in found.report().read_text("utf-8")


def test_a_server_without_the_module_is_reported_before_anything_is_made(
    built: PrivateServer, workload: Path, results: Path
) -> None:
    if built.place.binaries.parent in {one.folder.parent for one in WITH}:
        pytest.skip("this server has the module")
    with pytest.raises(CannotConnect, match="the server lacks the module auto_explain, which slow_plans_ms needs"):
        hdbkit.run(built.target, workload, LOAD.with_(slow_plans_ms=30))
    assert not list(results.glob("*"))
