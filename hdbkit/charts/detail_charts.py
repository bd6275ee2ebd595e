"""The charts of a sweep that look into its runs: throughput over time, latency of each operation, slices.

Frames: ``runs`` as ``results.experiment_folder.runs_frame``, ``courses`` and ``latencies`` as ``timeline.courses``
gives them. Both charts are drawn at the largest count of virtual users, for the baseline and
the fastest configurations; their tables hold every configuration.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hdbkit.analysis.run.quantiles import supported
from hdbkit.analysis.run.records import Window, operations_of, quoted
from hdbkit.analysis.run.slices import mean_of
from hdbkit.analysis.sweep.answers import in_these_runs
from hdbkit.analysis.wording import label, percent_of_ratio
from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import MAX_DOTS, Limits, left_out, plain, ratio_axis
from hdbkit.charts.style import (
    MARKERS,
    MAX_COLOURED,
    along_run,
    axis_title,
    colour,
    compact,
    figure,
    hover,
    log_axis,
    series,
    shade_rampup,
)
from hdbkit.config.metric import DetailChart, Measure, Metric
from hdbkit.results.columns import Outcome
from hdbkit.results.finding import Ratio, Verdict, frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, number, plural, virtual_users

MAX_ROWS = 4
QUANTILES = {"p50": "p50_us", "p95": "p95_us", "p99": "p99_us", "p99.9": "p999_us"}
_SIGNS = "\N{BLACK CIRCLE}\N{BLACK SQUARE}\N{BLACK DIAMOND}\N{BLACK UP-POINTING TRIANGLE}"
"""The first markers of the palette as letters."""
_Typical = dict[tuple[int, str], list[float]]
"""The quantiles of a configuration and operation, in ms."""
_MAX_CHANGES = 3
"""The maximum number of configurations in one chart; the lines of more overlap too much to be read."""


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
        charts.append(throughput_over_time(courses, labels, metric.rate, drawn, users))
    if len(latencies):
        drawn = drawn_lines(at, metric, MAX_ROWS, 2)
        charts.append(latency_by_operation(latencies, labels, drawn, users, first))
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


def throughput_over_time(
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


def latency_by_operation(
    latencies: pd.DataFrame, labels: pd.Series[str], drawn: list[Line], users: int, first: Manifest
) -> Chart:
    """The exact quantiles of each operation, a row per configuration: medians over its runs."""
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
        hovers += [f"{name} {quantile} {number(ms, 3)} ms" for quantile, ms in zip(QUANTILES, values, strict=True)]
        hovers.append("")
    symbols = [*MARKERS[: len(QUANTILES)], MARKERS[0]] * (len(x) // (len(QUANTILES) + 1))
    return go.Scatter(
        x=x, y=y, text=hovers, name=line.label, mode="lines+markers", cliponaxis=False,
        line={"color": look["color"], "width": 1.5}, marker={"color": look["color"], "size": 8, "symbol": symbols},
        hovertemplate="%{text}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _latency_table(latencies: pd.DataFrame, labels: pd.Series[str], names: list[str]) -> pd.DataFrame:
    """Every configuration and operation: medians over the runs, in ms."""
    groups = latencies.groupby(["configuration", "operation"])
    table = (groups[list(QUANTILES.values())].median() / 1000).round(4)
    table.columns = pd.Index([f"{name} (ms)" for name in QUANTILES])
    table.insert(0, "runs", groups["run_id"].nunique())
    table = table.reset_index().sort_values(
        ["operation", "configuration"], key=lambda one: one.map(names.index) if one.name == "operation" else one
    )
    return table.assign(configuration=table["configuration"].map(labels), operation=table["operation"])


# A chart over a detail column of a workload: how often each value occurred, and how long its operations took.

_OF_VALUES = {"p50_us": 0.5, "p95_us": 0.95}
MAX_VALUES = 200
"""Values that are drawn, the most frequent first; the table has all."""


def detail_chart(folder: RunFolder, window: Window, asked: DetailChart, noun: str) -> Chart | None:
    """The operations of the window per value of a detail column, and their latency; None where fewer than two
    values were recorded."""
    table = operations_by_value(folder, window, asked.column)
    if len(table) < 2:
        return None
    drawn = table.nlargest(MAX_VALUES, "n").sort_values("value")
    texts = drawn["value"].astype(str)
    fig = figure(asked.axis, f"{plural(noun)} in the window", showlegend=False)
    fig.add_bar(
        x=texts.tolist(), y=drawn["n"].tolist(), marker={"color": colour("series-1"), "line": {"width": 0}},
        text=[_quantile_text(row) for row in drawn.to_dict("records")], textposition="none",
        hovertemplate="%{x}: %{y:,}%{text}<extra></extra>",
    )  # fmt: skip
    crowded = len(drawn) > _MAX_TICKS
    ticks = texts.iloc[:: -(-len(drawn) // _MAX_TICKS)].tolist() if crowded else texts.tolist()
    fig.update_xaxes(type="category", tickvals=ticks, ticktext=ticks, showgrid=False)
    fig.update_yaxes(rangemode="tozero")
    p95 = table["p95_us"] / 1000
    words = (
        f"{many(len(table), 'value')}, with {table['n'].min():,} to {table['n'].max():,} {plural(noun)} each, "
        f"{number(table['n'].mean(), 3)} on average."
    )
    if p95.notna().any():
        words += f" 95 % of them took at most {number(p95.min(), 3)} to {number(p95.max(), 3)} ms."
    words += f" The {MAX_VALUES} most frequent are drawn; the table has all." if len(table) > MAX_VALUES else ""
    shown = pd.DataFrame(
        {asked.column: table["value"], "n": table["n"], "p50 (ms)": table["p50_us"] / 1000, "p95 (ms)": p95}
    )
    return Chart(asked.key, asked.question, fig, words, shown)


_MAX_TICKS = 25


def _quantile_text(row: Mapping[Hashable, Any]) -> str:
    """What is known of a value's times: ``, p50 1.2 ms, p95 3.4 ms``."""
    known = {name: row[f"{name}_us"] / 1000 for name in ("p50", "p95") if pd.notna(row[f"{name}_us"])}
    return "".join(f", {name} {number(ms, 3)} ms" for name, ms in known.items())


