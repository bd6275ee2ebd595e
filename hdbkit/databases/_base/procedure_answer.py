"""The answer of a stored procedure that returns several results: the values of one row, and rows of lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from hdbkit.contracts import Row


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
