"""Whether an engine keeps a workload's rules: each is tried on a target, in tables that are dropped again.

Nothing else in the target is touched: the tables have a schema of their own, or, on an engine without schemas, the
database must be empty. A record in the schema marks it, so that what a killed check left is removed by the next.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

from hdbkit.config import Target
from hdbkit.contracts import (
    Capability,
    Database,
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
from hdbkit.databases import database, within_server
from hdbkit.errors import InputError
from hdbkit.workloads.present import require_claim, require_primary

_SCHEMA: Final = "hdbkit_check"
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
        return replace(self._work.scope(dialects), schema=_SCHEMA)


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
        where = f"schema {_SCHEMA} in {target.described}" if own else f"the database of {target.described}"
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
            with within_server(_RULE_S, bench.sessions):
                rule.hold(bench)
        except Violation as violation:
            return Tried(rule.name, False, str(violation))
        except Exception as error:
            return Tried(rule.name, False, f"{type(error).__name__}: {error} ({_location(error, bench.sent)})")
    return Tried(rule.name, True)
