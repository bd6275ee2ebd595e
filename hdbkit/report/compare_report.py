"""The report of a comparison: is one side faster than the other, how certain is that, and what else differed?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pandas as pd

from hdbkit.analysis.comparison.explanation import Explanation
from hdbkit.analysis.comparison.groups import Groups
from hdbkit.analysis.comparison.plans import PlanPair, plans_note
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import Compared, settings_apart
from hdbkit.analysis.wording import TOO_FEW, percent, percents, says_nothing
from hdbkit.charts.flame import flame_differences
from hdbkit.charts.intervals import times
from hdbkit.config.metric import Measure, Metric
from hdbkit.report.card import Bar, Card, Found, checks_over_runs, measured_by
from hdbkit.report.environment import environment
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.plan_tables import plan_pair_tables
from hdbkit.report.tables import MARKS, Table, cell, heading, milliseconds, text_table
from hdbkit.results.kept import known_settings
from hdbkit.text import number, percent_of

_COUNTED = 30
"""The number of counters in a table."""


class Sides(Found, Protocol):
    """What a comparison has found (``hdbkit.api.Comparison``, which describes the frames)."""

    @property
    def sides(self) -> Groups:
        """Base and new, in this order, each by its name and its runs."""

    @property
    def compared(self) -> Compared:
        """New over base, and what is replicated."""

    @property
    def table(self) -> pd.DataFrame:
        """The figures of both sides and their change."""

    @property
    def differences(self) -> pd.DataFrame:
        """What differs between the sides."""

    @property
    def cells(self) -> pd.DataFrame:
        """What was measured on each side at each count of virtual users."""

    @property
    def by_operation(self) -> pd.DataFrame:
        """The ratios of each operation; may be empty."""

    @property
    def explanation(self) -> Explanation | None:
        """Why one side is faster; None where that was not sampled."""

    @property
    def plans(self) -> list[PlanPair]:
        """The plans of each query on both sides."""

    @property
    def command(self) -> str:
        """The command that repeats the comparison."""


def compare_report(path: Path, found: Sides) -> Path:
    """Write the report of a comparison to ``path`` and return the path."""
    (base, new), metric, names = list(found.sides.values()), found.metric, list(found.sides)
    page = Page(
        kicker=f"comparison of {names[1]} with {names[0]}",
        card=card(found),
        notice=found.notice,
        command=found.command,
        figures=_key_figures(found, names, len(base), len(new)),
        tables=tables(found),
        charts=list(found.charts().values()),
        flames=flame_differences(base, new, (names[0], names[1])),
        plans=plan_pair_tables(found.plans, names),
        plans_title=plans_note(found.plans),
        environment=_environment(found.sides, names),
        journal=[_journal(found.sides, metric)],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_page(path, page)


def card(found: Sides) -> Card:
    """The result of a comparison."""
    (base, new), metric, ratio = list(found.sides), found.metric, found.compared.ratio
    manifests = [manifest for side in found.sides.values() for _, manifest in side]
    return Card(
        question=f"Is {new} {'lower' if metric.measure is Measure.QUANTILE else 'faster'} than {base}?",
        answer=found.answer,
        verdict=ratio.verdict,
        value=times(ratio.ratio),
        of=f"{new} against {base}: {metric.name} {percent(ratio.ratio, metric)}",
        bar=Bar(ratio.ratio, ratio.low, ratio.high, found.compared.smallest_effect),
        facts=measured_by(manifests),
        checks=checks_over_runs(manifests),
        warnings=found.warnings,
        next_step=found.compared.advice if ratio.verdict == "undecided" else "",
    )


def compare_card(found: Sides) -> str:
    """The result of a comparison as a notebook shows it."""
    return card(found).in_notebook(found.notice, tables(found))


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


def _key_figures(found: Sides, names: Sequence[str], base: int, new: int) -> list[Figure]:
    metric = found.metric
    return [
        Figure(names[0], _value(found.table, "base", metric), f"{metric.name}, {_runs(base)}"),
        Figure(names[1], _value(found.table, "new", metric), f"{metric.name}, {_runs(new)}"),
    ]


def tables(found: Sides) -> list[Table]:
    """The verdicts by virtual users and by operation, both sides' figures, and what differed."""
    metric, names = found.metric, list(found.sides)
    by = [
        *users_table(found.compared.by_users, found.cells, metric),
        *operations_table(found.by_operation, metric, names),
    ]
    figures = figures_table(found.table, metric, names)
    return [*by, figures, *_counted(found.explanation, names), *differences_table(found.differences, names)]


