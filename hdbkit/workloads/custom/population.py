"""The rows that a user-defined workload loads: one value per column, drawn by the same variables as in a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from hdbkit.config.specs.custom import CustomSpec
from hdbkit.config.specs.definition import Number, evaluated
from hdbkit.contracts import Check, CheckSession, Part, PartLoad, PlannedCheck, StatementLoad, Table, TableLoad
from hdbkit.sql import ANSI
from hdbkit.statement import Statement
from hdbkit.workloads.checking import all_there
from hdbkit.workloads.custom.variables import Drawing

_PART_ROWS: Final = 100_000
_CHUNK_ROWS: Final = 5_000
_LOAD: Final = "load_"
"""What the names of statements that load begin with."""
_COLUMN_BYTES: Final = 12
"""The assumed size of a value as text, for the estimate of a build."""


def parts(spec: CustomSpec, dialects: tuple[str, ...]) -> list[Part]:
    """Pieces of at most 100,000 rows of one table, named ``accounts-0``, ``accounts-1``, then each ``load_...``."""
    found = []
    for table, content in spec.definition.tables.items():
        rows = _rows_of(spec, table)
        for at in range(-(-rows // _PART_ROWS)):
            size = min(_PART_ROWS, rows - at * _PART_ROWS)
            found.append(Part(f"{table}-{at}", size, size * _COLUMN_BYTES * len(content.columns)))
    return [*found, *(Part(name, 0, 0, alone=True) for name in sorted(_loading(spec, dialects or (ANSI,))))]


def part(spec: CustomSpec, tables: dict[str, Table], key: str) -> Iterator[PartLoad]:
    """The rows of a part."""
    if key in _loading(spec, spec.statements):
        yield StatementLoad(key)
        return
    table, _, number_text = key.rpartition("-")
    first = int(number_text) * _PART_ROWS
    rows = min(_PART_ROWS, _rows_of(spec, table) - first)
    yield TableLoad(tables[table], _chunks(spec, table, first, rows))


def _loading(spec: CustomSpec, dialects: Iterable[str]) -> set[str]:
    return {name for one in dialects for name in spec.statements.get(one, {}) if name.startswith(_LOAD)}


def _rows_of(spec: CustomSpec, table: str) -> int:
    """The number of rows of a table."""
    return int(evaluated(spec.definition.tables[table].rows, spec.parameters))


def _chunks(spec: CustomSpec, table: str, first: int, rows: int) -> Iterator[bytes]:
    definition = spec.definition
    index = list(definition.tables).index(table)
    generator = np.random.default_rng([spec.seed, index, first])
    drawing = Drawing(spec.parameters, generator, first_row=first)
    draws = {
        value: drawing.of(f"{table}.{value}", definition.variables[value])
        for value in definition.tables[table].columns.values()
        if isinstance(value, str) and value in definition.variables
    }
    for start in range(first, first + rows, _CHUNK_ROWS):
        count = min(_CHUNK_ROWS, first + rows - start)
        drawn = {name: draw(count) for name, draw in draws.items()}
        columns = [_column(value, drawn, start, count) for value in definition.tables[table].columns.values()]
        yield "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)).encode()


def _column(value: str | Number | None, drawn: dict[str, list[Any]], start: int, count: int) -> list[str]:
    if isinstance(value, str) and value in drawn:
        return [load_text(one) for one in drawn[value]]
    if value == "row":
        return [str(number) for number in range(start + 1, start + count + 1)]
    return [load_text(value)] * count


def load_text(value: Any) -> str:
    """A value in the text of a bulk load, as ``SqlSession.load`` takes it."""
    if value is None:
        return r"\N"
    text = str(value)
    for mark, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(mark, written)
    return text


_CHECK, _INDEX = "check_", "index_"


def checks(spec: CustomSpec, statements: Mapping[str, Statement]) -> list[PlannedCheck]:
    """One per table and per statement ``check_...``, which returns a number of errors; the indexes of a build."""
    indexes = tuple(name.removeprefix(_INDEX) for name in statements if name.startswith(_INDEX))
    return [
        *(
            PlannedCheck(f"rows of {table}", partial(_rows, spec=spec, table=table))
            for table in spec.definition.tables
        ),
        *([all_there("indexes", indexes)] if indexes else []),
        *(
            PlannedCheck(name.removeprefix(_CHECK), partial(_own, statement=one))
            for name, one in statements.items()
            if name.startswith(_CHECK)
        ),
    ]


def _rows(session: CheckSession, *, spec: CustomSpec, table: str) -> Check:
    rows, wanted = int(session.ask("count_rows", table=table)[0][0]), _rows_of(spec, table)
    return Check(f"rows of {table}", rows >= wanted, f"{rows:,}, at least {wanted:,} expected")


def _own(session: CheckSession, *, statement: Statement) -> Check:
    wrong = int(session.ask(statement.name)[0][0] or 0)
    found = "holds" if not wrong else f"{wrong:,} wrong"
    detail = ": ".join(filter(None, [statement.description, found]))
    return Check(statement.name.removeprefix(_CHECK), wrong == 0, detail)
