"""Db2 for Linux, UNIX and Windows 11.1 and later, through IBM's driver ``ibm_db``, which has its client library.

The workload's tables are in the session's current schema. A probe over a connection of its own finds what answers:
Apache Derby speaks Db2's wire protocol, too, and has statements of its own, no SQL PL, and no arrays of rows. There
was no Db2 to try this on: docs/engines.md states what was verified, and how.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from hdbkit.config import Isolation, Target
from hdbkit.contracts import Capability, Row, SchemaOptions, Scope, Session, SessionOptions, Table
from hdbkit.databases._base.access import connected_in_time, password_of
from hdbkit.databases._base.dbapi import DbapiDatabase
from hdbkit.databases._base.dbapi_session import Bound, DbapiSession
from hdbkit.databases._base.dbapi_statements import Piece, ProcedureAnswer, plain_rows
from hdbkit.databases._base.explored import ExploredDatabase
from hdbkit.databases.db2.cli import DB2, CliError, cli_driver
from hdbkit.databases.db2.connect import (
    DB2_OPTIONS,
    DB2_PORT,
    DB2_VALUES,
    NO_PRIVILEGE,
    SCHEMA,
    SECURITY,
    SUMMARY,
    class_and_code,
    cli_connection,
)
from hdbkit.databases.db2.schema import Db2Schema, Db2SchemaOptions
from hdbkit.errors import ErrorClass
from hdbkit.readings import Encryption, Timeout
from hdbkit.sql import ANSI

LUW, DERBY = f"{DB2}_luw", f"{DB2}_derby"
"""The folders of what only Db2 has, and of what Apache Derby has in another form."""
_LINE: Final = "LINE"
"""The first column of a result that has a row for each element of arrays."""
_ELEMENT: Final = 10
"""The number of characters of an element of an array, which is given as a text."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_DBM: Final = "dbm."
_PROTECTED: Final = MappingProxyType(
    {
        **dict.fromkeys((f"{_DBM}svcename", f"{_DBM}ssl_svcename", f"{_DBM}authentication"), "clients would lose it"),
        **dict.fromkeys(("newlogpath", "mirrorlogpath", "overflowlogpath"), "the server would move its log"),
        **dict.fromkeys(("logarchmeth1", "logarchmeth2"), "the database could not be used before a backup"),
    }
)
_ACCESS: Final[tuple[str, ...]] = (
    *("dbm.*auth*", "dbm.svc*", "dbm.srvcon*", "dbm.ssl*", "dbm.sys*_group", "dbm.trust*"),
    *("dbm.*plugin*", "dbm.discover*"),
    *("dbm.fed*", "dbm.keystore*", "dbm.clnt*", "dbm.tpname", "dbm.nname", "dbm.audit*", "dbm.diag*", "dbm.notify*"),
    *("connect_proc", "discover_db", "encr*", "hadr*", "logarch*", "restrict_access"),
    *("log_appl_info", "log_ddl_stmts"),
    *("mon_*_data*", "section_actuals"),
)
"""What guards, opens or records access."""


_PERCENTAGES: Final = tuple(
    f"{name}_percent"
    for name in ("wait", "io_wait", "lock_wait", "network_wait", "sql_time", "commit_time", "buffer_pool_hits")
)
"""The names of what the option ``summary`` adds to the counters."""


class _Found(NamedTuple):
    """What the probe of a server found."""

    dialect: str
    """The folder of statements that only the product has."""
    reads_never_wait: bool
    """Whether who reads a row that an open transaction changed sees the version before."""


