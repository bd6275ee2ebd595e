"""The list of runs as people read it: name, result with a bar, change, p95, checks, course, age, and what differs.

One table of HTML without script: the repr of ``hdbkit.runs()``, the home of the app and the index of a site.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from hdbkit.later import pandas as pd
from hdbkit.report import templates
from hdbkit.report.tables import cell
from hdbkit.results.differences import short_names
from hdbkit.text import number

MAX_DIFFERING = 6
"""Columns of options and settings in which the runs differ; the others are in the run's report."""
_COSTS = {
    "mean_us": 1e3, "cpu_pct": 1.0, "memory_used_bytes": 2.0**30, "disk_read_bytes_per_s": 1e6,
    "disk_write_bytes_per_s": 1e6,
}  # fmt: skip
_HEADS = {
    "mean_us": "mean (ms)", "cpu_pct": "CPU (%)", "memory_used_bytes": "memory (GiB)",
    "disk_read_bytes_per_s": "reads (MB/s)", "disk_write_bytes_per_s": "writes (MB/s)",
}  # fmt: skip
"""Columns of the catalog that are shown, what they are divided by, and their heads."""
BASELINE = "baseline"
"""The tag of the run that others are compared with in lists."""
MINUS = "\N{MINUS SIGN}"
_WIDTH, _HEIGHT = 96, 20
_STEPS = ((60, "s"), (60, "min"), (24, "h"), (365, "days"))


@dataclass(frozen=True)
class _Line:
    """A row of the list."""

    run_id: str
    name: str
    link: str
    value: str
    unit: str
    share: float
    """The result in percent of the largest one of its metric."""
    is_highest: bool
    """It is the largest one of several of its metric."""
    change: str
    p95: str
    failed: int
    """The checks that failed."""
    status: str
    course: Markup
    age: str
    at: str
    differing: Sequence[str]
    facts: Mapping[str, str]
    """What a page can filter by; ``words`` are searched beside those that are shown."""
    costs: Sequence[str] = ()
    """The mean time and what the host did, those that any run has."""


def run_list(
    runs: pd.DataFrame,
    differences: pd.DataFrame,
    outlines: Mapping[str, Sequence[float]],
    *,
    link: Callable[[str], str] = lambda _: "",
    baseline: pd.Series[Any] | None = None,
    note: str = "",
    dated: bool = False,
) -> Markup:
    """The table.

    Args:
        runs: a row per run, as the catalog lists them.
        differences: their options and settings that differ, a column each.
        outlines: the course of each run's window, by its id.
        link: the page of a run, by its id; empty: none.
        baseline: the run that the others are compared with; None: there is none.
        note: a line below the table.
        dated: show when runs started instead of how long ago, for pages that are kept.
    """
    runs = runs.astype({"metric_value": float, "p95_us": float})  # objects where no run has one
    names = short_names(runs, differences)
    beside = {"server": runs["version"].fillna(runs["database"]), "users": runs["virtual_users"]}
    several = {name: values for name, values in beside.items() if values.nunique() > 1}
    differing = differences.assign(**several)[[*several, *differences]].iloc[:, :MAX_DIFFERING]
    columns = [str(name) for name in differing]
    known = [name for name in _COSTS if name in runs and runs[name].notna().any()]
    costs = runs[known].astype(float) / pd.Series(_COSTS)[known]
    largest = runs.groupby("metric")["metric_value"].max()
    best = set(highest(runs)["run_id"])
    lines = [
        _Line(
            run_id=str(run["run_id"]),
            name=str(name),
            link=link(str(run["run_id"])),
            value=number(run["metric_value"]) if run["metric_value"] > 0 else "",
            unit=str(run["metric"]),
            share=100 * run["metric_value"] / largest[run["metric"]] if run["metric_value"] > 0 else 0.0,
            is_highest=run["run_id"] in best,
            change=_change(run, baseline),
            p95=number(run["p95_us"] / 1000, 3) if run["p95_us"] > 0 else "",
            failed=int(run["checks_failed"] or 0),
            status=str(run["status"]),
            course=outline_svg(outlines.get(str(run["run_id"]), ())),
            age=str(run["started"] or "")[:16].replace("T", " ") if dated else age(run["started"]),
            at=str(run["started"] or ""),
            differing=[cell(value) for value in others],
            costs=["" if pd.isna(value) else number(value, 3) for value in of_costs],
            facts={
                "kind": "run",
                "database": str(run["database"]),
                "workload": str(run["workload"]),
                "state": "check failed" if run["checks_failed"] else str(run["status"]),
                "words": " ".join(str(run[one] or "") for one in ("run_id", "target", "label", "tags", "note")),
            },
        )
        for run, name, others, of_costs in zip(
            runs.to_dict("records"),
            names,
            differing.itertuples(index=False),
            pd.DataFrame(costs, index=runs.index).itertuples(index=False),
            strict=True,
        )
    ]
    text = templates().get_template("run_list.html").render(
        lines=lines, columns=columns, costs=[_HEADS[name] for name in known], note=note,
        compared=baseline is not None, metric=next(iter(largest.index)) if len(largest) == 1 else "",
    )  # fmt: skip
    return Markup(text)  # noqa: S704 (the template escapes)


def highest(runs: pd.DataFrame) -> pd.DataFrame:
    """The run with the highest result of each metric that several runs have."""
    known = runs[runs["metric_value"] > 0]
    several = known[known.groupby("metric")["metric_value"].transform("size") > 1]
    return several.sort_values("metric_value", ascending=False).drop_duplicates("metric")


def _change(run: Mapping[Any, Any], baseline: pd.Series[Any] | None) -> str:
    """The change to the baseline, where both have a value of the same metric."""
    if baseline is None or not run["metric_value"] > 0 or run["metric"] != baseline["metric"]:
        return ""
    if run["run_id"] == baseline["run_id"]:
        return BASELINE
    change = 100 * (run["metric_value"] / baseline["metric_value"] - 1)
    return f"{'+' if change >= 0 else MINUS}{abs(change):.1f} %"


def age(started: Any, now: datetime | None = None) -> str:
    """How long ago a moment of ISO 8601 was: ``5 min ago``; empty for none."""
    if not started:
        return ""
    left = max(0.0, ((now or datetime.now(UTC)) - datetime.fromisoformat(str(started))).total_seconds())
    for size, unit in _STEPS:
        if left < size or unit == "days":
            return f"{left:.0f} {unit if round(left) != 1 else unit.removesuffix('s') or unit} ago"
        left /= size
    raise AssertionError("the last step has no end")


def outline_svg(points: Sequence[float]) -> Markup:
    """The course of a window as a line from zero to its highest point; empty for fewer than two points."""
    if len(points) < 2 or not max(points) > 0:
        return Markup("")
    step, top = _WIDTH / (len(points) - 1), max(points)
    places = " ".join(f"{i * step:.1f},{_HEIGHT - 1 - (_HEIGHT - 2) * one / top:.1f}" for i, one in enumerate(points))
    return Markup(
        '<svg width="{}" height="{}" viewBox="0 0 {} {}" aria-hidden="true"><polyline points="{}" fill="none" '
        'stroke="currentColor" stroke-width="1.3"/></svg>'
    ).format(_WIDTH, _HEIGHT, _WIDTH, _HEIGHT, places)
