"""The report of a comparison: is one side faster than the other, how certain is that, and what else differed?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pandas as pd

from hdbkit.analysis.comparison.explanation import Explanation
from hdbkit.analysis.comparison.groups import Groups
from hdbkit.analysis.comparison.plans import PlanPair, plans_note
from hdbkit.analysis.comparison.sides import Compared, settings_apart
from hdbkit.analysis.wording import percent, percents
from hdbkit.charts.chart import Chart
from hdbkit.config.metric import Metric
from hdbkit.report.checks import checks_over_runs
from hdbkit.report.environment import environment
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.tables import MARKS, Table, cell, heading, milliseconds, plan_pair_tables, text_table
from hdbkit.results.kept_settings import known_settings
from hdbkit.text import number, percent_of

_COUNTED = 30
"""The number of counters in a table."""


class Sides(Protocol):
    """What a comparison has found (``hdbkit.api.Comparison``, which describes the frames)."""

    @property
    def sides(self) -> Groups:
        """Base and new, in this order, each by its name and its runs."""

    @property
    def answer(self) -> str:
        """The verdict and what it is based on."""

    @property
    def notice(self) -> str:
        """The notice of the workload."""

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
    def by_users(self) -> pd.DataFrame:
        """The ratios at each count of virtual users; empty where there is just one."""

    @property
    def by_operation(self) -> pd.DataFrame:
        """The ratios of each operation; may be empty."""

    @property
    def warnings(self) -> list[str]:
        """What the ratio reflects beside the servers, each without its full stop."""

    @property
    def explanation(self) -> Explanation | None:
        """Why one side is faster; None where that was not sampled."""

    @property
    def plans(self) -> list[PlanPair]:
        """The plans of each query on both sides."""

    @property
    def metric(self) -> Metric:
        """The metric of all runs."""

    @property
    def command(self) -> str:
        """The command that repeats the comparison."""

    def charts(self) -> dict[str, Chart]:
        """Its charts by their keys."""


def compare_report(path: Path, found: Sides) -> Path:
    """Write the report of a comparison to ``path`` and return the path."""
    names, (base, new), metric = list(found.sides), list(found.sides.values()), found.metric
    manifests = [manifest for side in (base, new) for _, manifest in side]
    page = Page(
        kicker=f"{names[1]} against {names[0]}",
        question="Is the new side faster than the base?",
        answer=found.answer,
        notice=found.notice,
        command=found.command,
        warnings=[f"{one}." for one in found.warnings],
        figures=_key_figures(found, len(base), len(new)),
        tables=tables(found),
        charts=list(found.charts().values()),
        plans=plan_pair_tables(found.plans, names),
        plans_title=plans_note(found.plans),
        checks=checks_over_runs(manifests),
        environment=environment(base[0][1], known_settings(base[0][0])),
        journal=[_journal(found.sides, metric)],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_page(path, page)


def _key_figures(found: Sides, base: int, new: int) -> list[Figure]:
    ratio, metric = found.compared.ratio, found.metric
    known = pd.notna(ratio.low)
    return [
        Figure("base", _value(found.table, "base", metric), f"{metric.name}, {_runs(base)}"),
        Figure("new", _value(found.table, "new", metric), f"{metric.name}, {_runs(new)}"),
        Figure("change", percent(ratio.ratio, metric), "of geometric means"),
        Figure(
            "95 % interval",
            percents(ratio.low, ratio.high, metric) if known else cell(None),
            found.compared.design.words if known else "nothing is replicated",
        ),
    ]


def tables(found: Sides) -> list[Table]:
    """The verdicts by virtual users and by operation, both sides' figures, and what differed."""
    by = [*users_table(found.by_users, found.metric), *operations_table(found.by_operation, found.metric)]
    figures = figures_table(found.table, found.metric)
    return [*by, figures, *_counted(found.explanation), *differences_table(found.differences)]


def _counted(why: Explanation | None) -> list[Table]:
    """What the server counted and differs, in all and by statement; none where nothing does."""
    listed = [*why.counters, *why.statements][:_COUNTED] if why else []
    if not why or not listed:
        return []
    rows = [[one.name, number(one.base), number(one.new), number(one.p, 2)] for one in listed]
    note = "Counters of the server that differ, with a false discovery rate of 5 %; not every one is a cause."
    title = f"What the server did differently, per {why.noun}"
    return [Table(title, ["what", "base", "new", "p"], rows, [False, True, True, True], note=note)]


def figures_table(figures: pd.DataFrame, metric: Metric) -> Table:
    """Both sides' figures and the change between them, with the intervals of latencies."""
    head = ["figure", "base", "new", "change", "95 % interval"]
    rows = [
        [
            _named(str(name), metric),
            *(milliseconds(one) if _is_time(str(name)) else cell(one) for one in (base, new)),
            percent_of(change) if pd.notna(change) else cell(None),
            f"{percent_of(low)} to {percent_of(high)}" if pd.notna(low) else "",
        ]
        for name, base, new, change, low, high in figures[["base", "new", "change", "low", "high"]].itertuples()
    ]
    note = (
        "Without intervals: a difference here may be noise, of percentiles above all."
        if figures["low"].drop("metric_value").isna().all()
        else "The intervals hold together over all latencies; a change whose interval contains 0 may be noise."
    )
    return Table("Both sides, means over their runs", head, rows, [False, *[True] * 4], note=note)


def users_table(by_users: pd.DataFrame, metric: Metric) -> list[Table]:
    """The comparison at each count of virtual users; none where there is just one."""
    if by_users.empty:
        return []
    per_s = [f"{side} {heading('operations_per_s')}" for side in ("base", "new")]
    values = [f"base {metric.name}", f"new {metric.name}", *per_s]
    head = ["users", *values, "change", "95 % interval", "verdict", "in words"]
    rows = [
        [cell(row["virtual_users"]), metric.number(row["base"]), metric.number(row["new"]),
         cell(row["base_operations_per_s"]), cell(row["new_operations_per_s"]), percent(row["ratio"], metric),
         "" if pd.isna(row["low"]) else percents(row["low"], row["high"], metric),
         cell(row["verdict"]), cell(row["sentence"])]
        for row in by_users.to_dict("records")
    ]  # fmt: skip
    note = "The intervals hold together over all counts of virtual users."
    numeric = [*[True] * 7, False, False]
    marks = [MARKS.get(str(verdict), "") for verdict in by_users["verdict"]]
    return [Table("At each count of virtual users", head, rows, numeric, marks, note)]


def operations_table(by_operation: pd.DataFrame, metric: Metric) -> list[Table]:
    """The comparison of each operation; none where the metric is no mean over operations."""
    if by_operation.empty:
        return []
    rows = [
        [row["operation"], cell(row["base"]), cell(row["new"]),
         "" if pd.isna(row["ratio"]) else percent(row["ratio"], metric),
         "" if pd.isna(row["low"]) else percents(row["low"], row["high"], metric),
         cell(row["verdict"])]
        for row in by_operation.to_dict("records")
    ]  # fmt: skip
    head = ["operation", "base (s)", "new (s)", "change", "95 % interval", "verdict"]
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


def differences_table(differences: pd.DataFrame) -> list[Table]:
    """What differed, as one table; none where nothing did."""
    if differences.empty:
        return []
    listed, apart = settings_apart(differences)
    rows = [[str(name), base, new] for name, base, new in listed.itertuples()]
    table = text_table("What differed between the first runs of both sides", ["what", "base", "new"], rows)
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
