"""A workload's schema on SQL engines: one implementation, with named statements.

A workload's own statements create its tables: ``create_<table>``, ``create_routine_<routine>`` and
``drop_routine_<routine>``, and ``index_<index>`` for each index that is created after the load. The
engine's folder ``server`` has the common statements: ``list_tables``, ``analyze``, ``drop_table``, the build record.

Storage options are statements too. With ``partitions``, ``create_<table>_partitioned`` replaces ``create_<table>`` if
it exists, followed by ``create_<table>_partition`` for each partition. With ``history_key``, a statement of that name
with ``_keyed`` replaces it, else ``key_<table>`` follows. Other
options are set in each transaction that creates something, by the engine's statement ``use_<option>``, or change each
new table, by its statement ``make_<option>``.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Protocol

from pydantic import Field

from hdbkit.config import Target
from hdbkit.contracts import (
    SERVER,
    Access,
    BuildLog,
    Capability,
    Database,
    PartLoad,
    Schema,
    SchemaOptions,
    Scope,
    SessionOptions,
    SqlSession,
    StatementLoad,
    Workload,
)
from hdbkit.databases._base.database import product_named, validated_options
from hdbkit.databases._base.probing import within_server
from hdbkit.errors import BuildFailed, GivenUp, InputError, TransactionError
from hdbkit.sql import SERVER_STATEMENTS, statements

_RECORD = frozenset({"build_spec", "build_part"})
"""The tables of the build record."""
_OPTIONS = SessionOptions(application="hdbkit build")
_CLAIM_PATIENCE_S = 1.0
"""The server may not have noticed yet that the session of a killed build has ended."""
_CLAIM_ANSWER_S = 60.0
"""No lock is waited for: a server that takes longer serves one session at a time."""
_INDEX = "index_"
_ROUTINES = "routines "
"""How the part of the record begins that states which routines were created."""
_ANALYZE = "analyze"
_WORD = re.compile(r"\w+")
_STATEMENT = re.compile(r"statement drop_\w+")
_HAS_KEY = re.compile(r"\b(PRIMARY\s+KEY|UNIQUE)\b", re.IGNORECASE)
"""Some servers take a unique key without nulls for a primary one; they decide about it."""


class SqlSchemaOptions(SchemaOptions):
    """The storage options of all SQL engines."""

    partitions: int = Field(
        default=0, ge=0, le=1000, description="number of partitions of the largest tables; 0: none"
    )
    history_key: bool = Field(
        default=False, description="add a primary key to tables that the specification defines without one"
    )


class SqlDatabase(Database, Protocol):
    """An SQL engine."""

    def connect(self, target: Target, scope: Scope = SERVER, options: SessionOptions | None = None) -> SqlSession: ...

    def loading_session(self, session: SqlSession, target: Target, scope: Scope) -> SqlSession:
        """A session for loads in place of this one, or this one."""


class SqlSchema(Schema):
    """Contract: :class:`hdbkit.contracts.Schema`."""

    session: SqlSession

    def __init__(self, engine: SqlDatabase, target: Target, workload: Workload) -> None:
        options = dict(validated_options(engine, workload.spec.storage))
        self._options, self._workload, self.target = options, workload, target
        with product_named(target):
            self._scope = self._scope_of(engine.dialects)
        self._capabilities = engine.capabilities
        self._known = statements(engine.dialects, SERVER_STATEMENTS)
        given = {name: value for name, value in options.items() if value is not None}
        self._used = {name: value for name, value in given.items() if f"use_{name}" in self._known}
        self._engine = engine
        self._claim: SqlSession | None = None
        self._loads = False
        with product_named(target):
            self.session = engine.connect(target, self._scope, _OPTIONS)
        try:
            self._use_options()
        except BaseException:
            self.session.close()
            raise

    def _scope_of(self, dialects: tuple[str, ...]) -> Scope:
        """The statements of the workload; an engine may take others for some storage options."""
        return self._workload.scope(dialects)

    def _use_options(self) -> None:
        for name, value in self._used.items():
            try:
                self.session.query(f"use_{name}", **{name: value})
            except TransactionError as error:
                raise InputError(f"{name} '{value}' cannot be used: {error.text}") from error

    def log(self) -> BuildLog:
        if Capability.SCHEMAS in self._capabilities and not self.session.query("schema_exists")[0][0]:
            return BuildLog(exists=False)
        found = self._listed("tables")
        if not found and Capability.SCHEMAS not in self._capabilities:
            return BuildLog(exists=bool(self._routines()))
        if not found >= _RECORD:
            return BuildLog(exists=True, tables=found)
        spec, finished, parts = (self.session.query(f"select_build_{name}") for name in ("spec", "finished", "parts"))
        tables = found - _RECORD
        if not spec:
            return BuildLog(exists=True, tables=tables)
        loaded = {key: int(rows) for key, rows in parts if not key.startswith(_ROUTINES)}
        return BuildLog(True, tables, str(spec[0][0]), bool(finished[0][0]), loaded)

    def claim(self) -> bool:
        """By a lock in a transaction of a session of its own, which a pooler gives no other client meanwhile.

        No timeout of the account ends this work or the pauses in it. An engine without a statement for it lets two
        processes build at once.
        """
        if "claim_schema" not in self._known:
            return True
        if self._claim is None:
            self._engine.lift_limits(self.session)
            self._claim = self._engine.connect(self.target, self._scope, _OPTIONS)
            self._engine.lift_limits(self._claim)
            self._claim.begin()
        end = time.monotonic() + _CLAIM_PATIENCE_S
        with within_server(_CLAIM_ANSWER_S, [self._claim]):
            while not (claimed := bool(self._claim.query("claim_schema")[0][0])) and time.monotonic() < end:
                time.sleep(0.1)
        return claimed

    def create(self, spec: str) -> None:
        """Create what is missing: schema, build record and tables; replace a record of another ``spec``."""
        log = self.log()
        missing = [table for table in self._workload.tables if table not in log.tables]
        self._require_keys(missing)
        if not log.exists and Capability.SCHEMAS in self._capabilities:
            self._create_schema()
        if not self._listed("tables") >= _RECORD:
            self.session.query("create_build")
        if log.spec is None:
            self.session.query("insert_build_spec", spec=spec)
        elif log.spec != spec:
            self.session.query("update_build_spec", spec=spec)
        for table in missing:
            self._create_table(table)

    def _create_schema(self) -> None:
        try:
            self.session.query("create_schema", schema=self._scope.schema)
        except TransactionError as error:
            raise InputError(
                f"schema {self._scope.schema} cannot be created in {self.target.url}: {error.text}; "
                "use an account that may create schemas there"
            ) from error

    def _create_table(self, table: str) -> None:
        try:
            with self._transaction():
                self._use_options()
                self._run_create_table(table)
        except TransactionError as error:
            raise BuildFailed(f"create_{table}", str(error)) from error

    def _run_create_table(self, table: str) -> None:
        known, partitions = self._scope.statements, self._options.get("partitions", 0)
        creating, is_keyed = self._creating(table)
        partitioned = creating.startswith(f"create_{table}_partitioned")
        self.session.query(creating, partitions=partitions)
        if partitioned and f"create_{table}_partition" in known:
            for number in range(partitions):
                self.session.query(f"create_{table}_partition", number=number, partitions=partitions)
        if self._options.get("history_key") and f"key_{table}" in known and not is_keyed:
            self.session.query(f"key_{table}")
        for name in filter(self._options.get, self._options):
            if f"make_{name}" in self._known:
                self.session.query(f"make_{name}", table=table)

    def _creating(self, table: str) -> tuple[str, bool]:
        """The statement that creates a table by the options, and whether it has the key."""
        known, name = self._scope.statements, f"create_{table}"
        if self._options.get("partitions") and f"{name}_partitioned" in known:
            name = f"{name}_partitioned"
        is_keyed = bool(self._options.get("history_key")) and f"{name}_keyed" in known
        return (f"{name}_keyed" if is_keyed else name), is_keyed

    def _require_keys(self, tables: Iterable[str]) -> None:
        """Raise ``InputError`` where the server refuses tables without a primary key and one of them gets none."""
        known = self._scope.statements
        for setting in self._demanded_keys():
            unkeyed = [name for name in tables if not _HAS_KEY.search(known[self._creating(name)[0]].code)]
            if not unkeyed:
                return
            optional = all(f"create_{name}_keyed" in known for name in unkeyed)
            advice = "add --history-key, which gives it a key that no statement uses, or " if optional else ""
            raise InputError(
                f"the server of {self.target.described} refuses tables without a primary key ({setting} = ON), and "
                f"{', '.join(unkeyed)} of {self._workload.title} is created without one; {advice}set {setting} to "
                "OFF for the build"
            )

    def _demanded_keys(self) -> list[str]:
        """The settings of the server that demand keys; none if it cannot be asked."""
        if "demanded_keys" not in self._known:
            return []
        try:
            return [setting for (setting,) in self.session.query("demanded_keys")]
        except TransactionError:
            return []

    def load(self, part: str, loads: Iterable[PartLoad], sent: Callable[[int, int], None]) -> None:
        """Load a part and record it, in one transaction."""
        if not self._loads:
            self._loads, before = True, self.session
            self.session = self._engine.loading_session(before, self.target, self._scope)
            self._engine.lift_limits(self.session)
            if self.session is not before:
                self._use_options()
        with self._transaction():
            rows = sum(self._rows_of(load, sent) for load in loads)
            self.session.query("insert_build_part", part=part, rows=rows)

    def _rows_of(self, load: PartLoad, sent: Callable[[int, int], None]) -> int:
        if isinstance(load, StatementLoad):
            self.session.query(load.operation)
            return 0
        return self.session.load(load.table, reported(load.chunks, sent))

    def after_load(self) -> dict[str, str]:
        """The missing indexes, each with the table that its statement names."""
        there = self._listed("indexes")
        named = ((name, one.text) for name, one in self._scope.statements.items() if name.startswith(_INDEX))
        return {name: self._table_in(text) for name, text in named if name.removeprefix(_INDEX) not in there}

    def _table_in(self, text: str) -> str:
        tables = {table.casefold(): table for table in self._workload.tables}
        return next((tables[word] for word in _WORD.findall(text.casefold()) if word in tables), "")

    def routines(self) -> None:
        if Capability.STORED_ROUTINES not in self._capabilities:
            return
        there, current = self._routines(), self._are_current()
        for routine in self._workload.routines:
            if routine in there and not current:
                self.session.query(f"drop_routine_{routine}")
            if routine not in there or not current:
                self.session.query(f"create_routine_{routine}")

    def routine_problem(self, used: Collection[str]) -> str:
        """Against the list of the server, and the digest that the build recorded."""
        asked = [routine for routine in self._workload.routines if routine in used]
        if not asked or Capability.STORED_ROUTINES not in self._capabilities:
            return ""
        there = self._routines()
        if missing := [routine for routine in asked if routine not in there]:
            return f"lacks the stored routines {', '.join(missing)}, which a dump may have left out"
        return "" if self._are_current() else "has the stored routines of another version of hdbkit"

    def _are_current(self) -> bool:
        """Whether the build recorded the routines that this version creates."""
        return self._recorded() == [self._digest()]

    def _recorded(self) -> list[str]:
        """The parts of the record that state which routines were created."""
        return [key for key, _ in self.session.query("select_build_parts") if key.startswith(_ROUTINES)]

    def _digest(self) -> str:
        """A part of the record with a digest of the texts that create the routines, without storage options."""
        plain = self._workload.scope(self._engine.dialects).statements
        texts = [plain[f"create_routine_{name}"].text for name in self._workload.routines]
        return _ROUTINES + hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def _routines(self) -> frozenset[str]:
        """The stored routines in the schema; none on an engine without them."""
        return self._listed("routines") if Capability.STORED_ROUTINES in self._capabilities else frozenset()

    def statistics(self) -> dict[str, str]:
        """One step per table."""
        tables = self._workload.tables if _ANALYZE in self._known else {}
        return {f"{_ANALYZE} {table}": table for table in tables}

    def missing_grants(self, access: Access) -> list[str]:
        """As the server has them; the record is read where hdbkit builds the tables."""
        record = {"SELECT": access.tables.get("SELECT", frozenset()) | _RECORD} if self._workload.tables else {}
        return self._engine.grants_for(self.session, replace(access, tables={**access.tables, **record}))

    def unanalyzed(self) -> list[str]:
        """The tables of the schema that the server lists; none if the account may not ask."""
        return [f"{table} {reason}" for table, reason in self._unanalyzed()]

    def _unanalyzed(self) -> list[tuple[str, str]]:
        if "list_unanalyzed" not in self._known:
            return []
        try:
            rows = self.session.query("list_unanalyzed")
        except TransactionError:
            return []
        own = self._workload.tables
        return [(table, reason) for table, reason in rows if not own or table in own]

    def analyze(self) -> None:
        """Each table of the workload; where it names none, each that lacks statistics."""
        tables = list(self._workload.tables) or [table for table, _ in self._unanalyzed()]
        if "update_statistics" not in self._known:
            raise InputError(f"the statistics of {self._engine.title} are updated by itself; omit --analyze")
        if refused := self._not_analyzable(tables):
            raise InputError(
                f"{self.target.account} may not analyze {', '.join(refused)} in {self.target.described}; "
                f"omit --analyze, or run as an administrator in database {self.target.database}: "
                + "; ".join(dict.fromkeys(refused.values()))
            )
        self._engine.lift_limits(self.session)
        for table in tables:
            self.session.query("update_statistics", table=table)

    def _not_analyzable(self, tables: list[str]) -> dict[str, str]:
        """Those of the tables that this account may not analyze, with the GRANT; none where the server refuses it."""
        if "list_not_analyzable" not in self._known:
            needed = {privilege: frozenset(tables) for privilege in self._engine.analyze_needs}
            missing = self._engine.grants_for(self.session, Access(needed)) if needed else []
            return dict.fromkeys(tables, "; ".join(missing)) if missing else {}
        return dict(self.session.query("list_not_analyzable", tables=",".join(tables)))

    def do(self, name: str) -> None:
        """Run a step: the statement of an index, or ``analyze`` with its table."""
        self._engine.lift_limits(self.session)
        statement, _, table = name.partition(" ")
        if table or not self._used:  # not everything may be part of a transaction
            self.session.query(statement, table=table)
            return
        with self._transaction():
            self._use_options()
            self.session.query(statement)

    def finish(self) -> None:
        if self._workload.routines and Capability.STORED_ROUTINES in self._capabilities and not self._are_current():
            for part in self._recorded():
                self.session.query("delete_build_part", part=part)
            self.session.query("insert_build_part", part=self._digest(), rows=0)
        self.session.query("finish_build")

    def drop(self) -> list[str]:
        """Drop routines and tables of the workload, then the build record, then the schema if it is empty."""
        work, tables, routines = self._workload, self._listed("tables"), self._routines()
        names = [f"routine {one}" for one in work.routines if one in routines]
        names += [f"table {one}" for one in work.tables if one in tables]
        dropped = list[str]()
        try:
            for one in names:
                self._drop(*one.split())
                dropped.append(one)
        except (KeyboardInterrupt, GivenUp) as error:
            raise self._stopped(error, names, dropped) from None
        if tables >= _RECORD:
            self.session.query("drop_build")
        if Capability.SCHEMAS in self._capabilities and tables <= {*work.tables, *_RECORD}:
            with suppress(TransactionError):
                self.session.query("drop_schema", schema=self._scope.schema)
                dropped.append(f"schema {self._scope.schema}")
        return dropped

    def _drop(self, kind: str, name: str) -> None:
        if kind == "routine":
            self.session.query(f"drop_routine_{name}")
        else:
            self.session.query("drop_table", table=name)

    def _stopped(
        self, error: KeyboardInterrupt | GivenUp, names: Sequence[str], dropped: Sequence[str]
    ) -> KeyboardInterrupt | GivenUp:
        """The error of a drop that was ended, with what it has dropped, which the server is asked for."""
        if len(dropped) == len(names):
            return error
        doing = names[len(dropped)]
        cause = _STATEMENT.sub(f"the DROP of {doing}", str(error)) or "the rest was not sent"
        is_known = False
        with suppress(TransactionError):
            self.session.rollback()
            kind, name = doing.split()
            if name not in (self._routines() if kind == "routine" else self._listed("tables")):
                dropped = [*dropped, doing]
            is_known = True
        left = [one for one in names if one not in dropped and (is_known or one != doing)]
        gone = f"dropped: {', '.join(dropped)}; not dropped: {', '.join(left) or 'nothing else'}"
        if not dropped:
            gone = "nothing was dropped" if is_known else "nothing else was dropped"
        text = f"{cause}: {gone}; to drop the rest, repeat the drop" if dropped and left else f"{cause}: {gone}"
        if isinstance(error, GivenUp):
            return GivenUp(error.error_class, error.code, text, error.lost)
        return KeyboardInterrupt(text)

    def close(self) -> None:
        self.session.close()
        if self._claim is not None:
            self._claim.close()

    def _listed(self, what: str) -> frozenset[str]:
        return frozenset(row[0] for row in self.session.query(f"list_{what}"))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.session.begin()
        try:
            yield
            self.session.commit()
        except BaseException:
            self.session.rollback()
            raise


def reported(chunks: Iterable[bytes], sent: Callable[[int, int], None]) -> Iterator[bytes]:
    """Yield the chunks unchanged; call ``sent(rows, size_bytes)`` after each."""
    for chunk in chunks:
        yield chunk
        sent(chunk.count(b"\n"), len(chunk))
