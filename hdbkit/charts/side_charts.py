"""Two sides of a comparison over time, on one axis: latency, waits of sessions, and the load host's processors.

Each is a mean over the first runs of a side, aligned at the starts of their windows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hdbkit.analysis.run import quantiles
from hdbkit.analysis.run.host_activity import cpu_course
from hdbkit.analysis.run.records import Window, table, window_of
from hdbkit.analysis.run.waits import CLASSES, sessions_over_time
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import add_line, figure
from hdbkit.charts.wait_charts import add_classes
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import number

RunsOfSide = Sequence[tuple[RunFolder, Manifest]]
TIME_AXIS = "seconds since the window's start"
_RUNS = 5
"""The runs of a side that are read."""
_WAITS_PX = 260


def side_charts(groups: Mapping[str, RunsOfSide], headline: str) -> list[Chart]:
    """The charts of both sides that their data allow; the waits of each side are a chart of their own."""
    waits = {name: _mean(runs, _waits) for name, runs in groups.items()}
    most = max((float(one[_classes(one)].sum(axis=1).max()) for one in waits.values() if len(one)), default=0.0)
    return [
        *_lines(groups, lambda run, end: _p95(run, end, headline), "p95", f"p95 of {headline} (ms)", "ms"),
        *(_waits_of(name, index, course, most) for index, (name, course) in enumerate(waits.items()) if len(course)),
        *_lines(groups, _busy, "busy", "load host's processors busy (%)", "%"),
    ]


def _lines(
    groups: Mapping[str, RunsOfSide],
    course: Callable[[RunFolder, Window], pd.DataFrame],
    key: str,
    axis: str,
    unit: str,
) -> list[Chart]:
    """One line for each side; no chart where one of them is unknown."""
    found = {name: _mean(runs, course) for name, runs in groups.items()}
    if any(one.empty for one in found.values()):
        return []
    fig = figure(TIME_AXIS, axis, showlegend=True)
    for index, (name, one) in enumerate(found.items()):
        hover_text = f"%{{x}} s: %{{y:,.3~r}} {unit}<extra>%{{fullData.name}}</extra>"
        add_line(fig, index, one.index.tolist(), one[key].round(3).tolist(), name, hover_text)
    fig.update_yaxes(rangemode="tozero")
    words = "; ".join(f"{name} {number(one[key].mean(), 3)} {unit}" for name, one in found.items())
    of_sides = (course[[key]].rename_axis("second").reset_index().assign(side=name) for name, course in found.items())
    frame = pd.concat(of_sides, ignore_index=True)
    question = "When was one side slower?" if key == "p95" else "How busy were the load host's processors?"
    return [Chart(f"{key}_over_time", question, fig, f"{axis}, mean over the window: {words}.", frame.round(3))]


def _waits_of(name: str, index: int, course: pd.DataFrame, most: float) -> Chart:
    fig = figure(TIME_AXIS, "sessions (mean)", _WAITS_PX)
    add_classes(fig, course.reset_index(names="second"))
    fig.update_yaxes(range=[0, 1.05 * most])
    means = course[_classes(course)].mean().sort_values(ascending=False)
    words = ", ".join(f"{one} {number(share, 2)}" for one, share in means.items() if share >= 0.005)
    frame = course.reset_index(names="second").round(3)
    return Chart(f"waits_{index}", f"What did sessions of {name} wait for?", fig, f"Mean sessions: {words}.", frame)


def _classes(course: pd.DataFrame) -> list[str]:
    return [one for one in CLASSES if one in course]


def _mean(runs: RunsOfSide, course: Callable[[RunFolder, Window], pd.DataFrame]) -> pd.DataFrame:
    """The mean over runs by second of the window; empty where one of them has no course."""
    found = []
    for folder, manifest in runs[:_RUNS]:
        if manifest.measured_by:
            return pd.DataFrame()
        window = window_of(manifest)
        one = course(folder, window)
        first, last = round(window.start_us / 1e6), int(window.end_us / 1e6)
        inside = one[one.index.to_series().between(first, last - 1)] if len(one) else one
        if inside.empty:
            return pd.DataFrame()
        found.append(inside.set_axis(inside.index - first))
    return pd.concat(found).fillna(0).groupby(level=0).mean()


def _waits(folder: RunFolder, _: Window) -> pd.DataFrame:
    found = sessions_over_time(folder, 1)
    return pd.DataFrame() if found is None else found.set_index("second")


def _p95(folder: RunFolder, window: Window, headline: str) -> pd.DataFrame:
    found = quantiles.by_second(folder, Window(0, window.end_us))
    of_headline = found[found["operation"] == folder.read().operations.index(headline)]
    return of_headline.set_index("second")[["p95_us"]].div(1000).set_axis(["p95"], axis=1)


def _busy(folder: RunFolder, _: Window) -> pd.DataFrame:
    host = table(folder, "host")
    if host is None or len(host) < 2:
        return pd.DataFrame()
    course = cpu_course(host)
    busy = course.drop(columns=["second", "idle", "iowait"], errors="ignore").sum(axis=1)
    return busy.groupby(np.floor(course["second"]).astype(int)).mean().to_frame("busy")
