"""SQLite 3.35 and later, through Python's standard library: a file, no server, one writer at a time.

It is always there, so it serves to teach and to test. A transaction takes the database's only write lock at its
beginning, so that it never fails for what another one changed; throughput does not grow with the number of users.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from hdbkit.config import Target
from hdbkit.contracts import Capability, SessionOptions
from hdbkit.contracts import Schema as Schema
from hdbkit.contracts import Workload as Workload
from hdbkit.databases._base.dbapi_session import DbapiSession
from hdbkit.databases._base.file_database import FileDatabase
from hdbkit.databases._base.file_lock import FileSchema
from hdbkit.errors import CannotConnect, ErrorClass
from hdbkit.sql import ANSI, SERVER_STATEMENTS, find

_LOCK_TIMEOUT_MS = 60_000
_JOURNALS = ("wal", "delete", "truncate", "persist", "memory", "off")
_SYNCHRONOUS = ("off", "normal", "full", "extra")
_CLASSES = {
    sqlite3.SQLITE_BUSY: ErrorClass.LOCK_TIMEOUT,
    sqlite3.SQLITE_LOCKED: ErrorClass.LOCK_TIMEOUT,
    sqlite3.SQLITE_CONSTRAINT: ErrorClass.CONSTRAINT,
    sqlite3.SQLITE_FULL: ErrorClass.RESOURCES,
    sqlite3.SQLITE_NOMEM: ErrorClass.RESOURCES,
    sqlite3.SQLITE_INTERRUPT: ErrorClass.STATEMENT_TIMEOUT,
}
_PRIMARY = 0xFF
"""The part of an extended error code that is the error's own."""

sqlite3.register_converter("DECIMAL_2", lambda text: Decimal(f"{float(text):.2f}"))
sqlite3.register_converter("DECIMAL_4", lambda text: Decimal(f"{float(text):.4f}"))


def _read(parse: Callable[[str], date], value: bytes) -> date | str:
    """A date or time; what is none as text, as a column of SQLite takes any value."""
    text = value.decode()
    try:
        return parse(text)
    except ValueError:
        return text


sqlite3.register_converter("DATE", partial(_read, date.fromisoformat))
for _name in ("TIMESTAMP", "TIMESTAMP_TEXT"):
    sqlite3.register_converter(_name, partial(_read, datetime.fromisoformat))

_BEGIN = find(("sqlite",), SERVER_STATEMENTS, "begin_to_write")


class SqliteSession(DbapiSession):
    """A connection to the file."""

    autocommits = True

    def encoded(self, value: Any) -> Any:
        """Decimals as floating-point numbers, which are exact to the cent up to 10^13, dates and times as text."""
        if isinstance(value, Decimal):
            return float(value)
        if isinstance(value, datetime):
            return value.isoformat(" ")
        return value.isoformat() if isinstance(value, date) else value

    def _begin(self) -> None:
        self.connection.execute(_BEGIN.text)


class SqliteSchema(FileSchema):
    """A schema in a file, which is created with it."""

    def create(self, spec: str) -> None:
        """Create the file first if there is none."""
        path = Path(self.target.database or "")
        if not path.exists():
            path.touch()
            self.session.close()
            self.session = self._engine.connect(self.target, self._scope)
        super().create(spec)


class Sqlite(FileDatabase):
    """Contract: :class:`hdbkit.contracts.Database`."""

    kind = "sqlite"
    title = "SQLite"
    dialects: tuple[str, ...] = (ANSI, kind)
    driver = "sqlite3"
    capabilities = frozenset(
        {
            Capability.SQL,
            Capability.TABLES,
            Capability.ACROSS_SHARDS,
            Capability.DECIMALS,
            Capability.CLIENT_ROUTINES,
            Capability.WRITERS_WAIT,
            Capability.READS_NEVER_WAIT,
            Capability.LOCK_TIMEOUT,
        }
    )
    options = ("journal_mode", "synchronous", "cache_size_kib")
    option_values = MappingProxyType({"journal_mode": _JOURNALS, "synchronous": _SYNCHRONOUS})
    preload: tuple[str, ...] = ("sqlite3", "hdbkit.databases.sqlite")
    session_type = SqliteSession
    schema_type = SqliteSchema
    suffixes = ("", "-wal", "-shm")
    errors = (sqlite3.Error,)

    def driver_version(self) -> str:
        """The standard library's module, and the library."""
        return f"sqlite3 (SQLite {sqlite3.sqlite_version})"

    def opened(self, target: Target, options: SessionOptions) -> sqlite3.Connection:
        """A connection; without a file to an empty database in memory, so that asking creates no file."""
        path = self.path(target)
        try:
            return sqlite3.connect(
                f"file:{quote(os.fspath(path))}" if path.exists() else ":memory:",
                timeout=(options.lock_timeout_ms or _LOCK_TIMEOUT_MS) / 1000,
                detect_types=sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
        except sqlite3.Error as error:
            raise CannotConnect(target.url, str(error), "check the path and its permissions") from None

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        for name, mode in {"journal_mode": "wal", **target.options}.items():
            session.query(f"set_{name}", mode=mode)

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """By SQLite's error code; a closed connection is a lost one."""
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:
            return ErrorClass.CONNECTION_LOST if "closed" in str(error) else ErrorClass.OTHER, "", str(error)
        return _CLASSES.get(code & _PRIMARY, ErrorClass.OTHER), error.sqlite_errorname, str(error)  # type: ignore[attr-defined]


DATABASE = Sqlite()
