"""Tables of a report: cells are text made here, so that a number reads the same everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hdbkit.later import pandas as pd
from hdbkit.results.experiment_runs import ENDED_EARLY
from hdbkit.text import number

_MAX_ROWS = 1000
"""Rows of a chart's table; a longer one is cut, with a note."""
_MAX_STEPS = 120
MAX_TEXT = 400
MARKS = {"faster": "good", "slower": "bad", ENDED_EARLY: "bad", "failed": "bad", "undecided": "unsure"}
"""How a verdict is marked."""
UNKNOWN = "\N{EN DASH}"


@dataclass(frozen=True)
class CourseCell:
    """What a table shows of a range of time that is chosen in the charts above it.

    A column is a factor times the sum of a series of the row over the steps of the range, over that of another one
    (-1: the length of the range in seconds; None: nothing). Other numeric columns are then unknown.
    """

    step_s: int
    series: Sequence[Sequence[Sequence[float]]]
    """Of each row some series, with a value per step from the run's start on."""
    columns: Sequence[tuple[int, int, int | None, float]]
    """Number of the column, that of the series above and below the line, and the factor."""

    @property
    def text(self) -> str:
        """The course as JSON."""
        rows = [[[_short(one) for one in values] for values in row] for row in self.series]
        content = {"step": self.step_s, "rows": rows, "columns": self.columns}
        return json.dumps(content, separators=(",", ":"), allow_nan=False)


def course_step_s(end_us: int) -> int:
    """The length of the steps of a run's courses."""
    return max(1, math.ceil(end_us / 1e6 / _MAX_STEPS))


def _short(value: float) -> float:
    return int(value) if value == int(value) else round(value, 3)


@dataclass(frozen=True)
class Table:
    """A titled table; ``marks`` gives rows a CSS class (good, bad, unsure), ``cell_marks`` gives it to cells."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    marks: Sequence[str] = ()
    note: str = ""
    cell_marks: Sequence[Sequence[str]] = ()
    preformatted: bool = False
    """Whether cells are lines whose spaces count."""
    course: CourseCell | None = None
    by_second: bool = False
    """Whether the first column is the second of a run: rows outside a chosen range are hidden."""
    during: tuple[float, float] | None = None
    """From when until when it was so in a run: it is hidden where a chosen range has nothing of that."""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.head) for row in [self.numeric, *self.rows]), f"columns of '{self.title}'"

    def look(self, row: int, column: int) -> str:
        """The classes of a cell, for the style sheet."""
        named = {"verdict": "verdict", "in words": "words", "prepared (s)": "id", "run id": "id"}.get(
            self.head[column], ""
        )
        marked = self.cell_marks[row][column] if self.cell_marks else ""
        look = "line" if self.preformatted else "n" if self.numeric[column] else named
        return " ".join(filter(None, [look, marked]))

    def mark(self, index: int) -> str:
        """The class of a row."""
        return self.marks[index] if self.marks else ""


def frame_table(frame: pd.DataFrame, title: str) -> Table:
    """Any frame as a table, at most ``_MAX_ROWS`` rows of it."""
    shown = frame.head(_MAX_ROWS)
    numeric = [
        pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) for dtype in shown.dtypes
    ]
    rows = [[cell(value) for value in row] for row in shown.itertuples(index=False)]
    cut = f"the first {_MAX_ROWS:,} of {len(frame):,} rows" if len(frame) > _MAX_ROWS else ""
    return Table(title, [heading(str(name)) for name in frame.columns], rows, numeric, note=cut)


def pairs_table(title: str, pairs: Mapping[str, Any]) -> Table:
    """Names and values, such as the software of a run."""
    rows = [[heading(str(name)), cell(value)] for name, value in pairs.items()]
    return Table(title, ["name", "value"], rows, [False, False])


def text_table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Rows of plain values; a column is numeric when all its values are."""
    listed = [list(row) for row in rows]
    columns = list(zip(*listed, strict=True)) if listed else [() for _ in head]
    numeric = [
        bool(c) and all(v is None or (isinstance(v, int | float) and v is not True) for v in c) for c in columns
    ]
    return Table(title, head, [[cell(value) for value in row] for row in listed], numeric)


def heading(name: str) -> str:
    """A column's name for readers: ``p95_us`` as ``p95 (us)``, ``operations_per_s`` as ``operations/s``."""
    if name.endswith("_per_s"):
        return f"{name.removesuffix('_per_s').replace('_', ' ')}/s"
    for unit in ("us", "ms", "s", "pct", "bytes"):
        if name.endswith(f"_{unit}"):
            return f"{name.removesuffix(f'_{unit}').replace('_', ' ')} ({'%' if unit == 'pct' else unit})"
    return name.replace("_", " ")


def cell(value: Any) -> str:
    """A value as text: thousands in groups, four digits that count, a dash for what is not known."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {cell(one)}" for name, one in value.items())
    return ", ".join(map(cell, value)) if isinstance(value, list | tuple) else shortened(str(value))


def shortened(text: str) -> str:
    """A text of at most ``MAX_TEXT`` characters."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


def milliseconds(latency_us: float | None) -> str:
    """Microseconds as milliseconds with three significant digits; empty where they are not known."""
    return three_digits(None if latency_us is None else latency_us / 1000)


def three_digits(value: float | None) -> str:
    """A value with three significant digits and at most three decimals; empty where it is not known."""
    if value is None or math.isnan(value):
        return cell(None)
    decimals = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(decimals, 3)}f}"
