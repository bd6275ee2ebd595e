"""Engines as such: what one lacks of the declared operations, whether it keeps a workload's rules, and a new one.

The questions are those of ``hdbkit doctor`` and of each run. The rules are tried on a target in tables that are
created for it and dropped again. Nothing else in the target is touched: the tables have a schema of their own, or, on
an engine without schemas, the database must be empty. A record in the schema marks it, so that what a killed check
left is removed by the next.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from itertools import count
from pathlib import Path
from string import Template
from typing import Any, Final, cast

from hdbkit.config import Target
from hdbkit.contracts import (
    OPERATIONS,
    Capability,
    Database,
    Operation,
    Row,
    Rule,
    Schema,
    Scope,
    Session,
    SessionOptions,
    SqlSession,
    Table,
    TableLoad,
    Violation,
    Workload,
)
from hdbkit.contracts.operations import SUBJECTS
from hdbkit.databases import BaseDatabase, database, kinds, unusable, within
from hdbkit.errors import InputError
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import contracts
from hdbkit.workloads.present import require_claim, require_primary

__all__ = ["Gap", "Tried", "ask_server", "asked", "lacking", "provided", "try_rules", "write_skeleton"]


_NAME: Final = re.compile(r"[a-z][a-z0-9]{1,30}")
_FILES: Final = {
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
    "module.py.txt": "hdbkit_$name/__init__.py",
    "fragments.sql.txt": "hdbkit_$name/schemas/$name/fragments.sql",
    "server.sql.txt": "hdbkit_$name/schemas/$name/server/server.sql",
    "test.py.txt": "tests/test_$name.py",
}
"""The templates, and the file that each becomes."""


def write_skeleton(name: str, folder: Path) -> list[Path]:
    """Write the package of an engine into a new or empty folder; return its files.

    Raises:
        InputError: the name cannot be one of a kind of database, or is taken, or the folder has files.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"'{name}' cannot be a kind of database; use 2 to 31 lower-case letters and digits")
    if name in kinds() or name in unusable():
        raise InputError(f"there is a kind of database '{name}' already; choose another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty; name a new folder")
    words = {"name": name, "title": name.capitalize(), "class_name": name.capitalize(), "upper": name.upper()}
    written = []
    for template, place in _FILES.items():
        text = resources.files("hdbkit.engines").joinpath("skeleton", template).read_text(encoding="utf-8")
        path = folder / Template(place).substitute(words)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(text).safe_substitute(words), encoding="utf-8")
        written.append(path)
    return written


_ANY: Final = "..."
"""Stands for further columns in a declaration."""


def ask_server(target: Target) -> Iterator[tuple[str, str]]:
    """Yield each question that the engine has, with what is wrong with the answer; empty if nothing is.

    Raises:
        CannotConnect: the server rejects the connection.
    """
    engine = database(target)
    asked = [one for one in SUBJECTS["server"] if one.needs <= engine.capabilities]
    for one in asked:
        if provided(engine, SERVER_STATEMENTS, one):
            with closing(engine.connect(target)) as session:
                yield one.name, _problem(engine, session, one)


def _problem(engine: Database, session: Session, one: Operation) -> str:
    """What is wrong with an answer. Whatever is raised is wrong: ``doctor`` and runs would stop there."""
    try:
        by_statement = one.name in statements(engine.dialects, SERVER_STATEMENTS)
        rows = session.ask(one.name) if by_statement and not has_method(engine, one.method) else []
        getattr(engine, one.method)(session)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return wrong_rows(rows, one.columns)


