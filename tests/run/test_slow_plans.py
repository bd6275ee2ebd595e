"""The plans of slow executions, as PostgreSQL's auto_explain reports them to the client that waited."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load
from hdbkit.databases import sql_session
from hdbkit.errors import CannotConnect
from hdbkit.servers import PrivateServer, find_binaries, private_server

SERVERS = [one for one in find_binaries() if one.kind == "postgresql"]
WITH = [one.source for one in SERVERS if [*one.folder.parent.rglob("auto_explain.so")]]
LOAD = Load(virtual_users=2, rampup_s=0, duration_s=60, iterations=20, waits_hz=0)


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    """A workload with a slow operation of two lines, and a quick one."""
    (tmp_path / "workload.yaml").write_text("name: naps\noperations: {nap: {}, look: {weight: 3}}\n")
    (tmp_path / "statements.sql").write_text(
        "-- name: nap\nSELECT n, pg_sleep(0.02)\nFROM generate_series(1, 2) AS n;\n\n-- name: look\nSELECT 1;\n"
    )
    return tmp_path


@pytest.mark.skipif(not WITH, reason="no PostgreSQL here has auto_explain, which Debian's packages have")
def test_the_plan_of_a_slow_execution_is_kept_with_its_times_and_operation(workload: Path) -> None:
    with private_server("postgresql", source=WITH[0]) as own:
        found = hdbkit.run(own.target, workload, LOAD.with_(slow_plans_ms=30))
        ((operation, ms, plan, statement),) = found.slow_plans[["operation", "ms", "plan", "statement"]].to_numpy()
        assert (operation, statement.splitlines()[-1]) == ("nap", "FROM generate_series(1, 2) AS n")
        assert 40 <= ms < 10_000
        assert plan.startswith("Function Scan on") and "actual time=" in plan
        assert "nap: " in found.report().read_text("utf-8")
        assert hdbkit.run(own.target, workload, LOAD).slow_plans.empty
        with closing(sql_session(own.admin)) as session:
            session.execute("REVOKE SET ON PARAMETER session_preload_libraries FROM hdbkit")
        with pytest.raises(CannotConnect, match="GRANT SET ON PARAMETER session_preload_libraries, "):
            hdbkit.run(own.target, workload, LOAD.with_(slow_plans_ms=30))


def test_a_server_without_the_module_is_reported_before_anything_is_made(
    built: PrivateServer, workload: Path, results: Path
) -> None:
    if built.place.binaries.parent in {one.folder.parent for one in SERVERS if one.source in WITH}:
        pytest.skip("this server has the module")
    with pytest.raises(CannotConnect, match="the server lacks the module auto_explain, which slow_plans_ms needs"):
        hdbkit.run(built.target, workload, LOAD.with_(slow_plans_ms=30))
    assert not list(results.glob("*"))