class Db2Session(DbapiSession):
    """A connection, whose transactions the driver begins."""

    returns_changed = True

    def __init__(self, connection: Any, engine: DbapiDatabase, scope: Scope) -> None:
        super().__init__(connection, engine, scope)
        self.summary = False
        """Whether its counters have the percentages of the view MON_DB_SUMMARY."""
        self._has_lines: dict[tuple[str, int], bool] = {}
        """By statement and number of a result, whether it has lines."""

    def encoded(self, value: Any) -> Any:
        """An array as text."""
        return "".join(f"{one:{_ELEMENT}d}" for one in value) if isinstance(value, tuple) else value

    def rows(self, raw: Any) -> list[Row]:
        return plain_rows(raw)

    def _sent(self, bound: Bound) -> Any:
        """Send the commands of a call; return the rows of the last result, or the answer of a procedure."""
        rows: Any = []
        for text, values in bound.calls:
            bound.cursor.execute(text, values)
            if results := self._results(bound.statement.name, bound.cursor):
                rows = results[-1][2]
                if len(results) > 1 or results[0][0]:
                    answers = all(has_lines or found for has_lines, _, found in results)
                    rows = [ProcedureAnswer(tuple(results))] if answers else []
        return rows

    def _results(self, statement: str, cursor: Any) -> list[tuple[bool, int, Any]]:
        found: list[tuple[bool, int, Any]] = []
        while cursor.width:
            key = statement, len(found)
            if key not in self._has_lines:
                self._has_lines[key] = cursor.description[0] == _LINE
            found.append((self._has_lines[key], cursor.width, cursor.fetchall()))
            if not cursor.nextset():
                break
        return found

    def _insert_each(self, table: Table, head: str, one: Piece, cursor: Any, rows: Sequence[bytes]) -> None:
        """By an array of the values of all rows."""
        cursor.executemany(f"{head} ({one.text})", list(self._values(table, rows)))


class DerbySession(Db2Session):
    """A connection to Apache Derby, which cannot take arrays of rows."""

    returns_changed = False
    values_per_insert = 2000

    def encoded(self, value: Any) -> Any:
        """Also a time that is given as text, which it cannot convert from what the driver makes of it."""
        if isinstance(value, str) and _TIME.fullmatch(value):
            return datetime.fromisoformat(value)
        return super().encoded(value)


