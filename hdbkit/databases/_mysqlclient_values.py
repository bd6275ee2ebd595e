"""Values as the server reads them in a statement, and results as plain values.

An array goes out as JSON text. It comes back as JSON text in a column whose name is its type and ``[]``, such as
``numeric[]``: a list in its order, or an object ``{"2": ..., "1": ...}`` whose keys are the places.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from MySQLdb.constants import FIELD_TYPE

from hdbkit.contracts import Row

CONVERTERS: dict[int, Callable[[Any], Any]] = {
    **dict.fromkeys((FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG), int),
    **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE), float),
    **dict.fromkeys((FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL), Decimal),
    **dict.fromkeys((FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP), datetime.fromisoformat),
    **dict.fromkeys((FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR, FIELD_TYPE.JSON), str),
    **dict.fromkeys((FIELD_TYPE.TINY_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB), str),
}
"""What the driver makes of each type of column."""

_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "integer[]": int,
    "numeric[]": Decimal,
    "text[]": str,
    "timestamp[]": datetime.fromisoformat,
}


def _text(value: Any) -> bytes:
    return b"'%b'" % str(value).replace("\\", "\\\\").replace("'", "''").encode()


def _array(values: Any) -> bytes:
    """Whole numbers, which most arrays hold, are written as Python writes a list: that takes a third of the time."""
    if {*map(type, values)} == {int}:
        return b"'%b'" % str(list(values)).encode()
    return _text(json.dumps(values, default=str))


_ENCODERS: defaultdict[type, Callable[[Any], bytes]] = defaultdict(
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


def encoded(value: Any) -> bytes:
    """A value as a literal."""
    return _ENCODERS[type(value)](value)


def plain(raw: Any) -> list[Row]:
    """The rows of a stored result; arrays become tuples."""
    raw.data_seek(0)
    rows: tuple[Row, ...] = raw.fetch_row(0)
    arrays = {place: _ARRAYS[about[0]] for place, about in enumerate(raw.describe()) if about[0] in _ARRAYS}
    if not arrays:
        return list(rows)
    return [
        tuple(_elements(value, arrays[place]) if place in arrays else value for place, value in enumerate(row))
        for row in rows
    ]


def _elements(text: str, made: Callable[[Any], Any]) -> tuple[Any, ...]:
    content = json.loads(text, parse_float=str)
    if isinstance(content, dict):
        content = [content[place] for place in sorted(content, key=int)]
    return tuple(None if value is None else made(value) for value in content)
