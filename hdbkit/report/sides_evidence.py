"""What the page of a comparison shows beside its finding: what differed and was counted, plans, both sides' runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hdbkit.analysis.comparison.explanation import Explanation
from hdbkit.analysis.comparison.groups import Groups
from hdbkit.analysis.comparison.plans import PlanPair, plans_note
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import settings_apart
from hdbkit.charts.flame import flame_differences
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.report.environment import environment
from hdbkit.report.experiment_report import Evidence
from hdbkit.report.page import Figure
from hdbkit.report.plan_tables import plan_pair_tables
from hdbkit.report.tables import Table, heading, text_table
from hdbkit.results.finding import Finding
from hdbkit.results.kept import known_settings
from hdbkit.text import many, number

_COUNTED = 30
"""The number of counters in a table."""


def sides_evidence(
    finding: Finding, sides: Groups, differences: pd.DataFrame, why: Explanation | None, plans: Sequence[PlanPair]
) -> Evidence:
    """The evidence of a comparison.

    Args:
        finding: what was found.
        sides: base and new, in this order, each by its name and its runs.
        differences: what differs between the sides, a row each with ``base`` and ``new``.
        why: why one side is faster; None where that was not sampled.
        plans: those of each query on both sides.
    """
    names, (base, new) = list(sides), list(sides.values())
    return Evidence(
        kicker=f"comparison of {names[1]} with {names[0]}",
        manifests=[manifest for side in sides.values() for _, manifest in side],
        figures=_key_figures(finding, names, len(base), len(new)),
        tables=[*_counted(why, names), *differences_table(differences, names)],
        flames=flame_differences(base, new, (names[0], names[1])),
        plans=plan_pair_tables(plans, names),
        plans_title=plans_note(plans),
        environment=_environment(sides, names),
        journal=[_journal(sides, finding.metric)],
    )


def _key_figures(finding: Finding, names: Sequence[str], base: int, new: int) -> list[Figure]:
    best, metric = finding.best, finding.metric
    levels = (best.base, best.value) if best else (None, None)
    return [
        Figure(name, "" if level is None else metric.number(level), f"{metric.name}, {_runs(count)}")
        for name, level, count in zip(names, levels, (base, new), strict=True)
    ]


def _runs(count: int) -> str:
    return f"mean of {many(count, 'run')}" if count > 1 else "1 run"


def _environment(sides: Groups, names: Sequence[str]) -> list[Table]:
    """The environment of the first run of each side; that of the new side where it differs."""
    base, new = (environment(runs[0][1], known_settings(runs[0][0])) for runs in sides.values())
    same = {one.title: one.rows for one in base}
    differ = {one.title for one in new if same.get(one.title) != one.rows}
    return [
        replace(one, title=f"{one.title}: {name}") if one.title in differ else one
        for name, tables_ in zip(names, (base, new), strict=True)
        for one in tables_
        if name == names[0] or one.title in differ
    ]


def _counted(why: Explanation | None, names: Sequence[str]) -> list[Table]:
    """What server and hosts counted and differs, in all and by statement; none where nothing does."""
    listed = [*why.counters, *why.statements][:_COUNTED] if why else []
    if not why or not listed:
        return []
    rows = [[one.name, number(one.base), number(one.new), number(one.p, 2)] for one in listed]
    note = "Counters that differ, with a false discovery rate of 5 %; not every one is a cause."
    title = f"What the server and the hosts did differently, per {why.noun}"
    return [Table(title, ["what", *names, "p"], rows, [False, True, True, True], note=note)]


def differences_table(differences: pd.DataFrame, names: Sequence[str] = (BASE, NEW)) -> list[Table]:
    """What differed, as one table; none where nothing did."""
    if differences.empty:
        return []
    listed, apart = settings_apart(differences)
    rows = [[str(name), base, new] for name, base, new in listed.itertuples()]
    table = text_table("What differed between the first runs of both sides", ["what", *names], rows)
    return [replace(table, note=f"{apart}; see: hdbkit compare BASE NEW --all." if apart else "")]


def _journal(sides: Groups, metric: Metric) -> Table:
    rows = [
        [name, one.run_id, one.plan.load.virtual_users, one.metric_value,
         one.result and one.result.operations_per_s, one.status.value,
         ", ".join(check.name for check in one.checks if check.passed is False) or "none"]
        for name, side in sides.items()
        for _, one in side
    ]  # fmt: skip
    head = ["side", "run id", "virtual users", metric.name, heading("operations_per_s"), "status", "failed checks"]
    return text_table("The runs", head, rows)
