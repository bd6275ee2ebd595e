"""Values as SQL literals, and results as plain values.

Arrays are sent as JSON text, and routines return their whole result as JSON text (``schemas/mysql``: ``heading`` and
``lines``). Numbers with a decimal point become Decimal, and text in the format of a timestamp becomes datetime.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from MySQLdb.constants import FIELD_TYPE

from hdbkit.contracts import Row

CONVERTERS: dict[int, Callable[[Any], Any]] = {
    **dict.fromkeys((FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG), int),
    **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE), float),
    **dict.fromkeys((FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL), Decimal),
    FIELD_TYPE.DATE: date.fromisoformat,
    **dict.fromkeys((FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP), datetime.fromisoformat),
    **dict.fromkeys((FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR, FIELD_TYPE.JSON), str),
    **dict.fromkeys((FIELD_TYPE.TINY_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB), str),
}
"""The conversion of each column type."""

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")


def _text(value: Any) -> bytes:
    return b"'%b'" % str(value).replace("\\", "\\\\").replace("'", "''").encode()


def _array(values: Any) -> bytes:
    """Arrays of integers, the common case, are written as Python lists, which takes a third of the time."""
    if {*map(type, values)} == {int}:
        return b"'%b'" % str(list(values)).encode()
    return _text(json.dumps(values, default=str))


ENCODERS: defaultdict[type, Callable[[Any], bytes]] = defaultdict(
    lambda: _text,
    {
        type(None): lambda _: b"NULL",
        int: b"%d".__mod__,
        bool: b"%d".__mod__,
        float: lambda value: repr(value).encode(),
        Decimal: lambda value: format(value, "f").encode(),
        tuple: _array,
        list: _array,
    },
)
"""By type, the conversion of a value to a literal."""


def result_of(raw: Any) -> tuple[str, list[Row]]:
    """The name of the first column and the rows of a stored result."""
    raw.data_seek(0)
    return raw.describe()[0][0], list(raw.fetch_row(0))


def plain(name: str, rows: list[Row]) -> list[Row]:
    """The rows; if the first column is ``heading``, the JSON result of a routine is decoded."""
    return [_answer(*row) for row in rows] if name == "heading" else rows


def _answer(heading: str, lines: str | None = None) -> Row:
    """Decode a routine's result: ``heading`` has a value or an array per field, ``lines`` a list of fields."""
    fields = [_value(value) for value in json.loads(heading, parse_float=Decimal)]
    if lines is None:
        return tuple(fields)
    by_line = json.loads(lines, parse_float=Decimal)
    return (*fields, *(tuple(map(_value, field)) for field in zip(*by_line, strict=True)))


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_value, value))
    return datetime.fromisoformat(value) if isinstance(value, str) and _TIME.fullmatch(value) else value
