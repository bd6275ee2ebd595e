"""The optimizer's plans as tables of lines: those of a run, and those of both sides of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hdbkit.analysis.comparison.plans import PlanPair
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
    return [
        Table(
            one.operation, list(names), [list(lines) for lines in one.lines], [False, False], preformatted=True,
            marks=["unsure" if differs else "" for differs in one.differs],
        )
        for one in pairs
        if not one.alike
    ]  # fmt: skip
