"""Bulk load: rows of tab-separated text as commands in Redis's protocol, by the table's ``load_<table>`` commands.

A chunk is converted column by column, and while the server carries out one chunk the next is made. Each command sets
fields, members or a key, so that a part can be loaded again; a list is removed before its first row of a load.

Without a form a value is a text. ``(integer)`` is a whole number, ``(last)`` that behind the last comma of a text,
``(100)`` a decimal in that fraction of one (cents), ``(time)`` a point in time in microseconds since 1970, UTC. Null
is an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache, partial
from itertools import groupby, islice, repeat
from operator import itemgetter
from typing import Any

from hdbkit.errors import InputError

_Column = Sequence[bytes]
_REFERENCE = re.compile(r"\$(\w+)(?:\((\w+)\))?")
_ESCAPED = re.compile(rb"\\(.)")
_CONTROLS = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"N": b""}
_LIST = b"RPUSH"
_ROWS = 500
"""The largest number of rows in one command."""


class Loader:
    """Makes the commands that load one table; ``columns`` are those of the rows, ``prefix`` is that of the keys."""

    def __init__(self, table: str, commands: Sequence[str], columns: Sequence[str], prefix: str) -> None:
        positions = {name: position for position, name in enumerate(columns)}
        unknown = {found[1] for line in commands for found in _REFERENCE.finditer(line)} - positions.keys()
        if unknown:
            raise InputError(f"load_{table}: the rows have no column '{sorted(unknown)[0]}'")
        self._commands = [_Command(line.split(), positions, prefix) for line in commands]

    def keyed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """The commands for a chunk of rows, with their keys."""
        lines = chunk.removesuffix(b"\n").split(b"\n")
        columns: list[_Column] = list(zip(*(line.split(b"\t") for line in lines), strict=True))
        if b"\\" in chunk:
            columns = [
                [_ESCAPED.sub(_unescaped, v) for v in one] if b"\\" in b"".join(one) else one for one in columns
            ]
        return [made for command in self._commands for made in command.encoded(columns)]


class _Command:
    """One line: command, key, and words that are repeated for rows with the same key."""

    def __init__(self, words: list[str], positions: dict[str, int], prefix: str) -> None:
        self._name = words[0].encode()
        self._key = Word(prefix + words[1], positions)
        self._values = [Word(word, positions) for word in words[2:]]
        self._removed: set[bytes] = set()

    def encoded(self, columns: Sequence[_Column]) -> Iterator[tuple[bytes, bytes]]:
        form, parts = b"", list[Iterable[Any]]()
        for made in (value.of(columns) for value in self._values):
            if isinstance(made, bytes):
                form += bulk(made).replace(b"%", b"%%")
            elif len(sizes := {*map(len, made)}) == 1:
                form += b"$%d\r\n%%b\r\n" % sizes.pop()
                parts.append(made)
            else:
                form += b"$%d\r\n%b\r\n"
                parts += [map(len, made), made]
        tails = map(form.__mod__, zip(*parts, strict=True)) if parts else repeat(form % (), len(columns[0]))
        keys = self._key.of(columns)
        if isinstance(keys, bytes):
            yield from self._of_key(keys, tails)
            return
        for key, run in groupby(zip(keys, tails, strict=True), key=itemgetter(0)):
            yield from self._of_key(key, map(itemgetter(1), run))

    def _of_key(self, key: bytes, tails: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
        if self._name == _LIST and key not in self._removed:
            self._removed.add(key)
            yield key, packed(b"DEL", key)
        while some := list(islice(tails, _ROWS)):
            words = 2 + len(self._values) * len(some)
            yield key, b"*%d\r\n%b%b%b" % (words, bulk(self._name), bulk(key), b"".join(some))


class Word:
    """A word of a command, with values of columns in it."""

    def __init__(self, text: str, positions: dict[str, int]) -> None:
        pieces = _REFERENCE.split(text)
        self._form = b"%b".join(piece.replace("%", "%%").encode() for piece in pieces[::3])
        self._used = [(positions[name], storer(how)) for name, how in zip(pieces[1::3], pieces[2::3], strict=True)]

    def of(self, columns: Sequence[_Column]) -> bytes | _Column:
        """The word of each row; only one if all have the same."""
        used = [(columns[at], store) for at, store in self._used]
        if all(column[0] == column[-1] and column.count(column[0]) == len(column) for column, _ in used):
            return self._form % tuple(store(column[0]) if store else column[0] for column, store in used)
        values = [list(map(store, column)) if store else column for column, store in used]
        return values[0] if self._form == b"%b" else list(map(self._form.__mod__, zip(*values, strict=True)))

    @property
    def is_constant(self) -> bool:
        """Whether there are no values in it."""
        return not self._used

    def filled(self, values: Sequence[bytes]) -> bytes:
        """The word of one row, by position."""
        return self._form % tuple([store(values[at]) if store else values[at] for at, store in self._used])


def is_tagged(command: str) -> bool:
    """Whether the key of a command has a hash tag."""
    return "{" in command.split()[1]


def _unescaped(found: re.Match[bytes]) -> bytes:
    return _CONTROLS.get(found[1], found[1])


def bulk(word: bytes) -> bytes:
    """A word in the protocol."""
    return b"$%d\r\n%b\r\n" % (len(word), word)


def packed(*words: bytes) -> bytes:
    """A command in the protocol."""
    return b"*%d\r\n%b" % (len(words), b"".join(map(bulk, words)))


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
