"""Statements of commands: what they send, and the rows that their replies are cut into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hdbkit.contracts import Arguments, Row
from hdbkit.databases.redis.load import Word, bulk, encoded, readers
from hdbkit.statement import Statement

WATCH = "WATCH"
_PACKED = "|"


class CommandStep:
    """A statement of commands, whose keys begin with ``prefix``.

    A statement has a command in each line. Its words are those of a bulk load, with ``$name`` for a parameter. The
    values in the replies, without those of WATCH, are cut into rows of the columns that the statement returns.
    """

    def __init__(self, statement: Statement, prefix: str) -> None:
        positions = {name: position for position, name in enumerate(statement.parameters)}
        self._pieces: list[bytes | Word] = []
        commands = [line.split() for line in statement.text.splitlines()]
        for name, *words in commands:
            if words:
                words[0] = prefix + words[0]
            self._add(b"*%d\r\n%b" % (1 + len(words), bulk(name.encode())))
            for word in words:
                made = Word(word, positions)
                self._add(bulk(made.filled(())) if made.is_constant else made)
        self.commands = len(commands)
        self.watches = any(name == WATCH for name, *_ in commands)
        self._answering = [number for number, (name, *_) in enumerate(commands) if name != WATCH]
        columns = [column.split(_PACKED) for column in statement.returns]
        self._columns = [(len(names) - 1, readers(tuple(names))) for names in columns]

    def _add(self, piece: bytes | Word) -> None:
        """Constant words that follow each other are one piece."""
        if self._pieces and isinstance(piece, bytes) and isinstance(last := self._pieces[-1], bytes):
            self._pieces[-1] = last + piece
        else:
            self._pieces.append(piece)

    def encoded(self, arguments: Arguments) -> bytes:
        """The commands in the protocol."""
        values = [encoded(value) for value in arguments]
        return b"".join(one if isinstance(one, bytes) else bulk(one.filled(values)) for one in self._pieces)

    def rows(self, replies: list[Any]) -> list[Row]:
        """The rows in the replies to the commands; a row of nulls alone is none."""
        values = [*_values([replies[number] for number in self._answering])]
        width = len(self._columns)
        cut = [values[low : low + width] for low in range(0, len(values), width or 1)]
        return [self._row(row) for row in cut if any(value is not None for value in row)]

    def _row(self, values: list[str | None]) -> Row:
        found: list[Any] = []
        for value, (splits, converts) in zip(values, self._columns, strict=True):
            if splits and value is not None:
                found += [read(one) for read, one in zip(converts, value.split(_PACKED, splits), strict=True)]
            else:
                found += [read(value) for read in converts]
        return tuple(found)


def _values(replies: list[Any]) -> Iterator[Any]:
    for reply in replies:
        if isinstance(reply, list):
            yield from _values(reply)
        else:
            yield reply
