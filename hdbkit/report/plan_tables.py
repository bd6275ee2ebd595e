"""The optimizer's plans as tables of lines: those of a run, of both sides of a comparison, and of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hdbkit.analysis.comparison.plans import PlanPair
from hdbkit.analysis.sweep.plans import ChangedPlan
from hdbkit.report.tables import Table
from hdbkit.results.query_plans import QueryPlan


def plan_tables(plans: Mapping[str, QueryPlan]) -> list[Table]:
    """A table per query, with its parameters below."""
    return [
        Table(
            name, ["plan"], [[line] for line in one.text.splitlines()], [False], preformatted=True,
            note=", ".join(f"{key} = {value}" for key, value in one.arguments.items()),
        )
        for name, one in plans.items()
    ]  # fmt: skip


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
