"""The charts of a sweep that look into its runs: throughput over time, latency of each operation.

Frames: ``runs`` and ``verdicts`` as in :mod:`hdbkit.charts.sweep_charts`, ``courses`` and ``latencies`` as
``courses.courses`` gives them. Both charts are drawn at the largest count of virtual users, for the baseline and
the fastest configurations; their tables hold every configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import plain
from hdbkit.charts.marks import left_out
from hdbkit.charts.style import (
    MARKERS,
    MAX_COLOURED,
    axis_title,
    compact,
    figure,
    hover,
    log_axis,
    series,
    shade_rampup,
)
from hdbkit.config.metric import Metric
from hdbkit.later import graph_objects as go
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Ratio, Verdict
from hdbkit.results.manifest import Manifest
from hdbkit.text import number, virtual_users

_MAX_ROWS = 4
_QUANTILES = {"p50": "p50_us", "p95": "p95_us", "p99": "p99_us", "p99.9": "p999_us"}
_SIGNS = "\N{BLACK CIRCLE}\N{BLACK SQUARE}\N{BLACK DIAMOND}\N{BLACK UP-POINTING TRIANGLE}"
"""The first markers of the palette as letters."""
_Typical = dict[tuple[int, str], list[float]]
"""The quantiles of a configuration and operation, in ms."""


@dataclass(frozen=True)
class Line:
    """A configuration that is drawn; ``look`` is its place in the palette, the same in every chart."""

    look: int
    configuration: int
    label: str


def detail_charts(
    runs: pd.DataFrame, ratios: Sequence[Ratio], courses: pd.DataFrame, latencies: pd.DataFrame, first: Manifest
) -> list[Chart]:
    """Both charts, each where its data are there; ``first`` is the manifest of a run of the sweep."""
    users = int(runs["virtual_users"].max()) if len(runs) else 0
    at = [ratio for ratio in ratios if ratio.virtual_users == users]
    labels = pd.Series({ratio.configuration: ratio.label for ratio in at}, dtype=object)
    configurations = runs[runs["virtual_users"] == users][["run_id", "configuration"]]
    courses = courses.merge(configurations, on="run_id")
    latencies = latencies.merge(configurations, on=[name for name in configurations if name in latencies])
    charts, metric = [], first.metric
    if len(courses):
        drawn = drawn_lines(at, metric, MAX_COLOURED, MAX_COLOURED)
        charts.append(_throughput_over_time(courses, labels, metric.rate, drawn, users))
    if len(latencies):
        drawn = drawn_lines(at, metric, _MAX_ROWS, 2)
        charts.append(_latency_by_operation(latencies, labels, drawn, users, first))
    return charts


def drawn_lines(ratios: Sequence[Ratio], metric: Metric, maximum: int, otherwise: int) -> list[Line]:
    """All configurations with a result where ``maximum`` suffices, else the baseline and the fastest others."""
    known = sorted((ratio for ratio in ratios if ratio.value is not None), key=lambda ratio: ratio.configuration or 0)
    ranked = sorted(
        known, key=lambda ratio: (ratio.verdict is not Verdict.BASELINE, -metric.score(ratio.value or 1.0))
    )
    places = [ratio.configuration for ratio in (ranked if len(known) > MAX_COLOURED else known)]
    drawn = known if len(known) <= maximum else ranked[:otherwise]
    return [Line(places.index(ratio.configuration), ratio.configuration or 0, ratio.label) for ratio in drawn]


def _throughput_over_time(
    courses: pd.DataFrame, labels: pd.Series[str], rate: Metric, drawn: list[Line], users: int
) -> Chart:
    """The rate along the run: a line is the median over a configuration's runs, its band spans them."""
    fig = figure("seconds since the start", axis_title(rate), hovermode="x")
    start_s = float(courses.loc[courses["inside"], "second"].min())
    shade_rampup(fig, start_s)
    for line in drawn:
        fig.add_traces(course_lines(line, courses, rate))
    fig.update_yaxes(rangemode="tozero")
    table = halves(courses, labels, rate)
    drifts = table["second half against first (%)"].dropna()
    changes = [f"{one.label} {drifts[one.configuration]:+.1f} %" for one in drawn if one.configuration in drifts]
    words = [
        f"The second half of the window against its first: {'; '.join(changes)}." if changes else "",
        "Lines are medians over a configuration's runs, bands span them;",
        f"counted by the clients, at {virtual_users(users)}.",
        left_out(len(drawn), len(labels), baseline=True),
    ]
    question = "Was the throughput steady in every configuration?"
    return Chart("throughput", question, fig, " ".join(one for one in words if one), table)


