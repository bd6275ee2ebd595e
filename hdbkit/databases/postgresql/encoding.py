"""Values of Python as the texts and bytes of libpq's protocol."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from hdbkit.contracts import Row
from hdbkit.statement import Statement


def _encoded(value: Any) -> bytes | None:
    """A value in the server's text format."""
    return ENCODER_OF[type(value)](value)


def _null(_: None) -> None:
    return None


def _text(value: Any) -> bytes:
    return str(value).encode()


def _array(values: Sequence[Any]) -> bytes:
    """Arrays of integers, the common case, are written as Python lists, which takes a third of the time."""
    if {*map(type, values)} == {int}:
        return b"{%b}" % str(values).strip("[(,)]").encode()
    return b"{%b}" % b",".join(map(_element, values))


def _element(value: Any) -> bytes:
    text = _encoded(value)
    if text is None:
        return b"NULL"
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


ENCODER_OF: defaultdict[type, Callable[[Any], bytes | None]] = defaultdict(
    lambda: _text, {type(None): _null, int: b"%d".__mod__, str: str.encode, tuple: _array, list: _array}
)


def filled_in(statement: Statement, arguments: dict[str, Any]) -> tuple[bytes, list[bytes | None]]:
    """The text of a statement with numbered parameters, and their values encoded."""
    if not arguments:
        return _as_it_is(statement), []
    filled = statement.filled(arguments)
    text = filled.rendered(lambda _, index: f"${index}")
    return text.encode(), [_encoded(arguments[name]) for name in filled.parameters]


@cache
def _as_it_is(statement: Statement) -> bytes:
    return statement.filled({}).rendered(lambda name, _: f":{name}").encode()


def plain_row(row: Row) -> Row:
    """A row whose arrays are tuples."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)
