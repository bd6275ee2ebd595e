"""The charts of a sweep that look into its runs: throughput over time, and the latency of each transaction.

Frames: ``runs`` and ``verdicts`` as in :mod:`hdbkit.charts.sweep_charts`, ``courses`` and ``latencies`` as
``analysis.details`` gives them. Both charts are drawn at the largest count of virtual users, for the baseline and the
fastest configurations; their tables hold every configuration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hdbkit.analysis.wording import virtual_users
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import MARKERS, NOPM, SERIES, figure, log_axis, series, shade_rampup

MOST_LINES = len(SERIES)
MOST_ROWS = 4
QUANTILES = {"p50": "p50_us", "p95": "p95_us", "p99": "p99_us", "p99.9": "p999_us"}
_SIGNS = "\N{BLACK CIRCLE}\N{BLACK SQUARE}\N{BLACK DIAMOND}\N{BLACK UP-POINTING TRIANGLE}"
"""The first markers of the palette as letters."""


_Typical = dict[tuple[int, str], list[float]]
"""The quantiles of a configuration and transaction, in ms."""


@dataclass(frozen=True)
class Line:
    """A configuration that is drawn; ``look`` is its place in the palette, the same in every chart."""

    look: int
    configuration: int
    label: str


def detail_charts(
    runs: pd.DataFrame, verdicts: pd.DataFrame, courses: pd.DataFrame, latencies: pd.DataFrame, counted: str
) -> list[Chart]:
    """Both charts, each where its data are there; ``counted`` is the transaction that NOPM counts."""
    users = int(runs["virtual_users"].max()) if len(runs) else 0
    at = verdicts[verdicts["virtual_users"] == users]
    labels = at.set_index("configuration")["label"]
    place = runs[runs["virtual_users"] == users][["run_id", "configuration"]]
    courses, latencies = courses.merge(place, on="run_id"), latencies.merge(place, on="run_id")
    charts = []
    if len(courses):
        charts.append(throughput_over_time(courses, labels, _drawn(at, MOST_LINES, MOST_LINES), users))
    if len(latencies):
        charts.append(latency_by_operation(latencies, labels, _drawn(at, MOST_ROWS, 2), users, counted))
    return charts


def _drawn(verdicts: pd.DataFrame, most: int, otherwise: int) -> list[Line]:
    """All configurations with a result where they are at most ``most``, else the baseline and the fastest others."""
    known = verdicts[verdicts["metric_value"].notna()].sort_values("configuration").set_index("configuration")
    ranked = known.assign(first=known["verdict"] == "baseline").sort_values(
        ["first", "metric_value"], ascending=False
    )
    places = list(ranked.index if len(known) > MOST_LINES else known.index)
    drawn = known.index if len(known) <= most else ranked.index[:otherwise]
    return [Line(places.index(one), int(one), str(known.loc[one, "label"])) for one in drawn]


def throughput_over_time(courses: pd.DataFrame, labels: pd.Series[str], drawn: list[Line], users: int) -> Chart:
    """NOPM along the run: a line is the median over a configuration's runs, its band spans them."""
    fig = figure("seconds since the start", NOPM, hovermode="x")
    start_s = float(courses.loc[courses["inside"], "second"].min())
    shade_rampup(fig, start_s)
    for line in drawn:
        fig.add_traces(course_lines(line, courses))
    fig.update_yaxes(rangemode="tozero")
    table = halves(courses, labels)
    drifts = table["second half against first (%)"].dropna()
    said = [f"{one.label} {drifts[one.configuration]:+.1f} %" for one in drawn if one.configuration in drifts]
    words = [
        f"The second half of the window against its first: {'; '.join(said)}." if said else "",
        "Lines are medians over a configuration's runs, bands span them;",
        f"by the clients' count, at {virtual_users(users)}.",
        _left_out(len(drawn), len(labels)),
    ]
    question = "Was the throughput steady in every configuration?"
    return Chart("throughput", question, fig, " ".join(one for one in words if one), table)


def course_lines(line: Line, courses: pd.DataFrame) -> list[go.Scatter]:
    """The median over a configuration's runs along their seconds, and the band that spans them."""
    rows = courses[courses["configuration"] == line.configuration]
    spread = rows.groupby("second")["metric_value"].agg(["min", "median", "max"])
    look, seconds = series(line.look), spread.index.tolist()
    band = go.Scatter(
        x=[*seconds, *reversed(seconds)],
        y=[*_whole(spread["max"]), *reversed(_whole(spread["min"]))],
        mode="lines", line={"width": 0, "color": look["color"]}, fill="toself", fillcolor=look["color"],
        opacity=0.14, hoverinfo="skip", showlegend=False, legendgroup=line.label,
    )  # fmt: skip
    median = go.Scatter(
        x=seconds, y=_whole(spread["median"]), mode="lines", name=line.label, legendgroup=line.label,
        line={"color": look["color"], "dash": look["dash"], "width": 2},
        hovertemplate="%{y:,.0f} NOPM",
    )  # fmt: skip
    return [band, median]


