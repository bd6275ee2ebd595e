"""A double of IBM's driver ``ibm_db`` at its API: it records what is sent, and answers as a test says.

It is as strict as the driver where hdbkit depends on it: a statement is executed on the connection that prepared it,
with exactly one value for each marker; decimals are returned as texts; a connection that was closed refuses
everything; errors are plain exceptions whose text has SQLSTATE and SQLCODE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_TAKEN = (int, str, Decimal, datetime, date, type(None))


def failure(state: str, code: int, text: str = "SQL0000N  Something is wrong.") -> Exception:
    """An error as the driver raises it."""
    return Exception(
        f"Statement Execute Failed: [IBM][CLI Driver][DB2/LINUXX8664] {text}  SQLSTATE={state} SQLCODE={code}"
    )


@dataclass
class Result:
    """A result: the names of its columns, their types as the driver names them, and rows as it returns them."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


def result(columns: str, *rows: tuple[Any, ...]) -> Result:
    """A result by the names of its columns; types are those of the first row, and a decimal becomes text."""
    names = tuple(columns.split())
    first = rows[0] if rows else (None,) * len(names)
    types = tuple(
        "decimal" if isinstance(one, Decimal) else "int" if isinstance(one, int) else "string" for one in first
    )
    return Result(names, types, [tuple(str(one) if isinstance(one, Decimal) else one for one in row) for row in rows])


Answers = Callable[[str, Any], Sequence[Result] | Exception | None]


@dataclass
class Sent:
    """What was sent: what, its text, and its values."""

    what: str
    text: str = ""
    values: Any = ()


@dataclass
class Statement:
    connection: Connection
    text: str
    results: list[Result] = field(default_factory=list)
    options: dict[int, Any] = field(default_factory=dict)
    freed: bool = False

    @property
    def result(self) -> Result | None:
        return self.results[0] if self.results else None


@dataclass
class Connection:
    parameters: str
    closed: bool = False


class Module(SimpleNamespace):
    """The module ``ibm_db``; ``answers`` decides what each text is answered with, an exception is raised."""

    SQL_ATTR_AUTOCOMMIT, SQL_AUTOCOMMIT_OFF, SQL_ATTR_QUERY_TIMEOUT = 102, 0, 0
    __version__ = "3.3.0"

    def __init__(self) -> None:
        super().__init__()
        self.answers: Answers = lambda *_: None
        self.name, self.version = "DB2/LINUXX8664", "11.05.0900"
        self.log: list[Sent] = []
        self.connections: list[Connection] = []
        self.refusal: Exception | None = None

    def connect(self, parameters: str, user: str, password: str, options: dict[int, Any]) -> Connection:
        assert options == {self.SQL_ATTR_AUTOCOMMIT: self.SQL_AUTOCOMMIT_OFF}
        if self.refusal is not None:
            raise self.refusal
        self.connections.append(Connection(parameters))
        return self.connections[-1]

    def server_info(self, connection: Connection) -> Any:
        return SimpleNamespace(DBMS_NAME=self.name, DBMS_VER=self.version)

    def prepare(self, connection: Connection, text: str) -> Statement:
        self._open(connection)
        assert not re.search(r"\{\w+\}", text), f"a word is not filled: {text}"
        assert not re.search(r"(?<![:\w]):[a-z]", _QUOTED.sub("", text)), f"a value is not a marker: {text}"
        routine = text.startswith("CREATE OR REPLACE PROCEDURE")
        assert routine or not text.rstrip().endswith(";"), "a command ends without a semicolon"
        return Statement(connection, text)

    def set_option(self, statement: Statement, options: dict[int, Any], kind: int) -> bool:
        assert kind == 0
        statement.options |= options
        return True

    def execute(self, statement: Statement, values: tuple[Any, ...] = ()) -> bool:
        self._check(statement, values)
        self._send(statement, Sent("execute", statement.text, values))
        return True

    def execute_many(self, statement: Statement, rows: tuple[tuple[Any, ...], ...]) -> int:
        for values in rows:
            self._check(statement, values)
        self._send(statement, Sent("execute_many", statement.text, rows))
        return len(rows)

    def num_fields(self, statement: Statement) -> int:
        return len(statement.result.columns) if statement.result else 0

    def field_name(self, statement: Statement, place: int) -> str:
        assert statement.result
        return statement.result.columns[place]

    def field_type(self, statement: Statement, place: int) -> str:
        assert statement.result
        return statement.result.types[place]

    def fetchall(self, statement: Statement) -> list[tuple[Any, ...]]:
        assert statement.result
        return list(statement.result.rows)

    def next_result(self, statement: Statement) -> Statement | bool:
        assert statement.text.lstrip().startswith("CALL"), "CLI0125E: only a call has several results"
        statement.results = statement.results[1:]
        return Statement(statement.connection, statement.text, statement.results) if statement.results else False

    def free_stmt(self, statement: Statement) -> bool:
        statement.freed = True
        return True

    def commit(self, connection: Connection) -> bool:
        return self._end(connection, "commit")

    def rollback(self, connection: Connection) -> bool:
        return self._end(connection, "rollback")

    def close(self, connection: Connection) -> bool:
        connection.closed = True
        return True

    @property
    def texts(self) -> list[str]:
        """What was sent since the last ``forget``: texts in one line, ``commit``, ``rollback``."""
        return [" ".join(one.text.split()) or one.what for one in self.log]

    def forget(self) -> None:
        self.log.clear()

    def _check(self, statement: Statement, values: tuple[Any, ...]) -> None:
        assert isinstance(values, tuple)
        assert all(isinstance(one, _TAKEN) for one in values), f"the driver cannot take {values}"
        places = _QUOTED.sub("", statement.text).count("?")
        if len(values) != places:
            raise failure("07001", -313, f"{len(values)} values for {places} markers: {statement.text}")

    def _send(self, statement: Statement, one: Sent) -> None:
        assert not statement.freed
        self._open(statement.connection)
        self.log.append(one)
        found = self.answers(one.text, one.values)
        if isinstance(found, Exception):
            raise found
        statement.results = list(found or ())

    def _end(self, connection: Connection, what: str) -> bool:
        self._open(connection)
        self.log.append(Sent(what))
        found = self.answers("", what)
        if isinstance(found, Exception):
            raise found
        return True

    def _open(self, connection: Connection) -> None:
        if connection.closed:
            raise Exception("Connection is not active")
