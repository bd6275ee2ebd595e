"""A session with python-oracledb, on Oracle Database or another engine that its client library connects to.

A stored routine is an anonymous block with OUT values, which its statement declares: ``-- returns: o_id(integer)``. A
command outside a transaction commits in its own round trip (autocommit), so a call of a routine is one round trip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache, partial
from typing import Any, Final, NamedTuple, NoReturn

from hdbkit.contracts import Arguments, Row, Scope, Table
from hdbkit.databases._base.dbapi import DbapiDatabase
from hdbkit.databases._base.dbapi_session import Bound, DbapiSession
from hdbkit.databases._base.dbapi_statements import Compiled, Piece
from hdbkit.databases._oracledb.connect import code_and_text, driver
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.sql import in_scope

PLSQL: Final = "plsql"
"""The folder of the routines, which other engines with PL/SQL use too."""
ORACLE_BY_DESIGN: Final = "ORA-20001"
"""The error with which a routine reports a rollback by design."""
_COMPILED_WITH_ERRORS: Final = "ORA-24344"
_INSERT: Final = re.compile(r"\s*INSERT\b", re.IGNORECASE)
_ELEMENTS: Final = 15
"""The length of an array: the lines of an order."""
_TEXT_BYTES: Final = 2000
_ROWS_FETCHED: Final = 100
"""Rows that come with the answer to a query; more need further round trips."""
_WHOLE_TABLE: Final = 1 << 62
"""A direct-path insert must be the only one into its table in a transaction (ORA-12838)."""


class Out(NamedTuple):
    """A value that a block sets: its type for the driver, how it is read, and whether it is an array."""

    name: str
    type: type
    read: Callable[[Any], Any]
    is_array: bool

    def received(self, value: Any) -> Any:
        """The value as its plain value; of an array a tuple."""
        if self.is_array:
            return tuple(None if one is None else self.read(one) for one in value or ())
        return None if value is None else self.read(value)


@dataclass(frozen=True)
class _Block:
    """An anonymous block with its cursor and its variables, which all its calls use."""

    text: str
    cursor: Any
    outs: tuple[Out, ...]
    parameters: tuple[str, ...]
    variables: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the variables of what it sets."""
        for out in self.outs:
            make = self.cursor.arrayvar if out.is_array else self.cursor.var
            size = (_ELEMENTS, _TEXT_BYTES) if out.is_array else (_TEXT_BYTES,)
            self.variables[out.name] = make(out.type, *size)

    def called(self, values: Sequence[Any]) -> list[Row]:
        """Call it; what it set, as a row."""
        given = {f"{out.name}_": self.variables[out.name] for out in self.outs}
        for name, value in zip(self.parameters, values, strict=True):
            given[f"{name}_"] = self._array(name, value) if isinstance(value, tuple) else value
        self.cursor.execute(self.text, given)
        return [tuple(out.received(self.variables[out.name].getvalue()) for out in self.outs)]

    def _array(self, name: str, value: tuple[Any, ...]) -> Any:
        """The variable of an array of whole numbers, with these values."""
        if name not in self.variables:
            self.variables[name] = self.cursor.arrayvar(int, _ELEMENTS)
        self.variables[name].setvalue(0, list(value))
        return self.variables[name]


class _Call(NamedTuple):
    """A call of a block, with its values."""

    statement: Compiled
    block: _Block
    values: Sequence[Any]


class _Rows(NamedTuple):
    """An INSERT with several rows of values, sent as one array."""

    statement: Compiled
    text: str
    values: list[Any]
    cursor: Any