def _whole(values: pd.Series[float]) -> list[int]:
    return [round(value) for value in values]


def halves(courses: pd.DataFrame, labels: pd.Series[str]) -> pd.DataFrame:
    """Each configuration's throughput by the second in the window, and the drift that its runs share (median)."""
    rows = {}
    for configuration, of_it in courses[courses["inside"]].groupby("configuration"):
        changes = []
        for _, run in of_it.groupby("run_id"):
            half = len(run) // 2
            first, second = run["metric_value"].head(half).mean(), run["metric_value"].tail(half).mean()
            changes.append(100 * (second / first - 1) if half and first else np.nan)
        rows[configuration] = {
            "configuration": labels[configuration],
            "runs": len(changes),
            **{f"{name} NOPM": round(getattr(of_it["metric_value"], how)()) for name, how in _SPREAD.items()},
            "second half against first (%)": round(float(pd.Series(changes).median()), 1),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


_SPREAD = {"lowest": "min", "median": "median", "highest": "max"}


def latency_by_operation(
    latencies: pd.DataFrame, labels: pd.Series[str], drawn: list[Line], users: int, counted: str
) -> Chart:
    """The exact quantiles of each transaction, a row a configuration: medians over its runs."""
    medians = latencies.groupby(["configuration", "operation"])[list(QUANTILES.values())].median() / 1000
    typical: _Typical = {(int(one), str(name)): values for (one, name), *values in medians.itertuples()}
    names = list(dict.fromkeys(latencies["operation"]))
    signs = " ".join(f"{sign} {name}" for sign, name in zip(_SIGNS, QUANTILES, strict=True))
    tall = len(drawn) + 1
    fig = figure(f"service time (ms, log): {signs}", "", height=150 + 17 * tall * len(names))
    for row, line in enumerate(drawn):
        fig.add_trace(_quantiles(line, row, tall, names, typical))
    middles = [-(tall * index + (len(drawn) - 1) / 2) for index in range(len(names))]
    fig.update_yaxes(
        tickvals=middles, ticktext=names, range=[1 - tall * len(names), 1], showgrid=False, zeroline=False
    )
    fig.update_xaxes(**log_axis(value for trace in fig.data for value in trace.x if value is not None))
    known = [(line.label, typical.get((line.configuration, counted))) for line in drawn]
    said = "; ".join(f"{label} {values[1]:.3g} ms" for label, values in known if values)
    words = [
        f"95 % of {counted} took at most: {said}." if said else "",
        f"Exact figures of each run's window, medians over the runs, at {virtual_users(users)}.",
        _left_out(len(drawn), len(labels)),
    ]
    table = _latency_table(latencies, labels, names)
    return Chart("latency", "How long did each transaction take?", fig, " ".join(filter(None, words)), table)


def _quantiles(line: Line, row: int, tall: int, names: list[str], typical: _Typical) -> go.Scatter:
    """One configuration: a line with a marker at each quantile, broken between two transactions."""
    look = series(line.look)
    x: list[float | None] = []
    y: list[float] = []
    said: list[str] = []
    for index, name in enumerate(names):
        values = typical.get((line.configuration, name), [])
        if not values:
            continue
        x += [*(round(value, 4) for value in values), None]
        y += [-(tall * index + row)] * (len(values) + 1)
        said += [f"{name} {quantile} {value:.3g} ms" for quantile, value in zip(QUANTILES, values, strict=True)]
        said.append("")
    symbols = [*MARKERS[: len(QUANTILES)], MARKERS[0]] * (len(x) // (len(QUANTILES) + 1))
    return go.Scatter(
        x=x, y=y, text=said, name=line.label, mode="lines+markers",
        line={"color": look["color"], "width": 1.5}, marker={"color": look["color"], "size": 8, "symbol": symbols},
        hovertemplate="%{text}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _latency_table(latencies: pd.DataFrame, labels: pd.Series[str], names: list[str]) -> pd.DataFrame:
    """Every configuration and transaction: medians over the runs, in ms."""
    groups = latencies.groupby(["configuration", "operation"])
    table = (groups[list(QUANTILES.values())].median() / 1000).round(4)
    table.columns = pd.Index([f"{name} (ms)" for name in QUANTILES])
    table.insert(0, "runs", groups["run_id"].nunique())
    table = table.reset_index().sort_values(
        ["operation", "configuration"], key=lambda one: one.map(names.index) if one.name == "operation" else one
    )
    return table.assign(configuration=table["configuration"].map(labels), operation=table["operation"])


def _left_out(drawn: int, known: int) -> str:
    others = "fastest other" if drawn == 2 else f"{drawn - 1} fastest others"
    return f"Drawn are the baseline and the {others}; the table has all {known}." if drawn < known else ""
