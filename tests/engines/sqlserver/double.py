"""A double of the driver pyodbc at its API, with SQL Server behind it: it records what is sent, and answers as told.

It is as strict as driver and server where hdbkit depends on it: each question mark of a text needs exactly one value
of a type that the driver takes, a closed connection refuses everything, a command that is only explained takes no
values, memory-optimized objects are created outside of transactions, and a cursor has the timeout that its connection
had when it was made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_TAKEN = (int, str, Decimal, datetime, date, type(None))
_MEMORY = re.compile(r"MEMORY_OPTIMIZED\s*=\s*ON|NATIVE_COMPILATION")


class Error(Exception):
    """An error of the driver: its arguments are SQLSTATE and text."""


def failure(state: str, number: int = 0, text: str = "Something is wrong.") -> Error:
    """An error as the driver raises it, with the server's number."""
    whole = f"[{state}] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]{text} ({number}) (SQLExecDirectW)"
    return Error(state, whole)


@dataclass
class Result:
    """A result: the names of its columns, and its rows."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


def result(columns: str, *rows: tuple[Any, ...]) -> Result:
    """A result by the names of its columns."""
    return Result(tuple(columns.split()), rows)


Answers = Callable[[str, Sequence[Any]], Sequence[Result] | Exception | None]


@dataclass
class Sent:
    """One round trip: a text with its values."""

    text: str
    values: tuple[Any, ...]
    timeout_s: int


class Cursor:
    def __init__(self, connection: Connection) -> None:
        self.connection, self._results, self._timeout_s = connection, [], connection.timeout

    _results: list[Result]

    @property
    def description(self) -> list[tuple[str]] | None:
        return [(name,) for name in self._results[0].columns] if self._results else None

    def execute(self, text: str, *given: Any) -> Cursor:
        values = tuple(given[0]) if len(given) == 1 and isinstance(given[0], list | tuple) else given
        self._check(text, values)
        self._results = list(self.connection.sent(Sent(text, values, self._timeout_s)) or ())
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._results[0].rows)

    def nextset(self) -> bool:
        self._results = self._results[1:]
        return bool(self._results)

    def close(self) -> None:
        self._results = []

    def _check(self, text: str, values: tuple[Any, ...]) -> None:
        assert all(isinstance(one, _TAKEN) for one in values), f"the driver cannot take {values}"
        plain = _QUOTED.sub("", text)
        assert "{" not in plain, f"a word is not filled: {text}"
        assert not re.search(r"(?<![:\w]):[a-z]", plain), f"a value has no question mark: {text}"
        if plain.count("?") != len(values):
            raise failure("07002", 0, f"{len(values)} values for {plain.count('?')} markers: {text}")


class Connection:
    def __init__(self, module: Module, text: str) -> None:
        self.module, self.text, self.timeout, self.closed = module, text, 0, False
        self.transactions, self.explains = 0, False

    def cursor(self) -> Cursor:
        self._open()
        return Cursor(self)

    def execute(self, text: str, *values: Any) -> Cursor:
        return self.cursor().execute(text, *values)

    def sent(self, one: Sent) -> Sequence[Result] | None:
        self._open()
        assert not (self.explains and one.values), "a command that is only explained takes no values"
        assert not (self.transactions and _MEMORY.search(one.text)), "12331: no such DDL in a transaction"
        self.module.log.append(one)
        found = self.module.answers(one.text, one.values)
        if isinstance(found, Exception):
            raise found
        self._follow(one.text)
        return found

    def close(self) -> None:
        self.closed = True

    def _follow(self, text: str) -> None:
        if text.startswith("BEGIN TRANSACTION"):
            self.transactions += 1
        elif text.startswith(("COMMIT TRANSACTION", "IF @@TRANCOUNT > 0 ROLLBACK")):
            self.transactions = 0
        if found := re.fullmatch(r"SET SHOWPLAN_\w+ (ON|OFF)", text):
            self.explains = found[1] == "ON"

    def _open(self) -> None:
        if self.closed:
            raise Error("HY000", "Attempt to use a closed connection.")


class Module(SimpleNamespace):
    """The module ``pyodbc``; ``answers`` decides what each text is answered with, an exception is raised."""

    Error = Error
    version = "5.5.0"
    pooling = True

    def __init__(self) -> None:
        super().__init__()
        self.answers: Answers = lambda *_: None
        self.installed = ["ODBC Driver 18 for SQL Server"]
        self.log: list[Sent] = []
        self.connections: list[Connection] = []
        self.refusal: Exception | None = None

    def drivers(self) -> list[str]:
        return self.installed

    def connect(self, text: str, autocommit: bool, timeout: int) -> Connection:
        assert autocommit and timeout and not self.pooling
        if self.refusal is not None:
            raise self.refusal
        self.connections.append(Connection(self, text))
        return self.connections[-1]

    @property
    def texts(self) -> list[str]:
        """What was sent since the last ``forget``, each text in one line."""
        return [" ".join(one.text.split()) for one in self.log]

    def forget(self) -> None:
        self.log.clear()
