"""The optimizer's plans as tables of lines: those of a run, of both sides of a comparison, and of a sweep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hdbkit.analysis.comparison.plans import ChangedPlan, PlanPair
from hdbkit.later import pandas as pd
from hdbkit.report.tables import Table
from hdbkit.results.kept import QueryPlan
from hdbkit.text import number


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
