"""Build, check, run and change settings through a real PgBouncer, in both of its usual modes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest

import hdbkit
from hdbkit.api.sweeping import planned_as_measured
from hdbkit.api.workspace import DEFAULT
from hdbkit.config import Isolation, Load, Target
from hdbkit.contracts import SERVER, SessionOptions, SqlSession
from hdbkit.databases import database, sql_session
from hdbkit.errors import CannotConnect, ConfigErrors, InputError, RolledBackByDesign
from hdbkit.execution.precheck import precheck
from hdbkit.plan import RunPlan
from hdbkit.readings import Pooling, PoolMode
from hdbkit.servers import PrivateServer, control
from hdbkit.servers.log import read_since
from hdbkit.workloads import specification, workload
from tests.run.conftest import password_of
from tests.run.poolers import pgbouncer

ENGINE = database("postgresql")
SMALL = specification("params/workloads/key-value", parameters={"rows": 500})
FOUND_DIRECT = Pooling(PoolMode.DIRECT)
FOUND = {"session": Pooling(PoolMode.SESSION), "transaction": Pooling(PoolMode.TRANSACTION, prepared=False)}


@pytest.fixture(scope="module", params=sorted(FOUND))
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def pooled(built: PrivateServer, mode: str) -> Iterator[Target]:
    with pgbouncer(built, mode) as target:
        yield target


def direct(server: PrivateServer, text: str) -> list[tuple[object, ...]]:
    """The rows of a query on a connection without the pooler."""
    target = server.target
    place = {"host": target.host, "port": target.port, "user": target.user, "password": password_of(target)}
    with psycopg.connect(**place, dbname=target.database, autocommit=True) as connection:
        cursor = connection.execute(text)
        return cursor.fetchall() if cursor.description else []


def test_a_pooler_is_found_with_its_mode(pooled: Target, mode: str, built: PrivateServer) -> None:
    for target, found in ((pooled, FOUND[mode]), (built.target, Pooling(PoolMode.DIRECT))):
        with closing(ENGINE.connect(target)) as session:
            assert ENGINE.pooling(session, target) == found


@pytest.mark.parametrize("prepares", [True, False])
def test_statements_are_prepared_unless_each_execution_needs_a_plan_of_its_own(
    built: PrivateServer, pooled: Target, prepares: bool
) -> None:
    for target in (built.target, pooled):
        with closing(ENGINE.connect(target, options=SessionOptions(reuses_plans=prepares))) as session:
            session.prepare(["role"])
            assert session.rows(session.perform(session.bind("role", ()))) == [("primary",)]
            known = session.connection.exec_(b"SELECT count(*) FROM pg_prepared_statements").get_value(0, 0)
            assert known == b"%d" % (prepares and target is not pooled)


def test_a_run_through_a_pooler(pooled: Target, mode: str) -> None:
    result = hdbkit.run(pooled, load=Load(virtual_users=2, rampup_s=0.2, duration_s=1, raise_error=True))
    assert result.summary.failed == 0
    assert result.summary.metric_value > 0
    assert result.summary.server_cpu_us_per_operation > 0
    assert result.manifest.server.pooler == str(FOUND[mode])
    assert ("nothing prepared" in result.manifest.software["client_path"]) is (mode == "transaction")
    assert not result.checks.query("passed == False and name.str.startswith('schema')")["detail"].tolist()


def test_many_sessions_of_a_process_share_the_connections_of_a_pooler(built: PrivateServer) -> None:
    with pgbouncer(built, "transaction", default_pool_size=2) as target:
        result = hdbkit.run(target, load=Load(sessions_per_user=12, rampup_s=0.2, duration_s=1, raise_error=True))
    assert result.summary.failed == 0
    assert result.table("clients")["users"].tolist() == [12]
    assert set(pq.read_table(result.folder.operations)["virtual_user"].to_pylist()) == set(range(12))
    assert not (result.checks["passed"] == False).any(), "the schema has exactly what the clients count"  # noqa: E712


def test_nothing_stays_in_a_connection_of_the_server(built: PrivateServer) -> None:
    with pgbouncer(built, "transaction", default_pool_size=1) as target:
        options = SessionOptions(isolation=Isolation.SERIALIZABLE, statement_timeout_ms=777, lock_timeout_ms=777)
        work = workload(specification(warehouses=1))
        with closing(sql_session(target, work.scope(ENGINE.dialects), options)) as session:
            assert session.query("count_new_orders")
            session.prepare(["call_stock_level"])
            assert session.rows(session.perform(session.bind("call_stock_level", (1, 1, 15))))
        place = {"host": target.host, "port": target.port, "user": target.user, "password": target.secret()}
        with psycopg.connect(**place, dbname=target.database, autocommit=True) as other:
            for name in ("statement_timeout", "lock_timeout", "search_path", "default_transaction_isolation"):
                (value,) = other.execute("SELECT current_setting(%s)", [name]).fetchone()
                assert value in ("0", '"$user", public', "read committed")
            assert other.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)


def test_what_is_asked_again_is_prepared_on_a_connection_of_its_own(pooled: Target, built: PrivateServer) -> None:
    for target, pooling, expected in (
        (built.target, FOUND_DIRECT, b"2"),
        (built.target, None, b"0"),
        (pooled, FOUND["transaction"], b"0"),
    ):
        with closing(sql_session(target, SERVER, SessionOptions(pooling=pooling))) as session:
            for name in ("session_waits", "clock", "session_waits", "clock", "session_waits"):
                assert session.query(name)
            known = session.connection.exec_(b"SELECT count(*) FROM pg_prepared_statements").get_value(0, 0)
            assert known == expected


def test_settings_of_a_session_apply_through_a_pooler(pooled: Target) -> None:
    options = SessionOptions(isolation=Isolation.SERIALIZABLE, statement_timeout_ms=777)
    for pooling in (None, FOUND["transaction"]):
        with closing(sql_session(pooled, SERVER, SessionOptions(**{**vars(options), "pooling": pooling}))) as session:
            session.begin()
            found = {name: value for name, value, *_ in session.query("read_settings")}
            session.commit()
            assert found["statement_timeout"] == "777"
            assert found["transaction_isolation"] == "serializable"


def test_timeouts_of_an_account_are_lifted_and_more_workers_help_behind_a_pooler(
    mode: str, built: PrivateServer
) -> None:
    def limits(session: SqlSession) -> tuple[str, str, str]:
        found = {name: value for name, value, *_ in session.query("read_settings")}
        return found["statement_timeout"], found["idle_session_timeout"], found["max_parallel_workers_per_gather"]

    for name in ("statement_timeout", "idle_session_timeout"):
        direct(built, f"ALTER ROLE {built.target.user} SET {name} = '77s'")
    try:
        with pgbouncer(built, mode) as pooled:  # without connections of the server from before
            for options, expected in ((SessionOptions(), "0"), (SessionOptions(statement_timeout_ms=777), "777")):
                with closing(sql_session(pooled, SERVER, options)) as session:
                    ENGINE.lift_limits(session)
                    assert limits(session) == (expected, "0", "8")
                with closing(sql_session(pooled)) as session:
                    assert limits(session) == ("77000", "77000", "2")
    finally:
        direct(built, f"ALTER ROLE {built.target.user} RESET ALL")


def test_a_schema_is_built_checked_and_dropped_through_a_pooler(pooled: Target, built: PrivateServer) -> None:
    connection = hdbkit.connect(pooled)
    assert connection.build(SMALL).passed
    schema = SMALL.definition.schema_name
    where = f"relname = 'entries' AND relnamespace = '{schema}'::regnamespace"
    known = f"SELECT min(reltuples) FROM pg_class WHERE {where}"
    try:
        assert direct(built, known) == [(500,)]
        assert not (connection.check(SMALL)["passed"] == False).any()  # noqa: E712
    finally:
        assert connection.drop(SMALL).dropped
    assert direct(built, f"SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'") == [(0,)]


def test_settings_are_changed_and_restored_through_a_pooler(pooled: Target, built: PrivateServer) -> None:
    admin = pooled.with_(user="postgres", password=password_of(built.admin), may_change_settings=True)
    server = control(admin)
    before = server.snapshot()
    assert server.apply({"work_mem": "5MB"}).read_back == {"work_mem": "5MB"}
    assert direct(built, "SELECT current_setting('work_mem')") == [("5MB",)]
    server.restore(before)
    assert direct(built, "SELECT current_setting('work_mem')") == [("4MB",)]


def test_a_setting_of_sessions_is_refused_behind_a_pooler_of_transactions(built: PrivateServer) -> None:
    """The reason is the pooler, not a privilege."""
    swept = {"settings": {"work_mem": ["4MB", "8MB"]}, "compare_by": "slices", "virtual_users": [1]}
    reason = r"settings\.work_mem: a pooler gives each transaction of a session another connection"
    with pgbouncer(built, "transaction", default_pool_size=4) as target, pytest.raises(ConfigErrors, match=reason):
        planned_as_measured(target, hdbkit.SweepSpec.model_validate(swept), None, DEFAULT)


def test_options_of_a_target_state_what_a_pooler_does(pooled: Target) -> None:
    stated = pooled.with_(options={"pooling": "transaction", "prepared": "true"})
    with closing(ENGINE.connect(stated)) as session:
        assert ENGINE.pooling(session, stated) == Pooling(PoolMode.TRANSACTION, prepared=True)
    with pytest.raises(InputError, match="known values: direct, session, transaction"):
        ENGINE.connect(pooled.with_(options={"pooling": "statement"}))


def test_many_users_share_a_few_connections(built: PrivateServer) -> None:
    """The server's limit of connections is not that of the users."""
    load = Load(virtual_users=150, rampup_s=0, duration_s=1)
    with pgbouncer(built, "transaction", default_pool_size=3) as target:
        ready = precheck(
            target,
            specification(),
            lambda spec: RunPlan(run_id="r", target=target, workload=spec, load=workload(spec).load(load)),
            Path(),
        )
    assert ready.plan.pooling == FOUND["transaction"]


