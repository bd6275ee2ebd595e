"""Any ODBC data source, through pyodbc: transactions as client SQL, in the SQL that the source understands.

A target is a data source of the host's ODBC configuration (``odbc://NAME``) or a driver with its options
(``odbc:///database?driver=...&server=...``). What the source is, is found out once in a process, when something first
depends on it (``source.py``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from hdbkit.config import Isolation, Target
from hdbkit.contracts import Capability, Row, Scope, Session, SessionOptions
from hdbkit.databases._base.access import CONNECT_TIMEOUT, LOOPBACK, check_options, connect_timeout_s
from hdbkit.databases._base.dbapi import class_of
from hdbkit.databases._base.dbapi_session import Bound, DbapiSession
from hdbkit.databases._base.dbapi_statements import numbered
from hdbkit.databases._base.explored import ExploredDatabase
from hdbkit.databases._base.file_lock import HostSchema
from hdbkit.databases._pyodbc import DRIVER, error_parts, in_braces, module
from hdbkit.databases.odbc.source import (
    ODBC,
    ODBC_ERRORS,
    UNPROBED_DIALECTS,
    Source,
    explored,
    indexes,
    tables_of_source,
)
from hdbkit.errors import CannotConnect, ErrorClass, InputError, Rejected
from hdbkit.sql import SERVER_STATEMENTS, find, lexer_of, statements

if TYPE_CHECKING:
    import pyodbc


_ISOLATION_ATTRIBUTE: Final = 108
"""SQL_ATTR_TXN_ISOLATION."""
_LEVELS: Final[Mapping[Isolation, int]] = {
    Isolation.READ_COMMITTED: 2,
    Isolation.REPEATABLE_READ: 4,
    Isolation.SERIALIZABLE: 8,
}
_BATCHES_KEPT: Final = 100
"""The number of batches whose cursors a session keeps."""
_LONGEST_TEXT: Final = 1 << 20
"""Texts up to this length are sent with their statement; some drivers confuse those that are sent in pieces."""
_ALL: Final = frozenset({Capability.SQL, Capability.TABLES, Capability.CLIENT_ROUTINES, Capability.ACROSS_SHARDS})
_OF_CATALOG: Final[Mapping[str, Callable[[pyodbc.Connection, Source], list[tuple[str, ...]]]]] = MappingProxyType(
    {"list_tables": tables_of_source, "list_indexes": indexes}
)
_BEGIN, _COMMIT, _ROLL_BACK = "begin_transaction", "commit_transaction", "roll_back_transaction"
"""Statements of sources whose driver begins transactions in a way that does not suit."""
_SERVER, _PORT = "server", "port"
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")


class OdbcSession(DbapiSession):
    """A connection to a data source."""

    autocommits = True
    engine: Odbc

    def __init__(self, connection: pyodbc.Connection, engine: Odbc, scope: Scope) -> None:
        super().__init__(connection, engine, scope)
        source = engine.source
        self.values_per_insert = source.values_per_insert
        self.returns_changed = source.returns_changed
        self._decodes = not (source.exact_decimals and source.typed_times)
        known = statements(source.dialects, SERVER_STATEMENTS)
        self._by_text = {name: known[name].text for name in (_BEGIN, _COMMIT, _ROLL_BACK) if name in known}
        self._open = False
        self._of_batches: dict[str, pyodbc.Cursor] = {}
        self._named = _Prepared(connection, source.dialects) if source.prepares else None

    def prepare(self, names: Iterable[str]) -> None:
        """Outside a transaction the source prepares them too, by names that batches use."""
        chosen = list(names)
        super().prepare(chosen)
        if self._named and not self._begun:
            self._named.try_each([one.text for name in chosen for one in self._prepared[name][0].pieces])

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """The rows of a named statement; tables and indexes are listed by functions of the driver."""
        if statement in _OF_CATALOG:
            return list(self._guarded(_OF_CATALOG[statement], self.connection, self.engine.source))
        return super().query(statement, **arguments)

    ask = query

    def decoded(self, value: Any) -> Any:
        """A floating-point number as the decimal, and a text as the time that the source does not know as such."""
        source = self.engine.source
        if isinstance(value, float) and not source.exact_decimals:
            return Decimal(f"{value:.15g}")
        if isinstance(value, str) and not source.typed_times and _TIME.fullmatch(value):
            return datetime.fromisoformat(value)
        return value

    def _sent_together(self, bound: Sequence[Bound]) -> list[Any]:
        """Send calls as one batch, if the driver takes batches with a result for each statement."""
        calls = [call for one in bound for call in one.calls]
        if not self.engine.source.batches or len(calls) < 2:
            return self._sent_in_turn(bound)
        texts = [text for text, _ in calls]
        text = ";\n".join(map(self._named.command, texts) if self._named else texts)
        cursor = self._cursor_of(text)
        cursor.execute(text, [value for _, given in calls for value in given])
        results = [_rows_of(cursor)]
        while cursor.nextset():
            results.append(_rows_of(cursor))
        if len(results) != len(calls):
            raise _pyodbc().Error("", f"the driver gave {len(results)} results for {len(calls)} statements")
        parts = iter(results)
        own = [[rows for rows in islice(parts, len(one.calls)) if rows is not None] for one in bound]
        return [of_one[-1] if of_one else [] for of_one in own]

    def _as_one(self, run: Sequence[Bound]) -> Bound:
        """A run of several calls as one, prepared if the INSERT of one row is."""
        one = super()._as_one(run)
        if self._named and run[0].calls[0][0] in self._named:
            self._guarded(self._named.add, one.calls[0][0])
        return one

    def _raise_error(self, error: Exception) -> NoReturn:
        if self._named and error_parts(error)[0] == NOT_PREPARED:
            self._named.forget()
        super()._raise_error(error)

    def _cursor_of(self, text: str) -> pyodbc.Cursor:
        """The cursor of a batch, which keeps what the driver prepared."""
        if text not in self._of_batches:
            if len(self._of_batches) == _BATCHES_KEPT:
                self._of_batches.pop(next(iter(self._of_batches))).close()
            self._of_batches[text] = self.connection.cursor()
        return self._of_batches[text]

    def _begin(self) -> None:
        if _BEGIN in self._by_text:
            self.connection.execute(self._by_text[_BEGIN])
        else:
            self.connection.autocommit = False
        self._open = True

    def _commit(self) -> None:
        self._end(_COMMIT, self.connection.commit)

    def _rollback(self) -> None:
        if self._open:
            self._end(_ROLL_BACK, self.connection.rollback)

    def _end(self, how: str, by_driver: Callable[[], None]) -> None:
        if how in self._by_text:
            self.connection.execute(self._by_text[how])
        else:
            by_driver()
            self.connection.autocommit = True
        self._open = False


class Odbc(ExploredDatabase):
    """Contract: :class:`hdbkit.contracts.Database`. Without a target it is what all data sources have in common."""

    kind = ODBC
    title = "ODBC"
    extra = ODBC
    driver = "pyodbc"
    answers = frozenset({*_OF_CATALOG, "claim_schema"})
    preload: tuple[str, ...] = ("pyodbc", "hdbkit.databases.odbc")
    session_type = OdbcSession
    schema_type = HostSchema

    @cached_property
    def source(self) -> Source:
        """What the data source is, found out over a connection of its own. Raises the errors of ``connect``."""
        assert self._target is not None, "the engine of no target"
        failed: CannotConnect | None = None
        for one in self._target.each:
            try:
                connection, _ = self._opened(one, SessionOptions())
            except CannotConnect as error:
                failed = failed or error
                continue
            try:
                return explored(connection)
            except self.errors as error:
                _, _, text = error_parts(error)
                failed = failed or CannotConnect(one.url, text, "check the driver of the data source")
            finally:
                connection.close()
        assert failed is not None
        raise failed

    @property
    def dialects(self) -> tuple[str, ...]:  # type: ignore[override]
        """The folders of the SQL that the data source understands."""
        return self.source.dialects if self._target else UNPROBED_DIALECTS

    @property
    def capabilities(self) -> frozenset[Capability]:  # type: ignore[override]
        """Those of all data sources, and of this one."""
        return _ALL | self.source.own_capabilities if self._target else _ALL

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (_pyodbc().Error,)

    def driver_version(self) -> str:
        """Pyodbc; the driver of the data source is part of the server's version."""
        return f"pyodbc {_pyodbc().version}"

    def check_options(self, target: Target) -> None:
        """All options are attributes of the connection, which only its driver knows."""
        check_options(target, None, {})
        if not target.host and not _option(target, DRIVER):
            raise InputError(
                f"target {target.described} names neither a data source nor a driver; "
                "write odbc://NAME, or odbc:///database?driver=NAME&server=HOST"
            )

    def behind_proxy(self, target: Target, port: int) -> Target:
        """The target whose server is the proxy; that of a configured data source is not in the target."""
        server, number = _option(target, _SERVER), _option(target, _PORT)
        if server is None or number is None:
            raise InputError(
                f"connections of {target.described} would bypass the proxy; "
                "name the server in the options server and port of the target"
            )
        return target.with_(options={**target.options, server: LOOPBACK, number: str(port)})

    def opened(self, target: Target, options: SessionOptions) -> pyodbc.Connection:
        """A connection that commits each command by itself."""
        secret = target.secret()
        if target.withheld and (target.host or any(name.lower() == "dsn" for name in target.options)):
            raise Rejected(target.url, "its data source may have a password", target.withheld)
        timeout_s = connect_timeout_s(target, options.connect_timeout_s)
        try:
            connection = _pyodbc().connect(odbc_connection_string(target, secret), autocommit=True, timeout=timeout_s)
            connection.maxwrite = _LONGEST_TEXT
            return connection
        except self.errors as error:
            code, _, text = error_parts(error)
            reason = text.replace(secret, "...") if secret else text
            refused = Rejected if code.startswith("28") else CannotConnect
            raise refused(target.url, reason, _ADVICE.get(code, _ADVICE[""])) from None

    def set_up(self, session: DbapiSession, target: Target, options: SessionOptions) -> None:
        """The isolation level, by the driver."""
        if options.isolation is None:
            return
        level = _LEVELS[options.isolation]
        if not level & self.source.isolation_levels:
            raise InputError(f"{self.source.product} has no isolation level {options.isolation}; omit isolation")
        session.connection.set_attr(_ISOLATION_ATTRIBUTE, level)

    def described(self, error: Exception) -> tuple[ErrorClass, str, str]:
        """By the product's number of the error where it has a class, else by the SQLSTATE."""
        code, number, text = error_parts(error)
        known = ODBC_ERRORS.get(self.source.product.lower(), {})
        if code == NOT_PREPARED:  # the next attempt sends texts
            return ErrorClass.SERIALIZATION, code, text
        return known.get(number) or class_of(code), code, text

    def version(self, session: Session) -> str:
        """The database system and the driver, as the driver gives them."""
        return f"{self.title} {self.source.product} {self.source.version} ({self.source.driver})"

    def settings_of(self, session: Session) -> dict[str, dict[str, Any]]:
        """What was found out about the data source; nothing else is known of its settings."""
        found = {name: str(value) for name, value in vars(self.source).items() if name != "dialects"}
        chosen = ", ".join(self.source.dialects)
        return {
            name: {"value": value, "unit": None, "default": None, "changed": False}
            for name, value in {**found, "dialects": chosen}.items()
        }


