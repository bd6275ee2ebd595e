"""The metric against the size of the schema, for groups of runs that were measured at several sizes."""

from __future__ import annotations

import math

from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import plain
from hdbkit.charts.marks import MAX_LINES, left_out
from hdbkit.charts.style import figure, hover, log_axis, series
from hdbkit.config.metric import Better, Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd


def metric_over_size(runs: pd.DataFrame, metric: Metric, scale: str) -> Chart:
    """A line per group through the geometric means of its runs at each size; every run is a dot; both axes are log.

    Args:
        runs: a row per run: ``group``, ``size``, ``metric_value`` (above 0).
        metric: what ``metric_value`` is.
        scale: what the size counts: ``scale factor``.
    """
    logs = runs.assign(metric_value=np.log(runs["metric_value"].astype(float)))
    means = np.exp(logs.groupby(["group", "size"], sort=False)["metric_value"].mean()).reset_index()
    names = list(dict.fromkeys(runs["group"]))
    fig = figure(f"{scale} (log)", f"{metric.heading}, log")
    for index, name in enumerate(names[:MAX_LINES]):
        look, of_it = series(index), means[means["group"] == name].sort_values("size")
        each = runs[runs["group"] == name]
        fig.add_scatter(
            x=plain(each["size"]), y=plain(each["metric_value"]), mode="markers", showlegend=False, hoverinfo="y",
            marker={"color": look["color"], "size": 5, "opacity": 0.5}, legendgroup=str(name),
        )  # fmt: skip
        fig.add_scatter(
            x=plain(of_it["size"]), y=plain(of_it["metric_value"]), mode="lines+markers", name=str(name),
            line={"color": look["color"], "dash": look["dash"], "width": 2}, legendgroup=str(name),
            marker={"symbol": look["symbol"], "size": 8},
            hovertemplate=f"{scale} %{{x}}: {hover(metric, runs['metric_value'])}<extra>%{{fullData.name}}</extra>",
        )  # fmt: skip
    sizes = sorted(set(runs["size"]))
    fig.update_xaxes(**{**log_axis(sizes), "tickvals": sizes, "ticktext": [f"{one:,g}" for one in sizes]})
    fig.update_yaxes(**log_axis(runs["metric_value"]))
    words = [*(_growth(str(name), means[means["group"] == name], metric, scale) for name in names[:MAX_LINES])]
    words += ["Lines are geometric means, dots runs.", left_out(min(len(names), MAX_LINES), len(names))]
    question = f"How does {metric.name} change with the {scale}?"
    return Chart("scale", question, fig, " ".join(filter(None, words)), means.rename(columns={"size": scale}))


def _growth(name: str, means: pd.DataFrame, metric: Metric, scale: str) -> str:
    """How the metric changes from the smallest to the largest size, and with which power of it; empty at one size."""
    first, last = (means.sort_values("size").iloc[position] for position in (0, -1))
    if first["size"] == last["size"]:
        return ""
    larger, change = last["size"] / first["size"], last["metric_value"] / first["metric_value"]
    power = math.log(change) / math.log(larger)
    result = "takes {} the time" if metric.better is Better.LOWER else f"has {{}} the {metric.name}"
    return f"{name}: {_times(larger)} the {scale} {result.format(_times(change))} (power {power:.2f})."


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 100 else f"{ratio:.3g} times"
