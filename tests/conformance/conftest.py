"""The conformance suite's fixtures: every engine that keeps tables and can be reached, with a small database in it.

``HDBKIT_TEST_<KIND>`` names a target (its schema is made and dropped for each test); else a private server starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Capability, Database, Session, SessionOptions
from hdbkit.databases import database, kinds
from hdbkit.errors import InputError
from hdbkit.servers import private_server
from hdbkit.sql import statements
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c import client
from tests.conformance.small import Small, fill

KINDS = [kind for kind in kinds() if Capability.TABLES in database(kind).capabilities]
QUICK = {"postgresql": {"fsync": "off", "full_page_writes": "off", "deadlock_timeout": "100ms"}}
"""Settings with which a server that holds nothing of worth is quick to test on."""
Connect = Callable[..., Session]
Run = Callable[..., tuple[Any, ...]]


@pytest.fixture(scope="session", params=KINDS)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    named = os.environ.get(f"HDBKIT_TEST_{request.param.upper()}")
    if named:
        yield Target.parse(named)
        return
    try:
        server = private_server(request.param, settings=QUICK.get(request.param))
    except InputError as error:
        pytest.skip(f"no server: {error}")
    with server:
        yield server.target


@pytest.fixture
def engine(target: Target) -> Database:
    return database(target.kind)


@pytest.fixture
def connect(target: Target, engine: Database) -> Iterator[Connect]:
    """Makes sessions that are closed at the end of the test."""
    made: list[Session] = []

    def session(**options: Any) -> Session:
        made.append(engine.connect(target, "tproc_c", SessionOptions(**options)))
        return made[-1]

    yield session
    for one in made:
        one.close()


@contextmanager
def tables(target: Target) -> Iterator[Session]:
    """Empty tables with indexes and routines, dropped at the end."""
    options = SessionOptions(lock_timeout_ms=10_000)
    session = database(target.kind).connect(target, "tproc_c", options)
    names, own_tables = list(statements(target.kind, "tproc_c")), workload("tproc_c").tables
    makes = [f"create_{table}" for table in own_tables]
    makes += [name for name in names if name.startswith(("index_", "create_routine_"))]
    drops = [name for name in names if name.startswith("drop_routine_")]
    drops += [f"drop_{table}" for table in own_tables]
    for name in ("create_schema", "create_build", *makes):
        session.query(name)
    yield session
    session.close()
    session = database(target.kind).connect(target, "tproc_c", options)  # a test may have ended the other
    for name in (*drops, "drop_build", "drop_schema"):
        session.query(name)
    session.close()


@pytest.fixture
def schema(target: Target) -> Iterator[Session]:
    """The session that made the empty tables."""
    with tables(target) as session:
        yield session


@pytest.fixture
def small(schema: Session) -> Small:
    """The small database of ``small.py``, to read from."""
    fill(schema)
    return Small(schema)


@pytest.fixture
def db(small: Small, connect: Connect) -> Session:
    """A session on the small database."""
    return connect()


@pytest.fixture(params=["stored", "client"])
def run(request: pytest.FixtureRequest, engine: Database, db: Session) -> Run:
    """Runs one transaction, by its stored routine or as client SQL, and gives its one row."""
    if request.param == "stored" and Capability.STORED_ROUTINES not in engine.capabilities:
        pytest.skip("this engine has no stored routines")
    return runner(request.param, db)


def runner(way: str, session: Session) -> Run:
    """``run(name, *arguments)`` by stored routines or client SQL."""

    def run_stored(name: str, *arguments: Any) -> tuple[Any, ...]:
        session.prepare([f"call_{name}"])
        (row,) = session.rows(session.perform(session.bind(f"call_{name}", arguments)))
        return row

    def run_client(name: str, *arguments: Any) -> tuple[Any, ...]:
        (row,) = getattr(client, name)(session, arguments)
        return tuple(row)

    return run_stored if way == "stored" else run_client