_ADVICE: Final = {
    "": "check the data source, the options of the target, and that the server runs",
    "IM002": "name a data source or driver that this host has (odbcinst -q -s, odbcinst -q -d)",
    "01000": "name a driver that is installed on this host (odbcinst -q -d)",
    "28000": "check the account and its password",
}


def _pyodbc() -> Any:
    """The driver's module. Raises ``MissingDriver``."""
    return module(ODBC, Odbc.extra)


def odbc_connection_string(target: Target, secret: str | None) -> str:
    """The attributes of a connection: data source or driver, options, database, account, password."""
    named = {"DSN": target.host} if target.host else {}
    options = {name: value for name, value in target.options.items() if name != CONNECT_TIMEOUT}
    rest = {"PORT": str(target.port) if target.port else None, "DATABASE": target.database, "UID": target.user}
    given = {**named, **options, **rest, "PWD": secret}
    return ";".join(f"{name}={in_braces(name, value)}" for name, value in given.items() if value)


def _rows_of(cursor: pyodbc.Cursor) -> Any:
    """The rows of a result; None if it has none, not even a heading."""
    return cursor.fetchall() if cursor.description is not None else None


def _option(target: Target, name: str) -> str | None:
    """The name of an option as the target writes it; None if it is not given."""
    return next((one for one in target.options if one.lower() == name), None)


