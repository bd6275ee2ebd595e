"""Verified answers: each query's rows against those of DuckDB on the same data, with the same parameters.

The data of a scale factor are the same everywhere, so a database of the same scale is made here, once, in a temporary
file. The texts of the queries are those of each engine.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import weakref
from contextlib import closing
from datetime import date
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from hdbkit.config import Target
from hdbkit.config.specs.tproc_h import QUERIES, Indexes, TprocHSpec
from hdbkit.contracts import Check, CheckSession, PlannedCheck, Row, Session
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_h.streams import Values, drawn

MAX_SCALE: Final = 1.0
"""Up to this scale factor the reference is made in about a minute."""
_REFERENCE: Final = "duckdb"
_CENT: Final = Decimal("0.01")
_SHOWN: Final = 200


def checks(spec: TprocHSpec, seed: int) -> list[PlannedCheck]:
    """A check of each query, with parameters drawn from ``seed``. Raises ``InputError`` for a larger scale."""
    if spec.scale_factor > MAX_SCALE:
        raise InputError(
            f"answers are verified up to scale factor {MAX_SCALE:g}; this schema has {spec.scale_factor:g}"
        )
    reference, source = _Reference(spec.scale_factor), random.Random(seed)
    values = {name: drawn(name, source, spec.scale_factor) for name in QUERIES}
    return [
        PlannedCheck(f"answer of {name}", partial(_compared, name=name, values=values[name], reference=reference))
        for name in QUERIES
    ]


def _compared(session: CheckSession, *, name: str, values: Values, reference: _Reference) -> Check:
    expected, found = reference.rows(name, values), session.ask(name, **values)
    problem = difference(found, expected)
    return Check(f"answer of {name}", not problem, problem or f"as expected, number of rows: {len(found)}")


class _Reference:
    """A database of the same scale, which is made with the first question and removed with the object."""

    def __init__(self, scale_factor: float) -> None:
        self._work = workload(TprocHSpec(scale_factor=scale_factor, indexes=Indexes.NONE))

    def rows(self, query: str, values: Values) -> list[Row]:
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


def difference(found: list[Row], expected: list[Row]) -> str:
    """What differs first between two results; empty if nothing does. Numbers may differ by a cent.

    Rows that an order leaves equal may be in another order.
    """
    if len(found) != len(expected):
        return f"{len(found)} rows, {len(expected)} expected"
    found, expected = [tuple(map(_plain, row)) for row in found], [tuple(map(_plain, row)) for row in expected]
    first = _first_different(found, expected)
    if first is None or _first_different(sorted(found, key=_sort_key), sorted(expected, key=_sort_key)) is None:
        return ""
    return f"row {first + 1} is {_shown(found[first])}, not {_shown(expected[first])}"


def _first_different(found: list[Row], expected: list[Row]) -> int | None:
    pairs = enumerate(zip(found, expected, strict=True))
    return next((i for i, (one, other) in pairs if not _is_equal(one, other)), None)


def _is_equal(found: Row, expected: Row) -> bool:
    return len(found) == len(expected) and all(
        abs(a - b) <= _CENT if isinstance(a, Decimal) and isinstance(b, Decimal) else a == b
        for a, b in zip(found, expected, strict=True)
    )


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