def course_lines(line: Line, courses: pd.DataFrame, rate: Metric) -> list[go.Scatter]:
    """The median over a configuration's runs along their seconds, and the band that spans them."""
    rows = courses[courses["configuration"] == line.configuration]
    spread = rows.groupby("second")["rate"].agg(["min", "median", "max"])
    look, seconds = series(line.look), spread.index.tolist()
    band = go.Scatter(
        x=[*seconds, *reversed(seconds)],
        y=[*plain(spread["max"]), *reversed(plain(spread["min"]))],
        mode="lines", line={"width": 0, "color": look["color"]}, fill="toself", fillcolor=look["color"],
        opacity=0.14, hoverinfo="skip", showlegend=False, legendgroup=line.label,
    )  # fmt: skip
    median = go.Scatter(
        x=seconds, y=plain(spread["median"]), mode="lines", name=line.label, legendgroup=line.label,
        line={"color": look["color"], "dash": look["dash"], "width": 2},
        hovertemplate=hover(rate, spread["max"]),
    )  # fmt: skip
    return [band, median]


def halves(courses: pd.DataFrame, labels: pd.Series[str], rate: Metric) -> pd.DataFrame:
    """Each configuration's throughput by the second in the window, and the drift that its runs share (median)."""
    rows = {}
    for configuration, of_it in courses[courses["inside"]].groupby("configuration"):
        changes = []
        for _, run in of_it.groupby("run_id"):
            half = len(run) // 2
            first, second = run["rate"].head(half).mean(), run["rate"].tail(half).mean()
            changes.append(100 * (second / first - 1) if half and first else np.nan)
        rows[configuration] = {
            "configuration": labels[configuration],
            "runs": len(changes),
            **{f"{name} {rate.name}": compact(getattr(of_it["rate"], how)()) for name, how in _SPREAD.items()},
            "second half against first (%)": round(float(pd.Series(changes).median()), 1),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


_SPREAD = {"lowest": "min", "median": "median", "highest": "max"}


def _latency_by_operation(
    latencies: pd.DataFrame, labels: pd.Series[str], drawn: list[Line], users: int, first: Manifest
) -> Chart:
    """The exact quantiles of each operation, a row per configuration: medians over its runs."""
    medians = latencies.groupby(["configuration", "operation"])[list(_QUANTILES.values())].median() / 1000
    typical: _Typical = {(int(one), str(name)): values for (one, name), *values in medians.itertuples()}
    names = list(dict.fromkeys(latencies["operation"]))
    signs = " ".join(f"{sign} {name}" for sign, name in zip(_SIGNS, _QUANTILES, strict=True))
    tall = len(drawn) + 1
    fig = figure(f"service time (ms, log): {signs}", "", height=150 + 17 * tall * len(names))
    for row, line in enumerate(drawn):
        fig.add_trace(_quantiles(line, row, tall, names, typical))
    middles = [-(tall * index + (len(drawn) - 1) / 2) for index in range(len(names))]
    fig.update_yaxes(
        tickvals=middles, ticktext=names, range=[1 - tall * len(names), 1], showgrid=False, zeroline=False
    )
    fig.update_xaxes(**log_axis(value for trace in fig.data for value in trace.x if value is not None))
    known = [(line.label, typical.get((line.configuration, first.headline))) for line in drawn]
    figures = "; ".join(f"{label} {number(values[1], 3)} ms" for label, values in known if values and values[1] > 0)
    words = [
        f"95 % of {first.headline} took at most: {figures}." if figures else "",
        f"Exact figures of each run's window, medians over the runs, at {virtual_users(users)}.",
        left_out(len(drawn), len(labels), baseline=True),
    ]
    table = _latency_table(latencies, labels, names)
    return Chart("latency", f"How long did each {first.noun} take?", fig, " ".join(filter(None, words)), table)


def _quantiles(line: Line, row: int, tall: int, names: list[str], typical: _Typical) -> go.Scatter:
    """One configuration: a line with a marker at each quantile, broken between two operations."""
    look = series(line.look)
    x: list[float | None] = []
    y: list[float] = []
    hovers: list[str] = []
    for index, name in enumerate(names):
        values = typical.get((line.configuration, name), [])
        if not values:
            continue
        x += [*plain(values), None]
        y += [-(tall * index + row)] * (len(values) + 1)
        hovers += [f"{name} {quantile} {number(ms, 3)} ms" for quantile, ms in zip(_QUANTILES, values, strict=True)]
        hovers.append("")
    symbols = [*MARKERS[: len(_QUANTILES)], MARKERS[0]] * (len(x) // (len(_QUANTILES) + 1))
    return go.Scatter(
        x=x, y=y, text=hovers, name=line.label, mode="lines+markers", cliponaxis=False,
        line={"color": look["color"], "width": 1.5}, marker={"color": look["color"], "size": 8, "symbol": symbols},
        hovertemplate="%{text}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _latency_table(latencies: pd.DataFrame, labels: pd.Series[str], names: list[str]) -> pd.DataFrame:
    """Every configuration and operation: medians over the runs, in ms."""
    groups = latencies.groupby(["configuration", "operation"])
    table = (groups[list(_QUANTILES.values())].median() / 1000).round(4)
    table.columns = pd.Index([f"{name} (ms)" for name in _QUANTILES])
    table.insert(0, "runs", groups["run_id"].nunique())
    table = table.reset_index().sort_values(
        ["operation", "configuration"], key=lambda one: one.map(names.index) if one.name == "operation" else one
    )
    return table.assign(configuration=table["configuration"].map(labels), operation=table["operation"])
