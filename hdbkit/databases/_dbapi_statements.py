"""Statements as commands for a driver that follows the Python DB-API (PEP 249), with its placeholders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from hdbkit.sql import Statement

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|;|[^'\";/-]+|.", re.DOTALL)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_ROW = re.compile(r"\s*INSERT\b.*\bVALUES\s*(\((?:\?|%s)(?:\s*,\s*(?:\?|%s))*\))\s*", re.DOTALL | re.IGNORECASE)
"""An INSERT of one row that is all values, with placeholders that can be repeated."""
_BLOCK = "create_routine_"
"""Statements with these names are sent whole: a body has semicolons of its own."""


class Piece(NamedTuple):
    """One command of a statement: its text for the driver, and the names of its values in the order it takes them."""

    text: str
    names: tuple[str, ...]
    by_name: bool
    """Whether the driver takes the values as a dictionary."""

    def given(self, values: Mapping[str, Any]) -> Any:
        """The values as the driver takes them."""
        return {name: values[name] for name in self.names} if self.by_name else [values[name] for name in self.names]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A statement as commands for the driver."""

    name: str
    parameters: tuple[str, ...]
    pieces: tuple[Piece, ...]
    may_roll_back: bool

    @cached_property
    def row(self) -> str:
        """The placeholders of a row, if the statement is nothing but an INSERT of one; else empty."""
        found = _ROW.fullmatch(self.pieces[0].text) if len(self.pieces) == 1 else None
        return found[1] if found else ""

    def of_rows(self, count: int) -> Compiled:
        """The INSERT of one row as that of several, whose values follow each other."""
        (one,) = self.pieces
        text = ", ".join([one.text, *[self.row] * (count - 1)])
        return replace(self, pieces=(one._replace(text=text, names=one.names * count),))


def pieces_of(text: str) -> list[str]:
    """The commands of a text, which semicolons outside of quotes and comments separate."""
    found = [""]
    for part in _TOKEN.findall(text):
        if part == ";":
            found.append("")
        else:
            found[-1] += part
    return [one.strip() for one in found if _COMMENT.sub("", one).strip()]


def compiled(statement: Statement, paramstyle: str) -> Compiled:
    """A statement for a driver with this ``paramstyle`` (PEP 249)."""
    whole = statement.name.startswith(_BLOCK)
    texts = [statement.text] if whole else pieces_of(statement.text)
    pieces = tuple(piece(Statement("", text, statement.origin, ""), paramstyle) for text in texts)
    return Compiled(statement.name, statement.parameters, pieces, statement.may_roll_back)


def plain(text: str, paramstyle: str) -> Piece:
    """A command without values, as it is."""
    escaped = text.replace("%", "%%") if paramstyle in ("format", "pyformat") else text
    return Piece(escaped, (), paramstyle in ("named", "pyformat"))


def piece(statement: Statement, paramstyle: str) -> Piece:
    """One command of a statement for a driver with this ``paramstyle``."""
    used: list[str] = []

    def place(name: str, index: int) -> str:
        used.append(name)
        return {
            "qmark": "?",
            "format": "%s",
            "numeric": f":{index}",
            "named": f":{name}",
            "pyformat": f"%({name})s",
        }[paramstyle]

    escaped = plain(statement.text, paramstyle).text
    text = Statement("", escaped, statement.origin, "").rendered(place)
    by_name = paramstyle in ("named", "pyformat")
    once = by_name or paramstyle == "numeric"
    return Piece(text, statement.parameters if once else tuple(used), by_name)
