"""Charts of a sweep's settings: throughput against latency, and the response of the metric to numeric values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hdbkit.analysis.sweep.response import numeric, response_to
from hdbkit.analysis.sweep.trade_off import throughput_and_latency
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import Limits, plain
from hdbkit.charts.marks import MAX_LINES, from_where
from hdbkit.charts.style import HEIGHT, axis_title, colour, figure, hover, series
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, number, virtual_users

CURVE = "curve_"
"""How the keys of the charts of :func:`response_curve` begin; the setting follows."""
_WIDE = 16
"""From this ratio on between the largest and the smallest value of a setting its axis is logarithmic."""


def setting_charts(
    runs: pd.DataFrame,
    labels: Mapping[int, str],
    settings: Sequence[str],
    metric: Metric,
    finished: Sequence[tuple[RunFolder, Manifest]],
) -> list[Chart]:
    """Those that the data allow.

    Args:
        runs: those that count, as ``results.experiment_runs.runs_frame`` gives them.
        labels: of the configurations.
        settings: those of the sweep.
        metric: what ``metric_value`` is.
        finished: the finished runs.
    """
    users = int(runs["virtual_users"].max())
    at = runs[runs["virtual_users"] == users]
    found = throughput_and_latency(runs, labels, [manifest for _, manifest in finished], metric)
    charts = [pareto(found, metric, finished[0][1].headline)] if len(found) > 1 and finished else []
    for name in settings:
        if (amounts := numeric(at[name])) is not None and len(amounts):
            charts.append(response_curve(response_to(at, name), name, users, metric))
    return charts


def pareto(found: pd.DataFrame, metric: Metric, operation: str) -> Chart:
    """Throughput against the p95 of an operation; ``found`` as ``trade_off.throughput_and_latency`` gives it."""
    start, rangemode = from_where(found["p95_ms"])
    fig = figure(f"p95 of {operation} (ms{start})", axis_title(metric), height=HEIGHT + 40)
    fig.update_xaxes(rangemode=rangemode)
    front = found[found["efficient"]].sort_values(["p95_ms", "metric_value"])
    fig.add_scatter(
        x=plain(front["p95_ms"]), y=plain(front["metric_value"]), mode="lines", name="best trade-offs",
        line={"color": colour("series-2"), "width": 2, "dash": "dash"}, hoverinfo="skip",
    )  # fmt: skip
    users = sorted(found["virtual_users"].unique())
    for index, count in enumerate(users[:MAX_LINES]):
        rows, look = found[found["virtual_users"] == count], series(index)
        fig.add_scatter(
            x=plain(rows["p95_ms"]), y=plain(rows["metric_value"]), mode="markers", name=virtual_users(int(count)),
            text=rows["label"].tolist(), marker={"color": look["color"], "symbol": look["symbol"], "size": 9},
            hovertemplate=f"%{{text}}<br>p95 %{{x:.3g}} ms, {hover(metric, found['metric_value'])}<extra></extra>",
        )  # fmt: skip
    fig.update_yaxes(rangemode="tozero")
    best = front.iloc[-1]
    words = (
        f"{many(len(front), 'point')} of {len(found)} {'has' if len(front) == 1 else 'have'} no other with more "
        f"throughput at the same or a lower latency. The highest throughput is {metric.text(best['metric_value'])} "
        f"at a p95 of {number(best['p95_ms'], 3)} ms: {best['label']}, {virtual_users(int(best['virtual_users']))}."
        " Points are means over the runs."
    )
    return Chart("pareto", "Which throughput is to be had at which latency?", fig, words, found)


def response_curve(found: pd.DataFrame, setting: str, users: int, metric: Metric) -> Chart:
    """The metric over the values of a numeric setting with its band; ``found`` as ``response_to`` gives it."""
    found = Limits.of_values(metric.number, found["metric_value"]).clipped(found)
    start, rangemode = from_where(found[["low", "high", "metric_value"]])
    fig = figure(setting, _level(metric, start))
    fig.update_yaxes(rangemode=rangemode)
    logarithmic = found["amount"].min() > 0 and found["amount"].max() >= _WIDE * found["amount"].min()
    x = found["amount"].tolist()
    if found["low"].notna().all():
        fig.add_scatter(
            x=[*x, *reversed(x)], y=[*plain(found["high"]), *reversed(plain(found["low"]))], mode="lines",
            fill="toself", fillcolor=colour("shade"), line={"width": 0, "color": colour("shade")},
            name="95 % interval", hoverinfo="skip",
        )  # fmt: skip
    fig.add_scatter(
        x=x, y=plain(found["metric_value"]), mode="lines+markers", name="mean", text=found["value"].tolist(),
        line={"color": colour("series-1"), "width": 2}, marker={"size": 8, "color": colour("series-1")},
        hovertemplate=f"%{{text}}: {hover(metric, found['metric_value'])}<extra></extra>",
    )  # fmt: skip
    ticks = {"tickvals": x, "ticktext": found["value"].tolist()}
    fig.update_xaxes(**ticks, **({"type": "log"} if logarithmic else {}))
    scores = metric.score(found["metric_value"])
    best, worst = found.loc[scores.idxmax()], found.loc[scores.idxmin()]
    words = (
        f"At {virtual_users(users)} the best mean is {metric.text(best['metric_value'])} at {best['value']}, the "
        f"worst {metric.text(worst['metric_value'])} at {worst['value']}. Means over all values of the other "
        "settings; the band is the 95 % interval of each mean."
    )
    return Chart(f"{CURVE}{setting}", f"How does {metric.name} respond to {setting}?", fig, words, found)


def _level(metric: Metric, start: str) -> str:
    """The title of an upright axis of the metric, short where it states that the axis starts above 0."""
    return f"{metric.name}{start}" if start else axis_title(metric)
