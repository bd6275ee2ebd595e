"""Verified answers: each query's rows against those of DuckDB on the same data, with the same parameters.

The data of a scale factor are the same everywhere, so a database of the same scale is made here, once, in a temporary
file. The texts of the queries are those of each engine. What no query reads is found by a checksum of each column.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from functools import cached_property, partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from hdbkit.config import Target
from hdbkit.config.specs.tproc_h import QUERIES, Indexes, TprocHSpec
from hdbkit.contracts import Capability, Check, CheckSession, PlannedCheck, Row, Session
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.workloads import workload
from hdbkit.workloads.checking import all_there, divided
from hdbkit.workloads.tproc_h import population
from hdbkit.workloads.tproc_h.streams import SubstitutionValues, drawn
from hdbkit.workloads.tproc_h.tables import SUMMED, TPROC_H_TABLES, lines_at, sums_at

MAX_SCALE: Final = 1.0
"""Up to this scale factor the reference is made in about a minute."""
_REFERENCE: Final = "duckdb"
_CENT: Final = Decimal("0.01")
_SHARE, _MAX_SHARE = Decimal("0.0001"), Decimal("0.01")
"""How far a quotient may be from the reference, and where it has few digits (TPC-H 2.1.3.5)."""
_RATIOS: Final[Mapping[str, tuple[int, ...]]] = {"q01": (6, 7, 8), "q08": (1,), "q14": (0,), "q17": (0,)}
"""By query, its columns that are quotients: engines compute them with different numbers of digits."""
_ORDER: Final[Mapping[str, tuple[int, ...]]] = {
    **{"q01": (0, 1), "q02": (0, 2, 1, 3), "q03": (1, 2), "q04": (0,), "q05": (1,), "q07": (0, 1, 2), "q08": (0,)},
    **{"q09": (0, 1), "q10": (2,), "q11": (1,), "q12": (0,), "q13": (1, 0), "q15": (0,), "q16": (3, 0, 1, 2)},
    **{"q18": (4, 3), "q20": (0,), "q21": (1, 0), "q22": (0,)},
}
"""By query, the columns by which it is ordered."""
_ROWS_AT_ONCE: Final = 20_000
_KEYS_PER_ORDER: Final = 4
"""The generator uses the first 8 of each 32 keys."""
_ROWS_PER_KEY: Final[Mapping[str, int]] = {"partsupp": 4}
_SHOWN: Final = 200


def checks(spec: TprocHSpec, seed: int) -> list[PlannedCheck]:
    """A check of each query, with parameters drawn from ``seed``. Raises ``InputError`` for a larger scale."""
    if spec.scale_factor > MAX_SCALE:
        raise InputError(
            f"answers are verified up to scale factor {MAX_SCALE:g}; this schema has {spec.scale_factor:g}"
        )
    reference, source = _Reference(spec.scale_factor), random.Random(seed)
    values = {name: drawn(name, source, spec.scale_factor) for name in QUERIES}
    generated = _Generated(spec)
    return [
        *(
            PlannedCheck(f"content of {table}", partial(_content, table=table, generated=generated))
            for table in TPROC_H_TABLES
        ),
        *(
            PlannedCheck(f"answer of {name}", partial(_compared, name=name, values=values[name], reference=reference))
            for name in QUERIES
        ),
    ]


def _content(session: CheckSession, *, table: str, generated: _Generated) -> Check:
    """The columns of a table have the checksums of the generator's rows."""
    name, columns = f"content of {table}", TPROC_H_TABLES[table].columns
    found = checksums(table, generated.stored(session, table))
    wrong = [column for column, one, due in zip(columns, found, generated.sums[table], strict=True) if one != due]
    return Check(name, not wrong, f"not as generated: {', '.join(wrong)}" if wrong else "every column as generated")


def checksums(table: str, rows: Iterable[Sequence[Any]]) -> list[int]:
    """A checksum of each column of a table: of its values with their keys, in any order."""
    columns, types, keys = (getattr(TPROC_H_TABLES[table], name) for name in ("columns", "types", "key"))
    as_text, key_at = [_AS_TEXT[kind] for kind in types], [columns.index(key) for key in keys]
    sums = [0] * len(columns)
    for row in rows:
        texts = [b"" if value is None else text(value).encode() for text, value in zip(as_text, row, strict=True)]
        key = crc32(b" ".join(texts[at] for at in key_at))
        for at, value in enumerate(texts):
            sums[at] += crc32(value, key)
    return sums


