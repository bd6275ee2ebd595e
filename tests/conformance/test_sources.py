"""A server that is reached by another engine's driver, and what only its own engine can do to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from hdbkit.config import Target
from hdbkit.contracts import SqlSession
from hdbkit.databases import database, sql_session
from hdbkit.errors import CannotConnect, ErrorClass, TransactionError
from tests.sources import SOURCES, source

NAME = SOURCES[0]


@pytest.fixture
def server(servers: Callable[[str], Target]) -> Target:
    """The server, by its own engine."""
    return servers(NAME.partition("-")[2])


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
