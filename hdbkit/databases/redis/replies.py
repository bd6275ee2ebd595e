"""Replies of Redis' protocol (RESP), read from a stream."""

from __future__ import annotations

from typing import Any, BinaryIO


class Failure(str):
    """The text of an error among replies."""


def read_reply(stream: BinaryIO) -> Any:
    """One reply: a text, None, a list of replies, or a :class:`Failure`. Raises ``EOFError`` at the end."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    kind, rest = line[:1], line[1:-2]
    if kind == b"$":
        return None if rest == b"-1" else _text(stream, int(rest))
    if kind == b"*":
        count = int(rest)
        return None if count < 0 else [read_reply(stream) for _ in range(count)]
    return Failure(rest.decode(errors="replace")) if kind == b"-" else rest.decode()


def _text(stream: BinaryIO, size: int) -> str:
    text = stream.read(size + 2)
    if len(text) < size + 2:
        raise EOFError
    return text[:-2].decode()