def operations_by_value(folder: RunFolder, window: Window, column: str) -> pd.DataFrame:
    """Columns value (ascending), n, p50_us, p95_us of the completed operations of the window; empty without them.

    A quantile that ``n`` operations do not support is NaN.
    """
    with operations_of(folder, window) as rows:
        if column not in rows.columns:
            return pd.DataFrame(columns=["value", "n", "p50_us", "p95_us"])
        found: pd.DataFrame = (
            rows.filter(f"outcome <> {Outcome.FAILED.value}")
            .aggregate(
                f"{quoted(column)} AS value, count(*)::BIGINT AS n, "
                "quantile_disc(latency_us, 0.5)::BIGINT AS p50_us, quantile_disc(latency_us, 0.95)::BIGINT AS p95_us",
                quoted(column),
            )
            .order("value")
            .df()
        )
    known = {name: found[name].where(supported(found["n"], share)) for name, share in _OF_VALUES.items()}
    return found.assign(**known)


def changes_over_time(changes: pd.DataFrame, cells: Sequence[Ratio], metric: Metric) -> Chart:
    """The ratio of each configuration to the baseline in each stretch of cycles, run after run, on the log scale.

    ``changes`` as ``analysis.sweep.slices.changes`` gives them, ``cells`` as ``verdicts.judge``.
    """
    users = int(changes["virtual_users"].max())
    at = changes[changes["virtual_users"] == users]
    of_users = [ratio for ratio in cells if ratio.virtual_users == users]
    ratios = {ratio.configuration: ratio for ratio in of_users if ratio.verdict is not Verdict.BASELINE}
    compared = frame(ratios.values())
    drawn = drawn_lines(of_users, metric, _MAX_CHANGES + 1, _MAX_CHANGES + 1)
    lines = [line for line in drawn if line.configuration in ratios]
    title = f"{metric.name} / baseline, log<br>(above x1 is better)"
    fig = figure("seconds of all runs, one after another", title, hovermode="closest")
    fig.add_hline(1, line_color=colour("muted"), line_width=1)
    for second in at.groupby("number")["second"].min().iloc[1:]:
        fig.add_vline(second, line_color=colour("muted"), line_width=1)
    limits = Limits.of_ratios(at["ratio"], compared["ratio"])
    last_s = float((at["second"] + at["length_s"]).max())
    for line in lines:
        ends = limits.clipped(compared[compared["configuration"] == line.configuration])
        _add_change(fig, line, at[at["configuration"] == line.configuration], ends, last_s)
    ends = limits.clip(compared)
    fig.update_yaxes(**ratio_axis([*at["ratio"], *ends["low"], *ends["high"]]))
    words = [
        f"{line.label}: {percent_of_ratio(ratios[line.configuration], metric)}."
        for line in lines
        if ratios[line.configuration].is_known
    ]
    words += [
        f"A dot is a stretch of {_cycles(at)} against the baseline in the same stretch, a line the mean over all,",
        f"its band the 95 % confidence interval{in_these_runs(cells)}, at {virtual_users(users)};",
        "vertical lines are between two runs.",
        left_out(len(lines) + 1, len(of_users), baseline=True),
    ]
    table = at.assign(configuration=at["configuration"].map({ratio.configuration: ratio.label for ratio in of_users}))
    kept = ["number", "second", "cycles", "configuration", "ratio"]
    question = "Is the change the same along the runs?"
    return Chart("slices", question, fig, " ".join(filter(None, words)), table[kept].round(4))


