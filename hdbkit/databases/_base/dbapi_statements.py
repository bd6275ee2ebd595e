"""Statements as commands for a driver that follows the Python DB-API (PEP 249), with its placeholders."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from hdbkit.contracts import Row
from hdbkit.lexer import STANDARD, Lexer
from hdbkit.statement import Statement

_ROW = re.compile(r"\s*INSERT\b.*\bVALUES\s*(\((?:\?|%s)(?:\s*,\s*(?:\?|%s))*\))\s*", re.DOTALL | re.IGNORECASE)
"""An INSERT of one row that is all values, with placeholders that can be repeated."""
_BLOCK = "create_routine_"
"""Statements with these names are sent whole: a body has semicolons of its own."""
_END_OF_BLOCK = re.compile(r"^/[ \t]*$", re.MULTILINE)
"""A line with a slash alone ends a command whose semicolons are its own."""


class Piece(NamedTuple):
    """One command of a statement: its text for the driver, and the names of its values in the order it takes them."""

    text: str
    names: tuple[str, ...]
    by_name: bool
    """Whether the driver takes the values as a dictionary."""

    def picker(self, parameters: Sequence[str]) -> Callable[[Sequence[Any]], Any]:
        """What makes the values that the driver takes of the values of these parameters."""
        positions = [parameters.index(name) for name in self.names]
        if self.by_name:
            return lambda values: {_placeholder(n): values[at] for n, at in zip(self.names, positions, strict=True)}
        if positions == list(range(len(parameters))):
            return list
        return (
            itemgetter(*positions)
            if len(positions) > 1
            else lambda values: [values[position] for position in positions]
        )


@dataclass(frozen=True, eq=False)
class Compiled:
    """A statement as commands for the driver."""

    name: str
    parameters: tuple[str, ...]
    pieces: tuple[Piece, ...]
    may_roll_back: bool

    @cached_property
    def calls(self) -> Callable[[Sequence[Any]], tuple[tuple[str, Any], ...]]:
        """What makes the commands of the values of all parameters, each with those that it takes."""
        pickers = [(one.text, one.picker(self.parameters)) for one in self.pieces]
        if len(pickers) == 1:
            ((text, only),) = pickers
            return lambda values: ((text, only(values)),)
        return lambda values: tuple([(text, picked(values)) for text, picked in pickers])

    @cached_property
    def width(self) -> int:
        """The number of values in a row, if the statement is nothing but an INSERT of one; else 0."""
        return len(self.pieces[0].names) if len(self.pieces) == 1 and _ROW.fullmatch(self.pieces[0].text) else 0

    def of_rows(self, count: int) -> str:
        """The text of the INSERT of one row as that of several."""
        text = self.pieces[0].text
        found = _ROW.fullmatch(text)
        assert found, f"{self.name} is not an INSERT of a row"
        return ", ".join([text, *[found[1]] * (count - 1)])


def pieces_of(text: str, lexer: Lexer = STANDARD) -> list[str]:
    """The commands of a text, which semicolons outside of quotes and comments separate, or lines with a slash."""
    ends = [one.span() for one in _END_OF_BLOCK.finditer(lexer.code(text))]
    if not ends:
        return [one.strip() for one in lexer.commands(text)]
    starts = [0, *(end for _, end in ends)]
    blocks = [text[start:end] for start, end in zip(starts, [*(start for start, _ in ends), len(text)], strict=True)]
    return [one.strip() for one in blocks if one.strip()]


def numbered(text: str, lexer: Lexer = STANDARD) -> tuple[str, int]:
    """A command with ``$1``, ``$2`` in place of its question marks, and how many there are."""
    count = lexer.code(text).count("?")
    return lexer.replaced(text, "?", (f"${number}" for number in range(1, count + 1))), count


def with_literals(text: str, values: Iterable[Any], lexer: Lexer = STANDARD) -> str:
    """A command with its values in place of its question marks, as literals of standard SQL."""
    return lexer.replaced(text, "?", map(literal, values))


def literal(value: Any) -> str:
    """A number, text, date or time as a literal."""
    if value is None:
        return "NULL"
    if isinstance(value, int | float | Decimal):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def compiled(statement: Statement, paramstyle: str) -> Compiled:
    """A statement for a driver with this ``paramstyle`` (PEP 249)."""
    whole = statement.name.startswith(_BLOCK) and not _END_OF_BLOCK.search(statement.code)
    texts = [statement.text] if whole else pieces_of(statement.text, statement.lexer)
    pieces = tuple(piece(replace(statement, text=text, declared=None), paramstyle) for text in texts)
    return Compiled(statement.name, statement.parameters, pieces, statement.may_roll_back)


def plain_piece(text: str, paramstyle: str) -> Piece:
    """A command without values, as it is."""
    escaped = text.replace("%", "%%") if paramstyle in ("format", "pyformat") else text
    return Piece(escaped, (), paramstyle in ("named", "pyformat"))


def piece(statement: Statement, paramstyle: str) -> Piece:
    """One command of a statement for a driver with this ``paramstyle``."""
    used: list[str] = []

    def mark(name: str, index: int) -> str:
        used.append(name)
        return {
            "qmark": "?",
            "format": "%s",
            "numeric": f":{index}",
            "named": f":{_placeholder(name)}",
            "pyformat": f"%({_placeholder(name)})s",
        }[paramstyle]

    text = replace(statement, text=plain_piece(statement.text, paramstyle).text).rendered(mark)
    by_name = paramstyle in ("named", "pyformat")
    once = by_name or paramstyle == "numeric"
    return Piece(text, statement.parameters if once else tuple(used), by_name)


def _placeholder(name: str) -> str:
    """The name of a value for the driver: that of no keyword, such as ``:size`` or ``:number`` would be."""
    return f"{name}_"


class ProcedureAnswer(NamedTuple):
    """The results of a procedure, each with whether it has lines, its number of columns, and its rows."""

    results: tuple[tuple[bool, int, Any], ...]

    def row(self) -> Row:
        """The one row of the answer: values, then for each column of lines a tuple."""
        values: list[Any] = []
        for has_lines, width, rows in self.results:
            if has_lines:
                values += [tuple(column) for column in zip(*rows, strict=True)][1:] or [()] * (width - 1)
            else:
                values += rows[0]
        return tuple(values)


def plain_rows(raw: Iterable[Any]) -> list[Row]:
    """Rows and answers of procedures as tuples of plain values."""
    return [row.row() if isinstance(row, ProcedureAnswer) else tuple(row) for row in raw]