class OracleSession(DbapiSession):
    """A connection. Contract: :class:`hdbkit.contracts.SqlSession`."""

    autocommits = returns_changed = True
    rows_per_call = 10_000
    path = ""
    """How the driver is connected, such as its mode; part of what makes results comparable."""

    def __init__(self, connection: Any, engine: DbapiDatabase, scope: Scope) -> None:
        super().__init__(connection, engine, scope)
        connection.autocommit = True
        connection.outputtypehandler = _numbers
        self._blocks: dict[str, _Block] = {}

    def load_directly(self) -> None:
        """Load by direct path from now on: past the buffer cache, and with the table locked until the commit."""
        self.insertion, self.rows_per_call = "insert_row_directly", _WHOLE_TABLE

    def client_path(self) -> str:
        """The driver, and how it is connected."""
        return f"{self.engine.driver} {self.path}"

    def query(self, statement: str, /, **arguments: Any) -> list[Row]:
        """The rows of a named statement, committed unless a transaction is open; what a block sets is a row."""
        if not in_scope(self._own, self.engine.dialects, statement).returns:
            return super().query(statement, **arguments)
        self.prepare([statement])
        values = [arguments[name] for name in self._prepared[statement][0].parameters]
        return self.rows(self._guarded(self._sent, self.bind(statement, tuple(values))))

    ask = query

    def prepare(self, statements: Iterable[str]) -> None:
        """Prepare named statements, each once; a block with its variables."""
        names = [name for name in dict.fromkeys(statements) if name not in self._prepared]
        super().prepare(names)
        for name in names:
            found = in_scope(self._own, self.engine.dialects, name)
            if found.returns:
                known, cursor = self._prepared[name]
                outs = tuple(map(_out, found.returns))
                self._blocks[name] = self._guarded(_Block, known.pieces[0].text, cursor, outs, found.parameters)

    def bind(self, statement: str, arguments: Arguments) -> Any:
        block = self._blocks.get(statement)
        return (
            super().bind(statement, arguments)
            if block is None
            else _Call(self._prepared[statement][0], block, arguments)
        )

    def _whole(self, bound: Sequence[Any], send: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """Begin, run the calls and commit; a single call of a block commits itself."""
        if len(bound) == 1 and isinstance(bound[0], _Call):
            return list(self._guarded(send, bound))
        return super()._whole(bound, send)

    def _sent(self, bound: Any) -> Any:
        """Send the commands of a call; return the rows of the last that has any, or what a block set."""
        if isinstance(bound, _Call):
            return bound.block.called(bound.values)
        if isinstance(bound, _Rows):
            bound.cursor.executemany(bound.text, bound.values)
            return []
        rows: Any = []
        for text, values in bound.calls:
            rows = super()._sent(bound._replace(calls=((text, values),))) or rows
            if bound.cursor.warning is not None:
                self.raise_compile_errors()
        return rows

    def _continues(self, run: Sequence[Any], one: Any) -> bool:
        return _is_insert(one) and _is_insert(run[0])

    def _as_one(self, run: Sequence[Any]) -> Any:
        ((text, _),) = run[0].calls
        return _Rows(run[0].statement, text, [values for one in run for _, values in one.calls], run[0].cursor)

    def raise_compile_errors(self) -> NoReturn:
        """A command that creates a package succeeds although its text has errors; it could never run."""
        found = super().query("compile_errors")
        text = str(found[0][0]) if found else "the server reports no further reason"
        raise TransactionError(ErrorClass.OTHER, _COMPILED_WITH_ERRORS, f"compiled with errors: {text}")

    def _insert_each(self, table: Table, head: str, one: Piece, cursor: Any, rows: Sequence[bytes]) -> None:
        """By an array, whose types are known where the table states them; a null at first would be taken for text."""
        known = {"integer": int, "decimal": Decimal, "timestamp": datetime, "date": datetime}
        cursor.setinputsizes(*(known.get(name) for name in table.types))
        cursor.executemany(f"{head} ({one.text})", list(self._values(table, rows)))

    def _cursor(self) -> Any:
        """A cursor whose small results come with the answer."""
        cursor = self.connection.cursor()
        cursor.arraysize, cursor.prefetchrows = _ROWS_FETCHED, _ROWS_FETCHED + 1
        return cursor

    def _begin(self) -> None:
        self.connection.autocommit = False

    def _commit(self) -> None:
        self.connection.commit()
        self.connection.autocommit = True

    def _rollback(self) -> None:
        self.connection.rollback()
        self.connection.autocommit = True

    def _raise_error(self, error: Exception) -> NoReturn:
        code, text = code_and_text(error)
        if code == ORACLE_BY_DESIGN:
            self._undo()
            raise RolledBackByDesign(text) from None
        super()._raise_error(error)


def _is_insert(bound: Any) -> bool:
    """Whether it is one INSERT without nulls: the driver takes a null at first for a text."""
    if not isinstance(bound, Bound) or len(bound.calls) != 1:
        return False
    ((text, values),) = bound.calls
    return _INSERT.match(text) is not None and None not in values.values()


@cache
def _out(declared: str) -> Out:
    """What ``total(decimal.2)`` declares; ``[]`` at the end of the type is an array."""
    name, _, kind = declared.removesuffix(")").partition("(")
    is_array, kind = kind.endswith("[]"), kind.removesuffix("[]")
    word, _, decimals = kind.partition(".")
    read: Callable[[Any], Any] = partial(_rounded, Decimal(1).scaleb(-int(decimals))) if decimals else _as_it_is
    types: Mapping[str, type] = {"integer": int, "decimal": Decimal, "text": str, "timestamp": datetime}
    return Out(name, types[word], read, is_array)


def _numbers(cursor: Any, column: Any) -> Any:
    """How the numbers of a column are read: exactly, with all decimals; a computed one without any is an int."""
    if column.type_code is not driver().DB_TYPE_NUMBER:
        return None
    if column.scale == 0 and column.precision:
        return cursor.var(int, arraysize=cursor.arraysize)
    read = partial(_rounded, Decimal(1).scaleb(-column.scale)) if (column.scale or 0) > 0 else _computed
    return cursor.var(Decimal, arraysize=cursor.arraysize, outconverter=read)


def _rounded(unit: Decimal, value: Decimal) -> Decimal:
    return value.quantize(unit)


def _computed(value: Decimal) -> int | Decimal:
    return int(value) if value == value.to_integral_value() else value


def _as_it_is(value: Any) -> Any:
    return value