class Db2(ExploredDatabase):
    """Contract: :class:`hdbkit.contracts.Database`. Without a target it is Db2 in general."""

    kind = DB2
    title = "Db2"
    extra = DB2
    driver = "ibm_db"
    gauges = frozenset({"waiting_locks", *_PERCENTAGES})
    schema_options: type[SchemaOptions] = Db2SchemaOptions
    schema_type = Db2Schema
    connection_settings: Mapping[str, int] = MappingProxyType({"maxappls": 1})
    protected_settings: Mapping[str, str] = _PROTECTED
    access_settings: tuple[str, ...] = _ACCESS
    default_port: int | None = DB2_PORT
    options = DB2_OPTIONS
    option_values = DB2_VALUES
    no_answer = NO_PRIVILEGE
    preload: tuple[str, ...] = ("ibm_db", "hdbkit.databases.db2")

    @cached_property
    def found(self) -> _Found:
        """What the target's server is. Raises the errors of ``connect``."""
        assert self._target is not None, "the engine of no target"
        engine = _Unprobed(self._target)
        with closing(engine.connect(self._target)) as session:
            name, _ = session.connection.product
            if not name:
                return _Found(DERBY, False)
            answer = engine.asked(session, "reads_never_wait")
        return _Found(LUW, not answer or bool(answer[0][0]))

    @property
    def is_derby(self) -> bool:
        """Whether Apache Derby answers."""
        return self._target is not None and self.found.dialect == DERBY

    @property
    def dialects(self) -> tuple[str, ...]:  # type: ignore[override]
        """The folders of statements, with those of the product that answers."""
        return (ANSI, DB2, self.found.dialect if self._target else LUW)

    @property
    def capabilities(self) -> frozenset[Capability]:  # type: ignore[override]
        """Those of Apache Derby, or those of Db2, whose readers wait if the database is configured so."""
        if self.is_derby:
            return _OF_DERBY
        waits = self._target is not None and not self.found.reads_never_wait
        return _CAPABILITIES - ({Capability.READS_NEVER_WAIT} if waits else frozenset())

    @property
    def session_type(self) -> type[DbapiSession]:  # type: ignore[override]
        """With or without arrays of rows and data-change tables."""
        return DerbySession if self.is_derby else Db2Session

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """That of the layer on the driver, whose own errors have no class."""
        return (CliError,)

    def driver_version(self) -> str:
        return f"ibm_db {cli_driver().__version__}"

    def opened(self, target: Target, options: SessionOptions) -> Any:
        return cli_connection(target, options)

    def counters(self, session: Session) -> dict[str, float]:
        """With the percentages of the view MON_DB_SUMMARY, if the target asks for them."""
        found = super().counters(session)
        if isinstance(session, Db2Session) and session.summary:
            found |= {str(name): float(value or 0) for name, value in self.asked(session, "summary")}
        return found

    def _opened(self, target: Target, options: SessionOptions) -> tuple[Any, int | None]:
        """In this thread: after a fork, the driver prepares nothing in a connection that another thread opened."""
        return connected_in_time(target, options, lambda: self.opened(target, options), by_thread=False)

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        """Schema, isolation, workers and timeouts; that of statements is kept by the driver, in whole seconds."""
        if SCHEMA in target.options:
            session.query("set_schema", schema=target.options[SCHEMA])
        if options.isolation is not None:
            session.query(f"set_isolation_{Isolation(options.isolation).value}")
        if self.is_derby:
            return
        cast(Db2Session, session).summary = target.options.get(SUMMARY) == "on"
        if options.parallel_workers is not None:
            session.query("set_parallel_workers", degree=max(1, options.parallel_workers))
        session.connection.statement_timeout_s = _seconds(options.statement_timeout_ms)

    def limit_locks(self, session: DbapiSession, milliseconds: int) -> None:
        """In whole seconds, by the session's register."""
        if not self.is_derby:
            session.query("set_lock_timeout", seconds=_seconds(milliseconds))

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """By SQLSTATE, and by the reason of a rolled back wait."""
        assert isinstance(error, CliError)
        return *class_and_code(error), error.text

    def encryption(self, session: Session, target: Target) -> Encryption:
        """By the option of the target, without which the driver does not encrypt."""
        return Encryption("TLS") if target.options.get(SECURITY) == "ssl" else Encryption()

    def timeouts(self, session: Session) -> list[Timeout]:
        """Those of locks, and that of statements, which the driver keeps."""
        seconds = session.connection.statement_timeout_s if isinstance(session, Db2Session) else 0
        own = [Timeout("statements", float(seconds), "hdbkit")] if seconds else []
        return [*own, *super().timeouts(session)]

    def slow_load(self, session: Session) -> str | None:
        """Arrays are sent: LOAD commits by itself, so that an interrupted build could not continue."""
        return None

    def password_source(self, target: Target) -> str | None:
        return str(target.password_file) if password_of(target) and target.password_file else None


def _seconds(milliseconds: int) -> int:
    """Whole seconds, rounded up."""
    return -(-milliseconds // 1000)


_OF_DERBY: Final = frozenset(
    {
        Capability.SQL,
        Capability.TABLES,
        Capability.DECIMALS,
        Capability.CLIENT_ROUTINES,
        Capability.ACROSS_SHARDS,
        Capability.SERVER,
        Capability.ISOLATION,
        Capability.ROW_LOCKS,
        Capability.WRITERS_WAIT,
        Capability.LOCK_ERRORS,
    }
)
_CAPABILITIES: Final = _OF_DERBY | {
    Capability.STORED_ROUTINES,
    Capability.READS_NEVER_WAIT,
    Capability.LOCK_TIMEOUT,
    Capability.STATEMENT_TIMEOUT,
    Capability.CHANGE_TIMEOUT,
    Capability.PARALLEL_WORKERS,
    Capability.COUNTS_COMMITS,
    Capability.COUNTS_ROLLBACKS,
    Capability.COUNTS_WAITS,
    Capability.SETTINGS,
    Capability.PLANS,
}


class _Unprobed(Db2):
    """The engine of a server about whose product nothing is known yet."""

    found = _Found(LUW, True)


DATABASE = Db2()
