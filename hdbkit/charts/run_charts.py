"""The charts of one run: throughput over time, latency over time, latency by transaction."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hdbkit.analysis import quantiles
from hdbkit.analysis.timeline import checkpoints_s, throughput
from hdbkit.analysis.windows import Window, window_of
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import colour, figure, log_axis, series
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

MOST_POINTS = 400
"""Points of a line; a longer run is drawn in steps of more than a second."""


def run_charts(folder: RunFolder, manifest: Manifest) -> list[Chart]:
    """Every chart of a run. Raises ``DamagedResult`` where there is no measured window."""
    window = window_of(manifest)
    step_s = max(1, math.ceil(window.end_us / 1e6 / MOST_POINTS))
    course = throughput(folder, manifest, step_s)
    latencies = quantiles.by_second(folder, window, step_s)
    of_counted = latencies[latencies["transaction"] == manifest.transactions.index(manifest.counted)]
    counted = quantiles.counts(folder, window)
    return [
        throughput_over_time(course, window, manifest.result.get("nopm"), checkpoints_s(folder)),
        latency_over_time(of_counted, manifest.counted),
        latency_by_transaction(counted[counted["outcome"] != 2], manifest.transactions),
    ]


def throughput_over_time(
    course: pd.DataFrame, window: Window, nopm: float | None, checkpoints: list[float] | None = None
) -> Chart:
    """NOPM along the run; ``course`` as ``timeline.throughput`` gives it, ``nopm`` the result of the window."""
    start_s, end_s = window.start_us / 1e6, window.end_us / 1e6
    fig = figure("seconds since the start", "NOPM (new orders a minute)", showlegend=False)
    shade = {"fillcolor": colour("shade"), "line_width": 0, "layer": "below"}
    fig.add_vrect(
        0, start_s, annotation_text="rampup", annotation_position="top left",
        annotation_font_color=colour("muted"), **shade,
    )  # fmt: skip
    last_s = float(course["second"].max()) if len(course) else end_s
    if last_s > end_s:
        fig.add_vrect(end_s, last_s, **shade)
    for at in checkpoints or []:
        fig.add_vline(at, line_color=colour("series-5"), line_dash="dot", line_width=1.5)
    fig.add_scatter(
        x=course["second"].tolist(), y=course["nopm"].round().tolist(), mode="lines", name="NOPM",
        line={"color": colour("series-1"), "width": 2}, hovertemplate="%{x} s: %{y:,.0f} NOPM<extra></extra>",
    )  # fmt: skip
    if nopm is not None:
        line = {"color": colour("series-2"), "width": 1.5, "dash": "dash"}
        fig.add_scatter(
            x=[start_s, end_s], y=[nopm, nopm], mode="lines", line=line, name="result", hoverinfo="name+y"
        )
    fig.update_yaxes(rangemode="tozero")
    inside = course[(course["second"] >= start_s) & (course["second"] < math.floor(end_s))]["nopm"]
    words = "No whole second lies in the window."
    if len(inside):
        words = (
            f"In the window of {window.duration_s:.1f} s the throughput lay between {inside.min():,.0f} and "
            f"{inside.max():,.0f} NOPM, with a median of {inside.median():,.0f}."
        )
    if nopm is not None:
        words += f" The dashed line is the result, {nopm:,.0f} NOPM, by the schema's own count."
    if checkpoints:
        words += f" Dotted lines mark {len(checkpoints)} checkpoints."
    return Chart("throughput", "Was the throughput steady over the run?", fig, words, course)


def latency_over_time(seconds: pd.DataFrame, transaction: str) -> Chart:
    """Exact p50, p95 and p99 of one transaction along the window; ``seconds`` as ``quantiles.by_second`` gives."""
    fig = figure("seconds since the window's start", f"service time of {transaction} (ms, log)")
    for index, name in enumerate(("p50", "p95", "p99")):
        look = series(index)
        fig.add_scatter(
            x=seconds["second"].tolist(), y=(seconds[f"{name}_us"] / 1000).round(4).tolist(), mode="lines", name=name,
            line={"color": look["color"], "dash": look["dash"], "width": 2},
            hovertemplate=f"%{{x}} s: {name} %{{y:.3g}} ms<extra></extra>",
        )  # fmt: skip
    fig.update_yaxes(**log_axis(value for line in fig.data for value in line.y))
    words = "Nothing was completed in the window."
    if len(seconds):
        low, high = seconds["p95_us"].min() / 1000, seconds["p95_us"].max() / 1000
        worst = seconds.iloc[int(seconds["max_us"].argmax())]
        words = (
            f"The p95 of {transaction} by the second lay between {low:,.3g} and {high:,.3g} ms; the longest took "
            f"{worst['max_us'] / 1000:,.3g} ms, in second {int(worst['second'])} of the window."
        )
    table = seconds.drop(columns="transaction").reset_index(drop=True)
    return Chart("latency-time", f"Did the latency of {transaction} stay level?", fig, words, table)


def latency_by_transaction(counted: pd.DataFrame, transactions: list[str]) -> Chart:
    """Latency at each share of the transactions, with the slow end stretched; ``counted`` as ``quantiles.counts``."""
    fig = figure("share of transactions (slow end stretched)", "service time (ms, log)")
    lines, longest = [], 1
    merged = counted.groupby(["transaction", "latency_us"], as_index=False)[["n"]].sum()
    for index, name in enumerate(transactions):
        rows = merged[merged["transaction"] == index]
        if rows.empty:
            continue
        seen = rows["n"].to_numpy().cumsum()
        total = int(seen[-1])
        longest = max(longest, total)
        slower = np.unique(np.r_[np.geomspace(1, total, 60), 2.0])  # 1 in so many was slower
        ranks = quantiles.rank(np.full(len(slower), total), 1.0) - np.floor(total / slower).astype(np.int64)
        ranks = np.maximum(1, ranks)
        latency_ms = rows["latency_us"].to_numpy()[np.searchsorted(seen, ranks)] / 1000
        fig.add_trace(_quantile_line(index, name, slower, latency_ms))
        shares = {f"p{100 * q:g} (ms)": _at(rows, seen, q) / 1000 for q in (0.5, 0.9, 0.95, 0.99, 0.999)}
        lines.append({"transaction": name, "n": total, **shares, "max (ms)": rows["latency_us"].max() / 1000})
    nines = [10.0**i for i in range(math.ceil(math.log10(longest)) + 1)]
    ticks = [1.0, 2.0, *nines[1:]]
    labels = [f"{100 * (1 - 1 / tick):.10g} %" for tick in ticks]
    fig.update_xaxes(type="log", tickvals=ticks, ticktext=labels)
    fig.update_yaxes(**log_axis(value for line in fig.data for value in line.y))
    words = "; ".join(
        f"{one['transaction']} p50 {one['p50 (ms)']:.3g}, p99 {one['p99 (ms)']:.3g} ms" for one in lines
    )
    table = pd.DataFrame(lines)
    return Chart("latency", "How long did each transaction take?", fig, f"{words or 'Nothing was completed'}.", table)


def _at(rows: pd.DataFrame, seen: np.ndarray, share: float) -> int:
    total = np.array([seen[-1]])
    return int(rows["latency_us"].to_numpy()[np.searchsorted(seen, quantiles.rank(total, share)[0])])


def _quantile_line(index: int, name: str, slower: np.ndarray, latency_ms: np.ndarray) -> go.Scatter:
    look = series(index)
    shares = [f"{100 * (1 - 1 / one):.6g} %" for one in slower]
    return go.Scatter(
        x=slower.round(3).tolist(), y=latency_ms.tolist(), mode="lines", name=name, text=shares,
        line={"color": look["color"], "dash": look["dash"], "width": 2},
        hovertemplate=f"{name}: %{{text}} within %{{y:.3g}} ms<extra></extra>",
    )  # fmt: skip
