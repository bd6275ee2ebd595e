"""The class of each database error, and that the session survives it (hdbkit.contracts, errors.py)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from hdbkit.config import Isolation, Target
from hdbkit.contracts import Capability, Database, SqlSession
from hdbkit.databases import database, sql_session
from hdbkit.errors import CannotConnect, ErrorClass, InputError, TransactionError
from hdbkit.readings import STATEMENT_READINGS
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads.tproc_c.conformance.rules import Small, loaded, warehouse
from tests.conformance.conftest import connected

PAY = "client_update_warehouse_ytd"
READ = "client_select_quantity"
Connect = Callable[..., SqlSession]


def refused(work: Callable[..., Any], *arguments: Any) -> ErrorClass | None:
    """The class of the refusal that ``work`` meets; None when it is done."""
    try:
        work(*arguments)
    except TransactionError as error:
        return error.error_class
    return None


def end_other_sessions(session: SqlSession, target: Target) -> None:
    """Where an engine has no such statement, there is one that gives the commands."""
    for (command,) in session.query("end_other_sessions", database_name=target.database):
        if isinstance(command, str):
            session.execute(command)


@pytest.mark.needs(Capability.ROW_LOCKS, "the second waits for the first", tried=False)
@pytest.mark.needs(Capability.LOCK_ERRORS, "a deadlock is a lock timeout")
def test_two_sessions_in_each_others_way_are_a_deadlock(connect: Connect, small: Small) -> None:
    sessions = connect(), connect()
    for session, w_id in zip(sessions, (1, 2), strict=True):
        session.begin()
        session.call(PAY, Decimal(1), w_id)
    with ThreadPoolExecutor() as pool:
        waiting = [
            pool.submit(refused, one.call, PAY, Decimal(1), w) for one, w in zip(sessions, (2, 1), strict=True)
        ]
        met = [one.result(timeout=180) for one in waiting]
    assert sorted(met, key=str) == [None, ErrorClass.DEADLOCK]
    loser = sessions[met.index(ErrorClass.DEADLOCK)]
    sessions[met.index(None)].commit()
    assert [row["w_ytd"] for row in small.rows("warehouse")] == [Decimal(1), Decimal(1)]
    assert loser.query("count_warehouse") == [(2,)]


@pytest.mark.needs(Capability.SNAPSHOT_CONFLICTS, "never: it changes the newest version of the row")
def test_a_row_that_changed_since_is_a_serialization_failure(connect: Connect, small: Small) -> None:
    session, other = connect(isolation=Isolation.REPEATABLE_READ), connect(lock_timeout_ms=100)
    session.begin()
    session.query("count_warehouse")
    other.query(PAY, h_amount=Decimal(1), w_id=1)  # waits for the reader where there are no snapshots
    assert refused(session.call, PAY, Decimal(1), 1) is ErrorClass.SERIALIZATION
    assert session.query("count_warehouse") == [(2,)]


@pytest.mark.needs(Capability.LOCK_TIMEOUT, "it waits for ever", tried=False)
@pytest.mark.needs(Capability.CHANGE_TIMEOUT, "never: the server times out at most what reads")
def test_a_statement_that_takes_too_long_is_a_statement_timeout(connect: Connect, db: SqlSession) -> None:
    db.begin()
    db.call(PAY, Decimal(1), 1)
    session = connect(statement_timeout_ms=50, lock_timeout_ms=5000)
    session.begin()
    assert refused(session.call, PAY, Decimal(1), 1) is ErrorClass.STATEMENT_TIMEOUT
    db.rollback()
    assert session.query("count_warehouse") == [(2,)]


@pytest.mark.needs(Capability.STATEMENT_TIMEOUT, "it has none")
def test_the_timeout_of_a_session_and_who_sets_it_are_known(engine: Database, connect: Connect) -> None:
    assert engine.timeouts(connect(is_own=False)) == []
    (found,) = engine.timeouts(connect(is_own=False, statement_timeout_ms=2500))
    assert found.ends == STATEMENT_READINGS
    assert found.seconds in (2.5, 3)  # a driver may know whole seconds only
    assert found.setter.startswith("hdbkit")
    waits = [
        one for one in engine.timeouts(connect(is_own=False, lock_timeout_ms=3000)) if one.ends != STATEMENT_READINGS
    ]
    assert [one.seconds for one in waits] == [3]


@pytest.mark.needs(Capability.SERVER, "nobody can end a session", tried=False)
@pytest.mark.parametrize("how", ["call", "batch", "query", "perform", "commit", "load"])
def test_a_session_that_the_server_ended_is_a_lost_connection(
    target: Target, connect: Connect, small: Small, how: str
) -> None:
    if "end_other_sessions" not in statements(database(target).dialects, SERVER_STATEMENTS):
        pytest.skip("no statement ends a session of this server")
    session, other = connect(), connect()
    session.prepare([PAY, READ])
    session.begin()
    session.call(PAY, Decimal(1), 1)
    end_other_sessions(other, target)
    ways: dict[str, Callable[[], object]] = {
        "call": lambda: session.call(PAY, Decimal(1), 1),
        "batch": lambda: session.batch([(PAY, (Decimal(1), 1))] * 3),
        "query": lambda: session.query("count_warehouse"),
        "perform": lambda: session.perform(session.bind(READ, (1, 7))),
        "commit": session.commit,
        "load": lambda: loaded(session, "warehouse", [warehouse(9)]),
    }
    assert refused(ways[how]) is ErrorClass.CONNECTION_LOST
    session.rollback()
    assert refused(session.query, "count_warehouse") is ErrorClass.CONNECTION_LOST
    small.session = other
    assert small.row("warehouse", w_id=1)["w_ytd"] == Decimal(0)


@pytest.mark.needs(Capability.SERVER, "there is nothing to connect to", tried=False)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"password": SecretStr("not-this-one")}, "or password"),
        ({"port": 1}, "nothing listens on"),
        ({"host": "no-such-host.invalid"}, "there is no host 'no-such-host.invalid'"),
        ({"database": "no_such_database"}, "there is no database 'no_such_database'"),
        ({"options": {"colour": "red"}}, "has the unknown option 'colour'"),
    ],
    ids=["password", "port", "host", "database", "option"],
)
def test_a_refused_connection_says_which_part_is_wrong(
    target: Target, engine: Database, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError) as met:
        engine.connect(target.with_(**changes))
    assert reason in str(met.value)
    assert isinstance(met.value, CannotConnect) is ("options" not in changes)
    assert "not-this-one" not in str(met.value)
    assert (target.secret() or "not-this-one") not in str(met.value)


@pytest.fixture
def admin(target: Target, engine: Database) -> Target:
    """The administrator's account."""
    if Capability.ADMIN not in engine.capabilities or target.server_folder is None:
        pytest.skip("needs an administrator's account")
    from hdbkit.servers import PrivateServer

    return PrivateServer.attach(target.server_folder).admin