_AS_TEXT: Final[Mapping[str, Callable[[Any], str]]] = {
    "integer": lambda value: str(int(value)),
    "decimal": lambda value: f"{Decimal(str(value)):.2f}",
    "date": lambda value: str(value)[:10],
    "text": lambda value: str(value).rstrip(),
}
"""By type, a value as the text that it is on every engine and from the generator."""


class _Generated:
    """The rows of a scale factor as the generator makes them."""

    def __init__(self, spec: TprocHSpec) -> None:
        self._spec = spec

    @cached_property
    def sums(self) -> dict[str, list[int]]:
        """The checksums of the columns of each table."""
        found = {name: [0] * len(table.columns) for name, table in TPROC_H_TABLES.items()}
        for part in population.parts(self._spec):
            for load in population.part(self._spec, part.key):
                name = load.table.name
                rows = (row.decode().split("\t") for rows in load.chunks for row in rows.splitlines())
                found[name] = list(map(sum, zip(found[name], checksums(name, rows), strict=True)))
        return found

    def stored(self, session: CheckSession, table: str) -> Iterator[Row]:
        """The rows of a table in the database, some keys at a time."""
        of_key = "orders" if table == "lineitem" else "part" if table == "partsupp" else table
        last = TPROC_H_TABLES[of_key].rows_at(self._spec.scale_factor) * (
            _KEYS_PER_ORDER if of_key == "orders" else 1
        )
        step = _ROWS_AT_ONCE // _ROWS_PER_KEY.get(table, 1)
        for first in range(0, last + 1, step):
            yield from session.ask(f"read_{table}", first_key=first, last_key=first + step - 1)


def _compared(session: CheckSession, *, name: str, values: SubstitutionValues, reference: _Reference) -> Check:
    expected, found = reference.rows(name, values), session.ask(name, **values)
    problem = difference(found, expected, name)
    return Check(f"answer of {name}", not problem, problem or f"as expected, number of rows: {len(found)}")


class _Reference:
    """A database of the same scale, which is made with the first question and removed with the object."""

    def __init__(self, scale_factor: float) -> None:
        self._work = workload(TprocHSpec(scale_factor=scale_factor, indexes=Indexes.NONE))

    def rows(self, query: str, values: SubstitutionValues) -> list[Row]:
        """The rows of a query."""
        arguments = tuple(values[name] for name in self._session.parameters(query))
        return self._session.rows(self._session.perform(self._session.bind(query, arguments)))

    @cached_property
    def _session(self) -> Session:
        folder = tempfile.mkdtemp(prefix="hdbkit-answers-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        engine = database(_REFERENCE)
        target = Target(kind=_REFERENCE, database=str(Path(folder) / "reference"))
        with closing(engine.schema(target, self._work)) as schema:
            schema.create(self._work.record)
            for part in self._work.parts(engine.dialects):
                schema.load(part.key, self._work.part(part.key), _unseen)
        session = engine.connect(target, self._work.scope(engine.dialects))
        session.prepare(QUERIES)
        return session


def _unseen(*_: int) -> None:
    """Progress that nobody watches."""


def difference(found: list[Row], expected: list[Row], query: str = "") -> str:
    """What differs first between the rows of a query and the expected ones; empty if nothing does.

    Rows are in the order of the query; those that it leaves equal may be in another. Averages and ratios may differ
    by their ten-thousandth part, other numbers by less than a cent.
    """
    if len(found) != len(expected):
        return f"{len(found)} rows, {len(expected)} expected"
    found, expected = [tuple(map(_plain, row)) for row in found], [tuple(map(_plain, row)) for row in expected]
    keys, ratios = _ORDER.get(query, ()), _RATIOS.get(query, ())
    equal = partial(_is_equal, ratios=ratios)
    for first, one, other in _first_different(found, expected, partial(_is_equal, ratios=ratios, columns=keys)):
        order = _first_different(_in_any_order(found), _in_any_order(expected), equal)
        return f"row {first + 1} is {_shown(one)}, not {_shown(other)}" + ("" if order else ": rows in another order")
    start = 0
    for _, run in groupby(expected, key=lambda row: [row[column] for column in keys]):
        rows = list(run)
        some = found[start : start + len(rows)]
        for _, one, other in _first_different(_in_any_order(some), _in_any_order(rows), equal):
            return f"row {start + some.index(one) + 1} is {_shown(one)}, not {_shown(other)}"
        start += len(rows)
    return ""


def _first_different(
    found: Sequence[Row], expected: Sequence[Row], equal: Callable[[Row, Row], bool]
) -> list[tuple[int, Row, Row]]:
    """The first pair of rows that differ, with its index; empty if none do."""
    pairs = ((i, one, other) for i, (one, other) in enumerate(zip(found, expected, strict=True)))
    return list(islice(((i, one, other) for i, one, other in pairs if not equal(one, other)), 1))


def _is_equal(found: Row, expected: Row, *, ratios: Container[int], columns: Sequence[int] | None = None) -> bool:
    chosen = range(len(expected)) if columns is None else columns
    return len(found) == len(expected) and all(_is_same(found[i], expected[i], i in ratios) for i in chosen)


def _is_same(found: Any, expected: Any, is_ratio: bool) -> bool:
    if not (isinstance(found, Decimal) and isinstance(expected, Decimal) and found.is_finite()):
        return bool(found == expected)
    apart = abs(found - expected)
    if not is_ratio:
        return apart < _CENT
    last_digit = Decimal(1).scaleb(int(found.as_tuple().exponent))
    return apart <= max(_SHARE * abs(expected), min(_MAX_SHARE * abs(expected), last_digit))


def _in_any_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=_sort_key)


