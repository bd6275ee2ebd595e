"""A server that is reached by another engine's driver, and what only its own engine can do to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path

import pytest

from hdbkit.config import Isolation, Target
from hdbkit.contracts import Capability, Row, Scope, SessionOptions, SqlSession
from hdbkit.databases import database, sql_session
from hdbkit.errors import CannotConnect, ErrorClass, TransactionError
from hdbkit.statement import Statement
from hdbkit.workloads.tproc_c.conformance.rules import fill
from tests.conformance.conftest import Tables, connected
from tests.conformance.test_errors import PAY, refused
from tests.sources import SOURCES, source

NAME = SOURCES[0]
REPEATABLE = SessionOptions(isolation=Isolation.REPEATABLE_READ)


@pytest.fixture
def server(servers: Callable[[str], Target]) -> Target:
    """The server, by its own engine."""
    return servers(NAME.partition("-")[2])


@pytest.fixture
def made(reached: Target) -> Iterator[Tables]:
    """The workload's tables on the server."""
    tables = Tables(reached)
    yield tables
    tables.drop()


@pytest.fixture
def reached(servers: Callable[[str], Target], server: Target, tmp_path: Path) -> Target:
    """The same server by the other driver."""
    return source(NAME, servers, tmp_path)


def end_other_sessions(target: Target) -> None:
    with closing(sql_session(target)) as session:
        session.query("end_other_sessions", database_name=target.database)


def test_a_change_returns_its_row_where_the_source_and_its_driver_do(reached: Target) -> None:
    """Found out by trying."""
    assert database(reached).source.returns_changed  # type: ignore[attr-defined]


PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'hdbkit_%'"


def ordered(reached: Target) -> tuple[SqlSession, Callable[[], list[list[Row]]]]:
    """A session, and a batch of three statements on it."""
    session = connected(reached)
    names = ("client_lock_deliveries", "client_update_carrier", "client_delete_new_order")
    session.prepare(names)

    def batch() -> list[list[Row]]:
        session.begin()
        answers = session.batch([(names[0], (1,)), (names[1], (2, 1, 1, 1)), (names[2], (1, 1, 1))])
        session.commit()
        return answers

    return session, batch


def count(session: SqlSession, text: str) -> int:
    return int(session.connection.execute(text).fetchone()[0])  # type: ignore[attr-defined]


def test_what_is_sent_in_batches_is_prepared_by_name(reached: Target, made: Tables) -> None:
    made.emptied().close()
    session, batch = ordered(reached)
    with closing(session):
        assert count(session, PREPARED) == 3
        used = "SELECT sum(generic_plans + custom_plans) FROM pg_prepared_statements WHERE name LIKE 'hdbkit_%'"
        for times in (1, 2):
            assert batch() == [[], [], []]
            assert count(session, used) == 3 * times


def test_what_a_pooler_took_away_is_sent_as_text_when_it_is_tried_again(reached: Target, made: Tables) -> None:
    made.emptied().close()
    session, batch = ordered(reached)
    with closing(session):
        session.execute("DEALLOCATE ALL")
        with pytest.raises(TransactionError) as gone:
            batch()
        assert gone.value.error_class is ErrorClass.SERIALIZATION
        assert batch() == [[], [], []]
        assert count(session, PREPARED) == 0


def test_statements_that_cannot_be_prepared_are_sent_as_they_are(reached: Target) -> None:
    """One without a type that can be inferred, and a command that is never prepared."""
    texts = {"sum_of_both": "SELECT :a + :b", "set_name": "SET application_name = 'batch'"}
    own = {name: Statement(name, text, Path("own.sql"), "") for name, text in texts.items()}
    with closing(sql_session(reached, Scope("", own))) as session:
        session.prepare(texts)
        session.begin()
        answers = session.batch([("sum_of_both", (1, 2)), ("set_name", ()), ("sum_of_both", (3, 4))])
        assert answers[::2] == [[(3,)], [(7,)]]
        session.commit()
        assert count(session, PREPARED) == 0


WAYS: dict[str, Callable[[SqlSession], object]] = {
    "query": lambda session: session.query("list_tables"),
    "execute": lambda session: session.execute("SELECT 1"),
    "commit": lambda session: session.commit(),
    "call": lambda session: session.call("try_now"),
    "batch": lambda session: session.batch([("try_now", ())] * 3),
}


@pytest.mark.parametrize("how", WAYS)
def test_a_session_that_the_server_ended_is_a_lost_connection(server: Target, reached: Target, how: str) -> None:
    with closing(sql_session(reached)) as session:
        session.begin()
        session.call("try_now")
        end_other_sessions(server)
        for _ in range(2):
            with pytest.raises(TransactionError) as lost:
                WAYS[how](session)
            assert lost.value.error_class is ErrorClass.CONNECTION_LOST
            session.rollback()
            if how in ("commit", "call", "batch"):
                return  # they belong in a transaction


@pytest.mark.parametrize("changes", [{"database": "no_such_database"}, {"user": "nobody"}])
def test_a_refused_connection_states_why_without_the_password(reached: Target, changes: dict[str, str]) -> None:
    target = reached.with_(**changes)
    with pytest.raises(CannotConnect, match=next(iter(changes.values()))) as met:
        database(target).connect(target)
    assert (target.secret() or "") not in str(met.value)


def test_many_sessions_are_one_exploration(reached: Target) -> None:
    engine = database(reached)
    assert database(reached.with_()) is engine
    with ExitStack() as block:
        sessions = [block.enter_context(closing(sql_session(reached))) for _ in range(3)]
        assert {id(session.engine) for session in sessions} == {id(engine)}  # type: ignore[attr-defined]


@pytest.mark.parametrize("reports", ["ON", "OFF"])
def test_conflicts_of_snapshots_are_claimed_and_known_where_the_server_reports_them(
    servers: Callable[[str], Target], tmp_path: Path, reports: str
) -> None:
    """MariaDB reports them by default from 11.6 on."""
    plain = source(SOURCES[-1], servers, tmp_path)
    reached = plain.with_(options={**plain.options, "initstmt": f"SET innodb_snapshot_isolation = {reports}"})
    assert (Capability.SNAPSHOT_CONFLICTS in database(reached).capabilities) == (reports == "ON")
    tables = Tables(reached)
    try:
        fill(tables.emptied())
        with closing(connected(reached)) as other, closing(connected(reached, REPEATABLE)) as session:
            session.begin()
            session.query("count_warehouse")
            other.query(PAY, h_amount=Decimal(1), w_id=1)
            if reports == "ON":
                assert refused(session.call, PAY, Decimal(1), 1) is ErrorClass.SERIALIZATION
            else:
                session.call(PAY, Decimal(1), 1)
    finally:
        tables.drop()
