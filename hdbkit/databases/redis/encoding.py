"""How values are stored in Redis: the forms in parentheses of ``-- returns:`` lines and of load commands.

Without a form a value is a text. ``(integer)`` is a whole number, ``(last)`` that behind the last comma of a text,
``(100)`` a decimal in that fraction of one (cents), ``(time)`` a point in time in microseconds since 1970, UTC. Null
is an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache, partial
from typing import Any

Convert = Callable[[Any], Any]
_NULL = b""
_COLUMN = re.compile(r"\w+(?:\((\w+)\))?")
_EPOCH = datetime(1970, 1, 1)  # without a zone, as databases have it
_MICROSECOND = timedelta(microseconds=1)


def encoded(value: Any) -> bytes:
    """An argument of a script."""
    if value is None:
        return _NULL
    if isinstance(value, tuple):
        return b",".join(map(encoded, value))
    return (value.isoformat(" ") if isinstance(value, datetime) else str(value)).encode()


@cache
def readers(returns: tuple[str, ...]) -> tuple[Convert, ...]:
    """What converts the columns of a result, such as ``amount(100)``, from JSON."""
    return tuple(_reader(_form(column)) for column in returns)


def _form(column: str) -> str:
    found = _COLUMN.fullmatch(column)
    assert found, f"'{column}' is not a column of a result"
    return found[1] or ""


@cache
def _reader(form: str) -> Convert:
    one = _READERS[form] if form in _READERS else _decimal(int(form))

    def read(value: Any) -> Any:
        if isinstance(value, list | dict):  # an empty array is {} in the server's JSON
            return tuple(map(read, value))
        return None if value is None or (form and value == "") else one(value)

    return read


def _text(value: Any) -> Any:
    return value


def _last(value: str) -> int:
    return int(value.rpartition(",")[2])


def _time(value: str) -> datetime:
    return _EPOCH + int(value) * _MICROSECOND


_READERS: dict[str, Convert] = {"": _text, "integer": int, "last": _last, "time": _time}


def _decimal(fraction: int) -> Convert:
    exponent = -(len(str(fraction)) - 1)
    return lambda value: Decimal(value).scaleb(exponent)


def storer(form: str | None) -> Callable[[bytes], bytes] | None:
    """What converts a value of a bulk load, which is text, to the form in which it is stored; None: nothing."""
    if form is None:
        return None
    return _stored_time if form == "time" else partial(_scaled, int(form))


def _scaled(fraction: int, text: bytes) -> bytes:
    """In whole cents, for example; exact below 10^13, as floating-point numbers are."""
    return b"%d" % round(float(text) * fraction) if text else text


@lru_cache(maxsize=1024)
def _stored_time(text: bytes) -> bytes:
    return b"%d" % ((datetime.fromisoformat(text.decode()) - _EPOCH) // _MICROSECOND) if text else text