DATABASE = Odbc()


NOT_PREPARED: Final = "26000"
"""The SQLSTATE of a name that the server does not know: a pooler gave the session another server session."""
_PREPARABLE: Final = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
"""What servers prepare; to try others would leave errors in their log."""


class _Prepared:
    """The statements that a server has prepared for a connection, by their texts with question marks.

    Drivers prepare what is sent alone, and send a batch as text, which the server then parses and plans each time. A
    name follows from the text: behind a pooler, a server session that another client prepared has the same statement
    by it.
    """

    def __init__(self, connection: pyodbc.Connection, dialects: tuple[str, ...]) -> None:
        self._connection, self._lexer = connection, lexer_of(dialects)
        self._prepare, self._execute = (
            find(dialects, SERVER_STATEMENTS, name) for name in ("prepare_statement", "execute_statement")
        )
        self._commands: dict[str, str] = {}
        self._usable = True

    def __contains__(self, text: str) -> bool:
        return text in self._commands

    def try_each(self, texts: list[str]) -> None:
        """Prepare what the server can prepare, outside a transaction, which an error would end."""
        import pyodbc

        for text in texts:
            with suppress(pyodbc.Error):
                self.add(text)

    def add(self, text: str) -> None:
        """Prepare a statement. Raises the driver's error."""
        if text in self._commands or not self._usable or not _PREPARABLE.match(text):
            return
        with_numbers, count = numbered(text, self._lexer)
        words = {"name": f"hdbkit_{hashlib.sha256(text.encode()).hexdigest()[:24]}"}
        inner = replace(self._prepare, text=with_numbers)
        self._connection.execute(self._prepare.partly_filled(words).around(inner).text)
        values = f" ({', '.join('?' * count)})" if count else ""
        self._commands[text] = f"{self._execute.filled(words).text}{values}"

    def command(self, text: str) -> str:
        """What executes a statement: its text, unless it is prepared."""
        return self._commands.get(text, text)

    def forget(self) -> None:
        """From now on, send texts."""
        self._commands.clear()
        self._usable = False