def _add_change(fig: go.Figure, line: Line, rows: pd.DataFrame, ends: pd.DataFrame, last_s: float) -> None:
    """Dots, mean and interval of one configuration."""
    look = series(line.look)
    mean, low, high = (float(ends[name].iloc[0]) for name in ("ratio", "low", "high"))
    if pd.notna(low):
        fig.add_scatter(
            x=[0, last_s, last_s, 0, 0], y=plain([low, low, high, high, low]), mode="lines", fill="toself",
            line={"width": 0, "color": look["color"]}, fillcolor=look["color"], opacity=0.2, hoverinfo="skip",
            showlegend=False, legendgroup=line.label,
        )  # fmt: skip
    fig.add_scatter(
        x=plain(rows["second"] + rows["length_s"] / 2), y=plain(rows["ratio"]), mode="markers",
        marker={"color": look["color"], "size": 5, "opacity": 0.5, "symbol": look["symbol"]}, showlegend=False,
        legendgroup=line.label, name=line.label, hovertemplate="x%{y:.3g}<extra>%{fullData.name}</extra>",
    )  # fmt: skip
    fig.add_scatter(
        x=[0, last_s], y=plain([mean, mean]), mode="lines", name=line.label, legendgroup=line.label,
        line={"color": look["color"], "dash": look["dash"], "width": 2},
        hovertemplate="mean x%{y:.3g}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _cycles(rows: pd.DataFrame) -> str:
    least, most = int(rows["cycles"].min()), int(rows["cycles"].max())
    return "one cycle" if most == 1 else f"{least} cycles" if least == most else f"{least} to {most} cycles"


def slices_of_run(slices: pd.DataFrame, manifest: Manifest) -> Chart:
    """The metric in each slice of a run, with the mean of each configuration."""
    plan, metric = manifest.plan.slices, manifest.metric
    assert plan is not None
    labels = [label(settings, plan.settings[0]) for settings in plan.settings]
    clock = manifest.clock
    start_s = (clock.window_start_us or 0) / 1e6 if clock else 0.0
    fig = along_run(start_s, axis_title(metric))
    table = slices.assign(
        second=slices["slice"] * plan.slice_s, label=slices["position"].map(dict(enumerate(labels)))
    )
    for position, name in enumerate(labels[:MAX_COLOURED]):
        look, rows = series(position), table[table["position"] == position].head(MAX_DOTS // len(labels))
        fig.add_scatter(
            x=plain(rows["second"] + plan.slice_s / 2), y=plain(rows["metric_value"]), mode="markers", name=name,
            marker={"color": look["color"], "size": 5, "opacity": 0.7, "symbol": look["symbol"]},
            hovertemplate=f"{hover(metric, table['metric_value'].dropna())}<extra>%{{fullData.name}}</extra>",
        )  # fmt: skip
    fig.update_yaxes(rangemode="tozero")
    rate = metric.measure is Measure.RATE
    means = [
        mean_of(table.loc[table["position"] == position, "metric_value"], rate=rate)
        for position in range(len(labels))
    ]
    listed = [f"{name} {metric.number(mean)}" for name, mean in zip(labels, means, strict=True) if mean is not None]
    words = [
        f"Means of {axis_title(metric)}: {'; '.join(listed)}.",
        f"A dot is a slice of {plan.slice_s:g} s after its washout.",
        left_out(min(len(labels), MAX_COLOURED), len(labels)),
    ]
    kept = table[["second", "cycle", "label", "metric_value", "operations_per_s"]].round(4)
    return Chart("slices", "How fast was each configuration in its slices?", fig, " ".join(filter(None, words)), kept)
