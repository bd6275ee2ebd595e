"""What is known before a run and during a check: missing indexes, statistics, statements that reach a timeout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import hdbkit
from hdbkit.config import Target, TprocCLoad, WorkloadSpec, load_from
from hdbkit.databases import database
from hdbkit.execution.precheck import Ready, precheck
from hdbkit.plan import RunPlan
from hdbkit.servers import PrivateServer
from hdbkit.workloads import specification, workload
from tests.conftest import HdbkitCommand
from tests.run.conftest import password_of
from tests.run.faults import until


@pytest.fixture
def owner(built: PrivateServer) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A session of the account that owns the schema."""
    target = built.target
    place = {"host": target.host, "port": target.port, "user": target.user, "password": password_of(target)}
    options = "-c search_path=tproc_c"
    with psycopg.connect(**place, dbname=target.database, autocommit=True, options=options) as connection:
        yield connection


@pytest.fixture
def locked(owner: psycopg.Connection[tuple[object, ...]]) -> Iterator[None]:
    """Nobody can read the table of payments."""
    owner.execute("BEGIN")
    owner.execute("LOCK TABLE history")
    yield
    owner.execute("ROLLBACK")


def test_a_statement_that_reaches_a_timeout_leaves_its_check_undecided(built: PrivateServer, locked: None) -> None:
    started: list[str] = []
    hurried = built.target.with_(options={**built.target.options, "options": "-c statement_timeout=400"})
    found = hdbkit.connect(hurried).check(progress=started.append).set_index("name")
    assert found["passed"]["rows of history"] is None
    assert found["detail"]["rows of history"] == (
        "could not be checked: statement count_history was ended by the timeout of 0.4 s, "
        "which hdbkit or an option of the target sets"
    )
    assert found["passed"]["rows of stock"]
    assert found["passed"]["condition 1"]
    assert "condition 8 (statement consistency_08)" in started


@pytest.fixture
def small(built: PrivateServer) -> Iterator[WorkloadSpec]:
    """A schema of its own, small enough to be damaged."""
    spec = specification("params/workloads/key-value", parameters={"rows": 5000})
    connection = hdbkit.connect(built.target)
    connection.build(spec)
    yield spec
    connection.drop(spec)


def ready(target: Target, spec: WorkloadSpec, **load: object) -> Ready:
    def plan(found: WorkloadSpec) -> RunPlan:
        given = load_from({"duration_s": 1800, **load})
        return RunPlan(run_id="r", target=target, workload=found, load=workload(found).load(given))

    return precheck(target, spec, plan, Path())


def test_missing_statistics_are_reported_before_a_run_and_made_on_request(
    built: PrivateServer, small: WorkloadSpec, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    assert ready(built.target, small).warnings == ()
    owner.execute("CREATE TABLE key_value.copied (LIKE key_value.entries) WITH (autovacuum_enabled = off)")
    owner.execute("INSERT INTO key_value.copied SELECT * FROM key_value.entries")
    owner.execute("DROP TABLE key_value.entries")
    owner.execute("ALTER TABLE key_value.copied RENAME TO entries")
    assert ready(built.target, small).warnings == (
        "the optimizer's statistics are missing or stale (--analyze updates them): entries was never analyzed",
    )
    assert ready(built.target, small, analyze=True).warnings == ()
    more = "SELECT id + 100000 * n, content FROM key_value.entries, generate_series(1, 9) AS n"
    owner.execute(f"INSERT INTO key_value.entries {more}")
    owner.execute("SELECT pg_stat_force_next_flush()")
    (warning,) = ready(built.target, small).warnings
    assert "entries had 5000 rows when it was analyzed, and has " in warning


def test_a_window_that_is_shorter_than_the_servers_cycle_of_writing_is_a_warning(
    built: PrivateServer, small: WorkloadSpec
) -> None:
    assert ready(built.target, small, duration_s=1799).warnings == (), "hdbkit set the cycle of its own server"
    other = built.target.model_copy(update={"server_folder": None})
    (warning,) = ready(other, small, duration_s=1799).warnings
    assert warning.startswith(
        "the window (1799 s) is shorter than a cycle of the server's background writing (checkpoint_timeout = 30min)"
    )
    assert warning.endswith("set duration_s to 1800 or more, or reduce checkpoint_timeout")
    assert ready(other, small, duration_s=60, weights={"update": 0, "read": 1}).warnings == ()


@pytest.mark.long
def test_a_missing_index_is_reported_before_a_run(
    built: PrivateServer,
    owner: psycopg.Connection[tuple[object, ...]],
    command: HdbkitCommand,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", password_of(built.target))
    owner.execute("DROP INDEX customer_by_name")
    try:
        said = command("run", built.target.url, "--rampup-s", 0, "--duration-s", 1, "--analyze")
    finally:
        with closing(database(built.target).schema(built.target, workload(specification()))) as schema:
            schema.do("index_customer_by_name")
    assert said.err.startswith("  warning: indexes of the schema: missing: customer_by_name\n")
    assert "warning: indexes of the schema: missing: customer_by_name" in said.out


def test_a_run_that_finishes_states_which_statement_of_its_checks_is_running(
    built: PrivateServer, owner: psycopg.Connection[tuple[object, ...]]
) -> None:
    running = hdbkit.start(built.target, load=TprocCLoad(rampup_s=0, duration_s=4, mix={"payment": 1}))
    until(lambda: running.status.value == "measuring", "it measures")
    owner.execute("BEGIN")
    owner.execute("LOCK TABLE item")  # which payments do not read
    view = running.live()
    try:
        until(lambda: view.tick().doing == "rows of item (statement count_item)", "the statement is shown")
    finally:
        owner.execute("ROLLBACK")
        view.close()
    assert running.wait().manifest.doing == ""
