"""Tables of a report: cells are text made here, so that a number reads the same everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hdbkit.analysis.comparison.plans import ChangedPlan, PlanPair
from hdbkit.config import Target
from hdbkit.config.load import WINDOW
from hdbkit.config.model import unset
from hdbkit.results.experiment_folder import ENDED_EARLY
from hdbkit.results.kept import KeptSetting, QueryPlan
from hdbkit.results.manifest import Manifest
from hdbkit.text import number

MAX_ROWS = 1000
"""Rows of a chart's table; a longer one is cut, with a note."""
_MAX_STEPS = 120
MAX_TEXT = 400
MARKS = {"faster": "good", "slower": "bad", ENDED_EARLY: "bad", "failed": "bad", "undecided": "unsure"}
"""How a verdict is marked."""
UNKNOWN = "\N{EN DASH}"


@dataclass(frozen=True)
class Course:
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
    course: Course | None = None
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
    """Any frame as a table, at most ``MAX_ROWS`` rows of it."""
    shown = frame.head(MAX_ROWS)
    numeric = [
        pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) for dtype in shown.dtypes
    ]
    rows = [[cell(value) for value in row] for row in shown.itertuples(index=False)]
    cut = f"the first {MAX_ROWS:,} of {len(frame):,} rows" if len(frame) > MAX_ROWS else ""
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
    if latency_us is None or math.isnan(latency_us):
        return cell(None)
    value = latency_us / 1000
    decimals = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(decimals, 3)}f}"


# The optimizer's plans as tables of lines: those of a run, of both sides of a comparison, and of a sweep.


def plan_tables(plans: Mapping[str, QueryPlan]) -> list[Table]:
    """A table per query, with its parameters below; a plan that it had earlier in the run is a table before."""
    found = []
    for name, one in plans.items():
        from_s, note = 0.0, ", ".join(f"{key} = {value}" for key, value in one.arguments.items())
        for each in one.earlier:
            title = f"{name} until {each.until_s:.0f} s of the run"
            found.append(_plan(title, each.text, note, (from_s, each.until_s)))
            from_s = each.until_s
        found.append(_plan(name, one.text, note, (from_s, math.inf)))
    return found


def slow_plan_tables(found: pd.DataFrame) -> list[Table]:
    """A table per statement that was slow, with the plan of its slowest execution."""
    return [
        _plan(
            f"{one['operation']}: {number(one['ms'])} ms at {one['t_us'] / 1e6:.1f} s of the run",
            f"{one['statement']}\n\n{one['plan']}", "", ((one["t_us"] / 1000 - one["ms"]) / 1000, one["t_us"] / 1e6),
        )
        for one in found.to_dict("records")
    ]  # fmt: skip


def _plan(title: str, text: str, note: str, during: tuple[float, float]) -> Table:
    rows = [[line] for line in text.splitlines()]
    return Table(title, ["plan"], rows, [False], preformatted=True, note=note, during=during)


def plan_pair_tables(pairs: Sequence[PlanPair], names: Sequence[str]) -> list[Table]:
    """A table per query whose plans differ, both sides next to each other; lines that differ are marked."""
    return [_side_by_side(one, names) for one in pairs if not one.alike]


def changed_plan_tables(changed: Sequence[ChangedPlan]) -> list[Table]:
    """A table per plan that is not the baseline's, next to it; headed by the configurations that have it."""
    return [_side_by_side(one.pair, ("baseline", "; ".join(one.labels))) for one in changed]


def _side_by_side(pair: PlanPair, names: Sequence[str]) -> Table:
    return Table(
        pair.operation, list(names), [list(lines) for lines in pair.lines], [False, False], preformatted=True,
        marks=["unsure" if differs else "" for differs in pair.differs],
    )  # fmt: skip


def environment(
    manifest: Manifest, settings: Mapping[str, KeptSetting] | None = None, load: Mapping[str, Any] | None = None
) -> list[Table]:
    """The tables of a run's environment; ``settings`` are those that it kept.

    ``load`` replaces the run's own where the page covers more than this run.
    """
    plan = manifest.plan
    workload = _seed_of("population", manifest.schema_facts)
    driven = _seed_of("load", plan.load.model_dump(mode="json") if load is None else load)
    driven |= {name: text for name, text in unset(type(plan.load).model_fields).items() if name not in driven}
    if manifest.one_by_one:
        driven = {name: value for name, value in driven.items() if name not in WINDOW}
    tables = [
        pairs_table("Server", {**manifest.server.known, "target": _address(plan.target)}),
        pairs_table("Host of the clients", manifest.host.known),
        pairs_table("Network between client and server", manifest.network.known),
        pairs_table("Software", manifest.software),
        pairs_table("Workload and load", {**workload, **driven}),
    ]
    changed = {name: one for name, one in (settings or {}).items() if one.changed}
    if changed:
        rows = [
            [name, cell(one.text(one.value)), cell(one.text(one.default))]
            for name, one in sorted(changed.items(), key=lambda named: named[0].lower())
        ]
        tables.append(text_table("Settings that are not the default", ["setting", "value", "default"], rows))
    return [table for table in tables if table.rows]


def _seed_of(what: str, pairs: Mapping[str, Any]) -> dict[str, Any]:
    """What is given; a seed is named after what it seeds, since both workload and load have one."""
    named = {f"seed of the {what}" if name == "seed" else name: value for name, value in pairs.items()}
    return {name: value for name, value in named.items() if value is not None}


def _address(target: Target) -> str:
    port = f":{target.port}" if target.port else ""
    return f"{target.kind}://{target.host or ''}{port}/{target.database or ''}"