SMALL_POOLS = {
    "session": "4 virtual users and the run's own 2 sessions need 6 connections of the pool .* gave 2; .*pool_size",
    "statement": "pool_mode = statement.*set pool_mode of this database to transaction or session",
}


@pytest.mark.parametrize("pool_mode", sorted(SMALL_POOLS))
def test_a_pool_that_cannot_serve_the_run_is_named_before_the_start(
    built: PrivateServer, pool_mode: str, results: Path
) -> None:
    named = pytest.raises(InputError, match=SMALL_POOLS[pool_mode])
    with pgbouncer(built, pool_mode, default_pool_size=2) as target, named:
        hdbkit.run(target, load=Load(virtual_users=4, rampup_s=0, duration_s=1))
    assert not list(results.glob("2*"))


@pytest.mark.parametrize("pool_mode", ["session", "transaction"])
def test_a_pool_that_cannot_serve_the_loaders_is_named_with_the_number_that_it_can(
    built: PrivateServer, pool_mode: str
) -> None:
    refused = (
        "4 loaders and the build's own 2 sessions need 6 connections .* gave 4; use 2 loaders or raise .*pool_size"
    )
    with pgbouncer(built, pool_mode, default_pool_size=4) as target:
        connection = hdbkit.connect(target)
        with pytest.raises(InputError, match=refused):
            connection.build(SMALL, loaders=4)
        try:
            assert connection.build(SMALL, loaders=2).passed
        finally:
            connection.drop(SMALL)


def test_a_limit_of_clients_is_named(built: PrivateServer) -> None:
    named = pytest.raises(CannotConnect, match=r"no more connections \(max_client_conn\); use fewer")
    with pgbouncer(built, "transaction", max_client_conn=1) as target, closing(ENGINE.connect(target)), named:
        ENGINE.connect(target)


def test_a_rollback_by_design_is_no_error_in_the_log_of_the_server(built: PrivateServer, pooled: Target) -> None:
    work = workload(specification(warehouses=1))
    for target in (built.target, pooled):
        seen = built.place.log.stat().st_size
        with closing(sql_session(target, work.scope(ENGINE.dialects))) as session:
            before = session.query("count_new_orders")
            session.prepare(["call_new_order"])
            bound = session.bind("call_new_order", (1, 1, 1, (1, 2, 100_001), (1, 1, 1), (5, 5, 5)))
            with pytest.raises(RolledBackByDesign):
                session.perform(bound)
            assert session.query("count_new_orders") == before
        written = read_since(built.place.log, seen)  # a checkpoint may have ended as well
        assert not any(level in written for level in ("ERROR", "WARNING", "FATAL", "STATEMENT")), written