def _plain(value: Any) -> Any:
    """Numbers as decimals, dates as text, text without the blanks at its end that some engines add."""
    if isinstance(value, int | float | Decimal):
        return Decimal(str(value))
    if isinstance(value, date):
        return value.isoformat()[:10]
    return value.rstrip() if isinstance(value, str) else value


def _sort_key(row: Row) -> tuple[str, ...]:
    return tuple(f"{value:.1f}" if isinstance(value, Decimal) else str(value) for value in row)


def _shown(row: Row) -> str:
    text = ", ".join(str(value) for value in row)
    return f"({text[:_SHOWN]}{'...' if len(text) > _SHOWN else ''})"


def planned_checks(spec: TprocHSpec, indexes: tuple[str, ...]) -> list[PlannedCheck]:
    """All checks of a schema that was built as ``spec``, with these indexes."""
    return [
        all_there("tables", tuple(TPROC_H_TABLES), required=True),
        *(PlannedCheck(f"rows of {table}", partial(_rows, spec=spec, table=table)) for table in TPROC_H_TABLES),
        all_there("indexes", indexes),
        *(
            PlannedCheck(f"sums of {table}", partial(_sums, table=table, known=known), needs=Capability.DECIMALS)
            for table in SUMMED
            if (known := sums_at(table, spec.scale_factor))
        ),
        PlannedCheck("lines of orders", partial(_lines, spec=spec)),
        PlannedCheck("orders of the build", _of_the_build),
    ]


def _rows(session: CheckSession, *, spec: TprocHSpec, table: str) -> Check:
    rows, name = int(session.ask(f"count_{table}")[0][0]), f"rows of {table}"
    expected = (
        lines_at(spec.scale_factor) if table == "lineitem" else TPROC_H_TABLES[table].rows_at(spec.scale_factor)
    )
    if expected is None:
        about = TPROC_H_TABLES[table].rows_at(spec.scale_factor)
        return Check(name, abs(rows - about) < 0.01 * about, f"{rows}, about {about} expected")
    return Check(name, rows == expected, f"{rows}, {expected} expected")


def _sums(session: CheckSession, *, table: str, known: tuple[Decimal, ...]) -> Check:
    """The sums of a table's decimals are those of the generator's rows."""
    found = tuple(Decimal(str(one)) for one in session.ask(f"sum_{table}")[0])
    wrong = [
        f"sum({column}) = {one}, {expected} expected"
        for column, one, expected in zip(SUMMED[table], found, known, strict=True)
        if one != expected
    ]
    return Check(f"sums of {table}", not wrong, "; ".join(wrong) or f"of {', '.join(SUMMED[table])}: as generated")


def _lines(session: CheckSession, *, spec: TprocHSpec) -> Check:
    """An order's total is the sum of its lines, each rounded down to cents twice (TPC-H 4.2.3)."""
    keys = _KEYS_PER_ORDER * TPROC_H_TABLES["orders"].rows_at(spec.scale_factor)
    asked = [{"first_key": low, "last_key": high} for low, high in divided([(1, keys)], session.at_once)]
    broken = sum(int(rows[0][0]) for rows in session.ask_each("broken_orders", asked))
    detail = "o_totalprice = sum of the lines' prices with discount and tax, to 15 cents: "
    return Check("lines of orders", not broken, detail + (f"broken in {broken} orders" if broken else "holds"))


def _of_the_build(session: CheckSession) -> Check:
    """Refresh functions insert orders under keys that the generator leaves free."""
    ((new,),) = session.ask("count_new_orders")
    detail = f"{new} orders are of refresh functions that were not undone" if new else "no others are there"
    return Check("orders of the build", not new, detail)
