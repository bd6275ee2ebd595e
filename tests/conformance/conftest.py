"""Fixtures of the conformance suite: every available SQL engine that stores tables, with a small database.

``HDBKIT_TEST_<KIND>`` names a target, whose schema is created and dropped; otherwise a private server is started.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import Capability, Database, Schema, SessionOptions, SqlSession
from hdbkit.databases import database, kinds, sql_session
from hdbkit.errors import InputError
from hdbkit.servers import private_server
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c.conformance.rules import CLIENT_WORK, STORED, RuleRun, Small, fill, runner
from tests.quick import QUICK, choose_unusual_defaults
from tests.sources import OF_SOURCES, SOURCES, source

STORES = {Capability.TABLES, Capability.SQL, Capability.CLIENT_ROUTINES}
KINDS = [kind for kind in kinds() if database(kind).capabilities >= STORES and kind not in OF_SOURCES]
WORK = workload(TprocCSpec(warehouses=1))
SOAK = bool(os.environ.get("HDBKIT_SOAK"))
Connect = Callable[..., SqlSession]


class Tables:
    """The workload's tables, made once; where a test dropped them, made again."""

    def __init__(self, target: Target) -> None:
        self._target, self._made = target, False

    def schema(self) -> Schema:
        return database(self._target).schema(self._target, WORK)

    def session(self) -> SqlSession:
        return connected(self._target, SessionOptions(lock_timeout_ms=10_000))

    def emptied(self) -> SqlSession:
        """A session on the tables, with nothing in them."""
        if not self._made:
            self._make()
        session = self.session()
        for table in WORK.tables:
            session.query("empty_table", table=table)
        return session

    def _make(self) -> None:
        with closing(self.schema()) as schema:
            schema.create(WORK.spec.model_dump_json())
            for step in schema.after_load():
                schema.do(step)
            schema.routines()
        self._made = True

    def gone(self) -> None:
        """A test dropped them."""
        self._made = False

    def drop(self) -> None:
        """Leave no table behind."""
        if self._made:
            with closing(self.schema()) as schema:
                schema.drop()
        self._made = False


def connected(target: Target, options: SessionOptions | None = None) -> SqlSession:
    """A session on the workload's tables."""
    return sql_session(target, WORK.scope(database(target).dialects), options)


def server_of(kind: str) -> Any:
    """The module that starts a server for the suite: ``server.py`` in the folder of the engine's tests, if any."""
    there = (Path(__file__).parents[1] / "engines" / kind / "server.py").is_file()
    return importlib.import_module(f"tests.engines.{kind}.server") if there else None


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[..., Target]]:
    """The account of a private server by its kind, started when it is first wanted; ``unusual``: its defaults."""
    with ExitStack() as block:

        @cache
        def of(kind: str, unusual: bool = False) -> Target:
            try:
                database(kind).driver_version()
                if own := server_of(kind):
                    if own.WHY_LONG and not SOAK:
                        pytest.skip(f"{own.WHY_LONG}; set HDBKIT_SOAK to run it")
                    return block.enter_context(own.start())
                programs = os.environ.get(f"HDBKIT_TEST_{kind.upper()}_SOURCE")
                server = block.enter_context(private_server(kind, source=programs, settings=QUICK.get(kind)))
                if unusual:
                    choose_unusual_defaults(server)
                return server.target
            except InputError as error:
                pytest.skip(f"no server: {error}")

        yield of


@pytest.fixture(scope="session", params=[*KINDS, *SOURCES])
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, servers: Callable[..., Target]
) -> Target:
    kind: str = request.param
    if named := os.environ.get(f"HDBKIT_TEST_{kind.upper().replace('-', '_')}"):
        return Target.parse(named)
    folder = tmp_path_factory.mktemp("file")
    if kind in SOURCES:
        return source(kind, servers, folder)
    if Capability.SERVER not in database(kind).capabilities:
        return Target(kind=kind, database=str(folder / "conformance"))
    return servers(kind, unusual=True)


@pytest.fixture(scope="session")
def tables(target: Target) -> Iterator[Tables]:
    made = Tables(target)
    yield made
    made.drop()


@pytest.fixture(autouse=True)
def gaps(request: pytest.FixtureRequest) -> None:
    """``needs(capability, why)``: where the engine lacks it, the test must fail; with ``tried=False`` it is skipped.

    A parameter ``stored`` needs stored routines.
    """
    if "target" not in request.fixturenames:
        return
    capabilities = database(request.getfixturevalue("target")).capabilities
    for mark in request.node.iter_markers("needs"):
        capability, why = mark.args
        if capability not in capabilities:
            if not mark.kwargs.get("tried", True):
                pytest.skip(f"no {capability}: {why}")
            request.applymarker(pytest.mark.xfail(reason=f"no {capability}: {why}", strict=True))
    given = getattr(request.node, "callspec", None)
    ways = given.params.values() if given else ()
    stored = any(way == STORED or (isinstance(way, tuple) and STORED in way) for way in ways)
    if stored and Capability.STORED_ROUTINES not in capabilities:
        pytest.skip("this engine has no stored routines")


@pytest.fixture
def ways(engine: Database) -> tuple[str, ...]:
    """How transactions can be run on the engine."""
    return (STORED, CLIENT_WORK) if Capability.STORED_ROUTINES in engine.capabilities else (CLIENT_WORK,)


@pytest.fixture
def engine(target: Target) -> Database:
    return database(target)


@pytest.fixture
def connect(target: Target) -> Iterator[Connect]:
    """Makes sessions that are closed at the end of the test."""
    made: list[SqlSession] = []

    def session(**options: Any) -> SqlSession:
        made.append(connected(target, SessionOptions(**options)))
        return made[-1]

    yield session
    for one in made:
        one.close()


@pytest.fixture
def schema(tables: Tables) -> Iterator[SqlSession]:
    """A session on empty tables with indexes and routines."""
    session = tables.emptied()
    yield session
    session.close()


@pytest.fixture
def small(schema: SqlSession) -> Small:
    """The small database of the rules, to read from."""
    fill(schema)
    return Small(schema)


@pytest.fixture
def db(small: Small, connect: Connect) -> SqlSession:
    """A session on the small database."""
    return connect()


@pytest.fixture(params=[STORED, CLIENT_WORK])
def run(request: pytest.FixtureRequest, db: SqlSession) -> RuleRun:
    """Runs one transaction, by its stored routine or as client SQL, and gives its one row."""
    return runner(request.param, db)
