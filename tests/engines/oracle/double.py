"""A double of the driver python-oracledb at its API: it records what is sent, and answers as a test says.

It is as strict as the driver where hdbkit depends on it: each placeholder of a text needs exactly one value, an array
is bound by ``arrayvar`` and no longer than that, a closed connection refuses everything, a package with errors is a
warning, and with ``autocommit`` a command commits in its own round trip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_PLACE = re.compile(r"(?<![:\w]):([A-Za-z]\w*)")
_WORDS = "size number mode level comment date user rows row value file start option order"
RESERVED = frozenset(_WORDS.split(" "))
"""Words that no placeholder may be (ORA-01745); some of them."""


class Error(Exception):
    """An error of the driver: its only argument has code and text."""


class DatabaseError(Error):
    """The server's."""


def failure(code: str, text: str = "something is wrong") -> DatabaseError:
    """An error as the driver raises it."""
    return DatabaseError(
        SimpleNamespace(full_code=code, message=f"{code}: {text}\nHelp: https://docs.oracle.com/{code}")
    )


@dataclass
class Sent:
    """One round trip: what was sent, with which values, and whether it committed itself."""

    what: str
    text: str = ""
    values: Any = None
    autocommit: bool = False
    types: tuple[Any, ...] = ()


@dataclass
class Answer:
    """What a text is answered with: rows and their columns, values that a block sets, a warning."""

    rows: Sequence[tuple[Any, ...]] | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    warning: Any = None


Answers = Callable[[str, Any], Answer | None]


class Var:
    """A variable; of an array with its number of elements."""

    def __init__(self, kind: Any, size: int = 4000, elements: int = 0, outconverter: Any = None) -> None:
        self.type, self.size, self.elements, self.outconverter = kind, size, elements, outconverter
        self.value: Any = [] if elements else None

    def setvalue(self, position: int, value: Any) -> None:
        assert position == 0
        if self.elements:
            assert isinstance(value, list)
            if len(value) > self.elements:
                raise failure("DPY-2016", "array too large")
        self.value = value

    def getvalue(self, position: int = 0) -> Any:
        return self.value


class Cursor:
    arraysize, prefetchrows = 100, 2

    def __init__(self, connection: Connection) -> None:
        self.connection, self.description, self.warning, self.closed = connection, None, None, False
        self._rows: list[tuple[Any, ...]] = []
        self._types: tuple[Any, ...] = ()

    def var(self, kind: Any, size: int = 4000, arraysize: int = 1, outconverter: Any = None) -> Var:
        return Var(kind, size, 0, outconverter)

    def arrayvar(self, kind: Any, value: int, size: int = 4000) -> Var:
        return Var(kind, size, value)

    def setinputsizes(self, *types: Any) -> None:
        self._types = types

    def execute(self, text: str, parameters: Any = None) -> None:
        given = parameters or {}
        assert isinstance(given, dict), "values are bound by name"
        bound = {name: one.value if isinstance(one, Var) else one for name, one in given.items()}
        assert not any(isinstance(one, tuple) for one in bound.values()), "an array is bound by a variable"
        self._check(text, set(given))
        self.description, self.warning = None, None
        answer = self.connection.sent(Sent("execute", text, bound, self.connection.autocommit)) or Answer()
        self.warning = answer.warning
        for name, value in answer.sets.items():
            given[name].setvalue(0, value)
        if answer.rows is not None:
            self.description, self._rows = [("c",)], list(answer.rows)

    def executemany(self, text: str, parameters: list[Any]) -> None:
        places = self._places(text)
        for row in parameters:
            self._check(text, set(row) if isinstance(row, dict) else set(places[: len(row)]))
        if isinstance(parameters[0], dict):
            assert None not in parameters[0].values(), "a null at first is taken for a text"
        self.connection.sent(Sent("executemany", text, parameters, self.connection.autocommit, self._types))

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def close(self) -> None:
        self.closed = True

    @staticmethod
    def _places(text: str) -> list[str]:
        return list(dict.fromkeys(_PLACE.findall(_QUOTED.sub("", text))))

    def _check(self, text: str, given: set[str]) -> None:
        places = set(self._places(text))
        assert not places & RESERVED, f"ORA-01745: {places & RESERVED}"
        if places != given:
            raise failure("DPY-4008" if given - places else "DPY-4010", f"{sorted(places ^ given)} of {text}")
        assert text.count("{") == 0, f"a word is not filled: {text}"
        block = re.match(r"\s*(DECLARE|BEGIN|CREATE OR REPLACE PACKAGE)\b", text)
        assert text.rstrip().endswith(";") is bool(block), "a block ends with a semicolon, and no other command does"


class Connection:
    def __init__(self, module: Module, parameters: Mapping[str, Any]) -> None:
        self.module, self.parameters = module, dict(parameters)
        self.autocommit, self.call_timeout, self.outputtypehandler, self.closed = False, 0, None, False

    def cursor(self) -> Cursor:
        self._open()
        return Cursor(self)

    def sent(self, one: Sent) -> Answer | None:
        self._open()
        self.module.log.append(one)
        found = self.module.answers(one.text, one.values)
        if isinstance(found, Exception):
            raise found
        return found

    def commit(self) -> None:
        self.sent(Sent("commit"))

    def rollback(self) -> None:
        self.sent(Sent("rollback"))

    def close(self) -> None:
        self.closed = True

    def _open(self) -> None:
        if self.closed:
            raise failure("DPY-1001", "not connected to database")


class Module(SimpleNamespace):
    """The module ``oracledb``; ``answers`` decides what each text is answered with, an exception is raised."""

    Error, DatabaseError = Error, DatabaseError
    DB_TYPE_NUMBER, DB_TYPE_DATE, DB_TYPE_VARCHAR = (SimpleNamespace(name=n) for n in ("NUMBER", "DATE", "VARCHAR"))
    __version__ = "26.1.0"

    def __init__(self, answers: Callable[[str, Any], Any] | None = None) -> None:
        super().__init__()
        self.answers = answers or (lambda *_: None)
        self.defaults = SimpleNamespace(fetch_lobs=True)
        self.log: list[Sent] = []
        self.connections: list[Connection] = []
        self.client: dict[str, Any] | None = None
        self.refusal: Exception | None = None

    def connect(self, **parameters: Any) -> Connection:
        if self.refusal is not None:
            raise self.refusal
        self.connections.append(Connection(self, parameters))
        return self.connections[-1]

    def is_thin_mode(self) -> bool:
        return self.client is None

    def init_oracle_client(self, **parameters: Any) -> None:
        if self.connections:
            raise failure("DPY-2019", "thin mode has already been enabled")
        self.client = parameters

    def clientversion(self) -> tuple[int, ...]:
        return (23, 26, 0, 0, 0)

    @property
    def texts(self) -> list[str]:
        """What was sent since the last ``forget``: texts in one line, ``commit``, ``rollback``."""
        return [" ".join(one.text.split()) or one.what for one in self.log]

    def forget(self) -> None:
        self.log.clear()