def wrong_rows(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """What is wrong with rows of these columns: their number, or a name that is padded with blanks."""
    for row in rows:
        if _ANY not in columns and len(row) != len(columns):
            return f"{len(row)} columns instead of {len(columns)} ({', '.join(columns)})"
        if isinstance(row[0], str) and row[0] != row[0].strip():
            return f"the column {columns[0]} is padded with blanks: {row[0]!r}; cast it to VARCHAR, or trim it"
    return ""


# What an engine lacks of the declared operations, by its statements and methods alone; no session is opened.


@dataclass(frozen=True)
class Gap:
    """An operation that an engine lacks although it has the capabilities of it."""

    folder: str
    """Its folder in ``schemas/<engine>``: ``server``, or that of a workload."""
    operation: Operation


def asked() -> Mapping[str, tuple[Operation, ...]]:
    """Every declared operation, by the folder of its statement."""
    return {SERVER_STATEMENTS: OPERATIONS, **contracts()}


def lacking(engine: Database) -> list[Gap]:
    """The declared operations that this engine lacks; those of capabilities that it does not have are left out."""
    return [
        Gap(folder, one)
        for folder, operations in asked().items()
        for one in operations
        if one.needs <= engine.capabilities and not provided(engine, folder, one)
    ]


def provided(engine: Database, folder: str, operation: Operation) -> bool:
    """Whether the engine has the operation: as a statement, by its sessions, or by a method of its own."""
    if operation.name in engine.answers or has_method(engine, operation.method):
        return True
    known = {*statements(engine.dialects, folder), *statements(engine.dialects, SERVER_STATEMENTS)}
    return any(map(operation.matches, known))


def has_method(engine: Database, name: str) -> bool:
    """Whether the engine implements the method itself; that of the base only asks for the operation."""
    return bool(name) and getattr(type(engine), name) is not getattr(BaseDatabase, name)


SCHEMA: Final = "hdbkit_check"
"""The schema of the tables, on engines that have schemas."""
_RECORD: Final = '{"kind": "engine check"}'
_LOCK_TIMEOUT_MS: Final = 10_000
_RULE_S: Final = 120.0
"""A rule that takes longer is broken: a session waits for another without end."""


@dataclass(frozen=True)
class Tried:
    """A rule, and whether the engine keeps it: None if it lacks a capability that the rule needs."""

    rule: str
    kept: bool | None
    detail: str = ""


def try_rules(
    target: Target, work: Workload, rules: Sequence[Rule], started: Callable[[str], None] = lambda _: None
) -> Iterator[Tried]:
    """Yield each rule with what came of it; the tables are dropped at the end, also if the caller stops.

    Where no rule applies, nothing is connected to.

    Raises:
        CannotConnect: the server rejects the connection.
        InputError: there is something in the database that hdbkit did not create for a check, or it is read-only.
        BuildFailed: a table cannot be created.
    """
    elsewhere, engine = cast(Workload, _Elsewhere(work)), database(target)
    if not any(rule.needs <= engine.capabilities for rule in rules):
        yield from (_not_applicable(rule, engine) for rule in rules)
        return
    with closing(engine.schema(target, elsewhere)) as schema:
        require_primary(schema)
        require_claim(schema, f"the tables of an engine check in {target.described}")
        _remove_old(schema, target)
        try:
            _create(schema)
            for rule in rules:
                started(rule.name)
                applies = rule.needs <= engine.capabilities
                yield _tried(_Bench(target, elsewhere, schema), rule) if applies else _not_applicable(rule, engine)
        finally:
            schema.drop()


class _Elsewhere:
    """A workload whose tables are in the schema of the check."""

    def __init__(self, work: Workload) -> None:
        self._work = work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def scope(self, dialects: tuple[str, ...]) -> Scope:
        return replace(self._work.scope(dialects), schema=SCHEMA)


class _Bench:
    """Contract: :class:`hdbkit.contracts.Bench`."""

    def __init__(self, target: Target, work: Workload, schema: Schema) -> None:
        self._target, self._work, self._schema = target, work, schema
        self._engine = database(target)
        self.capabilities = self._engine.capabilities
        self.sent: list[str] = []
        """The names of the statements that were sent last."""
        self.sessions: list[Session] = []

    def connect(self, options: SessionOptions | None = None) -> SqlSession:
        scope = self._work.scope(self._engine.dialects)
        self.sessions.append(self._engine.connect(self._target, scope, options))
        self._engine.lift_limits(self.sessions[-1])
        speaks_sql = Capability.SQL in self._engine.capabilities
        used = self.sessions[-1] if speaks_sql else _Plain(self.sessions[-1], self._schema)
        return cast(SqlSession, _Noting(used, self.sent))

    def emptied(self) -> SqlSession:
        session = self.connect(SessionOptions(lock_timeout_ms=_LOCK_TIMEOUT_MS))
        if Capability.SQL in self._engine.capabilities:
            for table in self._work.tables:
                session.ask("empty_table", table=table)
        else:
            self._schema.drop()
            require_claim(self._schema, f"the tables of an engine check in {self._target.described}")
            _create(self._schema)
        return session

    def close(self) -> None:
        for session in self.sessions:
            session.close()


class _Noting:
    """A session that notes the statements that it is given, for messages."""

    def __init__(self, session: Any, sent: list[str]) -> None:
        self._session, self._sent = session, sent

    def __getattr__(self, name: str) -> Any:
        work = getattr(self._session, name)
        return partial(self._noted, name, work) if name in _NAMING else work

    def _noted(self, how: str, work: Callable[..., Any], given: Any, *others: Any, **arguments: Any) -> Any:
        self._sent[:] = _NAMING[how](given)
        return work(given, *others, **arguments)


_NAMING: Final[dict[str, Callable[[Any], list[str]]]] = {
    **dict.fromkeys(("query", "ask", "call", "bind"), lambda name: [name]),
    "batch": lambda calls: list(dict.fromkeys(name for name, _ in calls)),
    "load": lambda table: [f"load of {table.name}"],
}
"""How the methods of a session name what they send."""


class _Plain:
    """A session of an engine without SQL, for rules: each step is final, and rows are loaded as by a build."""

    _parts = count(1)

    def __init__(self, session: Session, schema: Schema) -> None:
        self._session, self._schema = session, schema
        self.query = session.ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def begin(self) -> None:
        """Nothing can be undone."""

    commit = rollback = begin

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        rows: list[int] = []
        part = f"check-{next(self._parts)}"
        self._schema.load(part, [TableLoad(table, iter(chunks))], lambda sent, _: rows.append(sent))
        return sum(rows)


def _create(schema: Schema) -> None:
    schema.create(_RECORD)
    for step in schema.after_load():
        schema.do(step)
    schema.routines()


def _remove_old(schema: Schema, target: Target) -> None:
    """Remove what a killed check left. Raises ``InputError`` if anything else is there."""
    log = schema.log()
    if log.spec == _RECORD:
        schema.drop()
    elif log.exists:
        own = Capability.SCHEMAS in database(target).capabilities
        where = f"schema {SCHEMA} in {target.described}" if own else f"the database of {target.described}"
        listed = f" ({', '.join(sorted(log.tables))})" if log.tables else ""
        raise InputError(
            f"{where} has something that hdbkit did not create for a check{listed}; nothing was changed. "
            f"{'Remove it' if own else 'Name an empty database'}"
        )


def _not_applicable(rule: Rule, engine: Database) -> Tried:
    return Tried(rule.name, None, f"the engine lacks {', '.join(sorted(rule.needs - engine.capabilities))}")


def _location(error: Exception, sent: Sequence[str]) -> str:
    """The line that raised the error, and the statements that were sent last."""
    *_, innermost = traceback.extract_tb(error.__traceback__)
    where = f"{Path(innermost.filename).name}:{innermost.lineno}"
    return f"{where}, after {', '.join(sent)}" if sent else where


def _tried(bench: _Bench, rule: Rule) -> Tried:
    """Try a rule. Whatever it raises breaks it: no error of a driver may leave an engine."""
    with closing(bench):
        try:
            with within(_RULE_S, bench.sessions):
                rule.hold(bench)
        except Violation as violation:
            return Tried(rule.name, False, str(violation))
        except Exception as error:
            return Tried(rule.name, False, f"{type(error).__name__}: {error} ({_location(error, bench.sent)})")
    return Tried(rule.name, True)