def _counted(why: Explanation | None, names: Sequence[str]) -> list[Table]:
    """What server and hosts counted and differs, in all and by statement; none where nothing does."""
    listed = [*why.counters, *why.statements][:_COUNTED] if why else []
    if not why or not listed:
        return []
    rows = [[one.name, number(one.base), number(one.new), number(one.p, 2)] for one in listed]
    note = "Counters that differ, with a false discovery rate of 5 %; not every one is a cause."
    title = f"What the server and the hosts did differently, per {why.noun}"
    return [Table(title, ["what", *names, "p"], rows, [False, True, True, True], note=note)]


def figures_table(figures: pd.DataFrame, metric: Metric, names: Sequence[str] = (BASE, NEW)) -> Table:
    """Both sides' figures and the change between them, with the intervals of latencies."""
    head = ["figure", *names, "change", "95 % interval"]
    rows = [
        [
            _named(str(name), metric),
            *(milliseconds(one) if _is_time(str(name)) else cell(one) for one in (base, new)),
            percent_of(change) if pd.notna(change) else cell(None),
            "" if pd.isna(low) else _ends(low, high),
        ]
        for name, base, new, change, low, high in figures[["base", "new", "change", "low", "high"]].itertuples()
    ]
    note = (
        "Without intervals: a difference here may be noise, of percentiles above all."
        if figures["low"].drop("metric_value").isna().all()
        else "The intervals hold together over all latencies; a change whose interval contains 0 may be noise."
    )
    return Table("Both sides, geometric means over their runs", head, rows, [False, *[True] * 4], note=note)


def _ends(low: float, high: float) -> str:
    return TOO_FEW if says_nothing(1 + low, 1 + high) else f"{percent_of(low)} to {percent_of(high)}"


def users_table(by_users: pd.DataFrame, cells: pd.DataFrame, metric: Metric) -> list[Table]:
    """The comparison at each count of virtual users; none where there is just one."""
    if by_users.empty:
        return []
    sides = cells.set_index("virtual_users").groupby("cell", sort=False)["operations_per_s"]
    per_s = {str(name): side for name, side in sides}
    values = [f"{side} {name}" for name in (metric.name, heading("operations_per_s")) for side in per_s]
    head = ["users", *values, "change", "95 % interval", "verdict", "in words"]
    rows = [
        [cell(row["virtual_users"]), metric.number(row["base"]), metric.number(row["new"]),
         *(cell(one[row["virtual_users"]]) for one in per_s.values()), percent(row["ratio"], metric),
         "" if pd.isna(row["low"]) else percents(row["low"], row["high"], metric),
         cell(row["verdict"]), cell(row["sentence"])]
        for row in by_users.to_dict("records")
    ]  # fmt: skip
    note = "The intervals hold together over all counts of virtual users."
    numeric = [*[True] * 7, False, False]
    marks = [MARKS.get(str(verdict), "") for verdict in by_users["verdict"]]
    return [Table("At each count of virtual users", head, rows, numeric, marks, note)]


def operations_table(by_operation: pd.DataFrame, metric: Metric, names: Sequence[str] = (BASE, NEW)) -> list[Table]:
    """The comparison of each operation by its mean time: a change above 0 is more time, whatever the metric is."""
    if by_operation.empty:
        return []
    rows = [
        [row["operation"], cell(row["base"]), cell(row["new"]),
         "" if pd.isna(row["ratio"]) else percent(row["ratio"], time),
         "" if pd.isna(row["low"]) else percents(row["low"], row["high"], time),
         cell(row["verdict"])]
        for row in by_operation.to_dict("records")
        for time in [metric.of_operation(str(row["operation"]))]
    ]  # fmt: skip
    head = ["operation", *(f"{side} (s)" for side in names), "change of the time", "95 % interval", "verdict"]
    marks = [MARKS.get(str(verdict), "") for verdict in by_operation["verdict"]]
    note = "The intervals of all operations hold together." if by_operation["low"].notna().any() else ""
    return [Table("Each operation", head, rows, [False, True, True, True, True, False], marks, note)]


def _is_time(figure: str) -> bool:
    """Whether a figure is in microseconds, which tables show as milliseconds."""
    return figure.endswith("_us")


def _named(figure: str, metric: Metric) -> str:
    """``payment p95_us`` as ``payment p95 (ms)``."""
    *operation, what = figure.split(" ")
    if _is_time(what):
        what = what.replace("_us", "_ms")
    return " ".join([*operation, metric.name if what == "metric_value" else heading(what)])


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


def _value(figures: pd.DataFrame, side: str, metric: Metric) -> str:
    return metric.number(float(figures[side]["metric_value"]))


def _runs(count: int) -> str:
    return f"mean of {count} runs" if count > 1 else "1 run"