def test_an_administrator_makes_what_is_missing_once(target: Target, engine: Database, admin: Target) -> None:
    """Account and database, with a password that works."""
    wanted = target.with_(user='O\'Neil "x"', database="new-one", password=SecretStr("it's \\secret"))
    created = engine.provision(admin, wanted)
    assert 'O\'Neil "x"' in created[0]
    assert "database new-one" in created
    assert engine.provision(admin, wanted) == []
    with closing(sql_session(wanted)) as session:
        session.execute("CREATE TABLE probe (a INTEGER)")


def test_an_administrator_creates_no_account_without_a_password(
    target: Target, engine: Database, admin: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HDBKIT_PASSWORD", raising=False)
    without = target.with_(user="nobody-yet", database="nothing_yet", password=None, password_file=None)
    for secret in (None, SecretStr("")):
        with pytest.raises(InputError, match="set HDBKIT_PASSWORD to the password that it is to have"):
            engine.provision(admin, without.with_(password=secret))
    wanted = without.with_(password=SecretStr("a-password"))
    created = engine.provision(admin, wanted)
    assert len(created) >= 2  # neither account nor database existed
    assert "nobody-yet" in created[0]
    with closing(connected(admin)) as session:
        session.execute("DROP DATABASE nothing_yet")
    assert "database nothing_yet" in engine.provision(admin, wanted)  # as after an interrupted attempt
    connected(wanted).close()
