"""Charts of workloads whose operations are measured one by one: how long each took, and how much faster it became.

Frames: ``times`` has a row per execution or run: ``group``, ``operation``, ``seconds``; ``found`` a row per operation
and group: ``group``, ``operation``, ``ratio`` (of scores: more than 1 is better), ``low``, ``high`` (NaN without an
interval), ``verdict``. Groups and operations are drawn in the order in which they come.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hdbkit.analysis.wording import percent, percent_within
from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import MAX_DOTS, bars, left_out, name_rows, plain
from hdbkit.charts.style import MAX_COLOURED, PATTERNS, colour, figure, series
from hdbkit.config.metric import Metric
from hdbkit.text import many, number, plural

_HATCHED = {"fillmode": "overlay", "solidity": 0.2, "fgopacity": 1}
_BARS = 0.8
"""The width that the bars of one operation have together."""
_ROWS = 0.7
"""The height that the intervals of one operation have together."""
_ABOVE = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_BELOW = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, *(1 / step for step in _ABOVE if step >= 10))
_BEYOND = 20
"""Intervals are drawn up to so many times the largest ratio."""
_TICKS = 8
"""About how many ticks an axis of ratios has."""


def profile(times: pd.DataFrame, noun: str, what: str) -> Chart:
    """A bar per operation and group, the geometric mean of its times, on which each of them is a dot.

    ``what`` is what a dot is: ``run``, ``query``.
    """
    groups, names = _in_order(times["group"]), _in_order(times["operation"])
    drawn = groups[:MAX_COLOURED]
    means = np.exp(np.log(times["seconds"]).groupby([times["operation"], times["group"]]).mean()).unstack()
    table = means.reindex(index=names, columns=groups)
    fig = figure(noun, "elapsed time (s)", barmode="overlay", showlegend=len(drawn) > 1)
    wide = _BARS / len(drawn)
    for index, group in enumerate(drawn):
        shift = wide * (index - (len(drawn) - 1) / 2)
        _add_bars(fig, index, group, table[group], shift, wide)
        if len(times) > len(names) * len(groups):
            of_it = times[times["group"] == group]
            _add_dots(fig, of_it, names, shift, MAX_DOTS // len(drawn))
    whole = [-0.5, len(names) - 0.5]
    fig.update_xaxes(tickvals=list(range(len(names))), ticktext=names, range=whole, showgrid=False, zeroline=False)
    fig.update_yaxes(rangemode="tozero")
    words = [*(_profile_words(group, table[group].dropna(), noun) for group in drawn)]
    if len(times) > len(names) * len(groups):
        words.append(f"Bars are geometric means; a dot is a {what}.")
    words.append(left_out(len(drawn), len(groups)))
    shown = table.rename(columns=lambda group: f"{group} (s)").rename_axis(None, axis=1).reset_index()
    return Chart("profile", f"How long did each {noun} take?", fig, " ".join(filter(None, words)), shown.round(6))


def _add_bars(fig: go.Figure, index: int, group: str, seconds: pd.Series[float], shift: float, wide: float) -> None:
    pattern = {"shape": PATTERNS[index % len(PATTERNS)], "fgcolor": colour("shade"), **_HATCHED}
    fig.add_bar(
        x=[at + shift for at in range(len(seconds))], y=[one or 0.0 for one in plain(seconds)], width=wide,
        name=group, text=[str(name) for name in seconds.index], textposition="none",
        marker={"color": series(index)["color"], "pattern": pattern, "line": {"width": 0}},
        hovertemplate="%{text}: %{y:,.3~g} s<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _add_dots(fig: go.Figure, times: pd.DataFrame, names: Sequence[str], shift: float, maximum: int) -> None:
    positions = {name: position + shift for position, name in enumerate(names)}
    known = times.head(maximum)
    fig.add_scatter(
        x=[positions[name] for name in known["operation"]], y=plain(known["seconds"]), mode="markers",
        showlegend=False,
        marker={"color": colour("ink"), "size": 5, "line": {"color": colour("shade"), "width": 1}},
        hovertemplate="%{y:,.3~g} s<extra></extra>",
    )  # fmt: skip


def _profile_words(group: str, seconds: pd.Series[float], noun: str) -> str:
    """The total of a group, and the operation with the largest part of it."""
    if seconds.empty:
        return f"{group} completed no {noun}."
    total, longest = float(seconds.sum()), str(seconds.idxmax())
    part = 100 * float(seconds.max()) / total
    return f"{group}: {number(total, 3)} s for {many(len(seconds), noun)}, {part:.0f} % of it for {longest}."


def ratios(
    found: pd.DataFrame, overall: pd.DataFrame, base: str, noun: str, metric: Metric, smallest: float
) -> Chart:
    """The time of each operation as a multiple of that of ``base``, with its interval; the metric on top.

    ``overall`` has a row per group, as ``found`` without ``operation``.
    """
    groups, names = _in_order(found["group"]), _in_order(found["operation"])
    drawn = groups[: MAX_COLOURED - 1]
    table = pd.concat([overall.assign(operation=metric.name), found], ignore_index=True)
    rows = [metric.name, *names]
    tall = max(26, 13 * len(drawn))
    fig = figure(
        f"time as a multiple of that of {base} (log, lower is better)", "", height=120 + tall * len(rows),
        showlegend=len(drawn) > 1,
    )  # fmt: skip
    fig.add_vrect(1 - smallest, 1 + smallest, fillcolor=colour("shade"), line_width=0, layer="below")
    fig.add_vline(1, line_color=colour("muted"), line_width=1)
    times = metric.from_score(table[["ratio", "low", "high"]].astype(float))
    times = times.rename(columns={"low": "high", "high": "low"})
    for index, group in enumerate(drawn):
        shift = _ROWS * ((len(drawn) - 1) / 2 - index) / len(drawn)
        here = (table["group"] == group) & table["ratio"].notna()
        _add_intervals(fig, index, group, table[here], times[here], rows, shift, metric)
    name_rows(fig, rows)
    is_drawn = table["group"].isin(drawn)
    ends, limits = times[is_drawn].to_numpy(dtype=float).ravel(), _limits(times[is_drawn]["ratio"])
    fig.update_xaxes(**ratio_axis(np.clip(ends, *limits)))
    words = [*(_ratio_words(group, found[found["group"] == group], noun, metric) for group in drawn)]
    words.append(
        f"Lines are 95 % intervals, which hold together over all {plural(noun)}; that of {metric.name} is its own. "
        f"The band is the smallest effect that matters, {100 * smallest:g} %."
    )
    if ((ends < limits[0]) | (ends > limits[1])).any():
        words.append("Lines that reach the edge continue beyond it.")
    words.append(left_out(len(drawn), len(groups)))
    columns = ["operation", "group", "ratio", "low", "high", "verdict"]
    question = f"Which {plural(noun)} became faster or slower?"
    return Chart("ratios", question, fig, " ".join(filter(None, words)), table[columns].round(4))


def _add_intervals(
    fig: go.Figure,
    index: int,
    group: str,
    table: pd.DataFrame,
    times: pd.DataFrame,
    rows: Sequence[str],
    shift: float,
    metric: Metric,
) -> None:
    """The marks of one group with their intervals; the first look of the palette is that of the base."""
    look = series(index + 1)
    positions = {name: len(rows) - 1 - position + shift for position, name in enumerate(rows)}
    hovers = [
        f"{row['operation']}: {percent_within(row['ratio'], row['low'], row['high'], metric)}"
        for row in table.to_dict("records")
    ]
    fig.add_scatter(
        x=plain(times["ratio"]), y=[positions[name] for name in table["operation"]], mode="markers", name=group,
        text=hovers, marker={"color": look["color"], "size": 8, "symbol": look["symbol"]},
        error_x=bars(times["ratio"], times, look["color"]), hovertemplate="%{text}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _ratio_words(group: str, rows: pd.DataFrame, noun: str, metric: Metric) -> str:
    """How many operations of a group differ, and which of them most."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in rows["verdict"].value_counts().items())
    known = rows[rows["verdict"].isin(["faster", "slower"])].sort_values("ratio")
    ends = dict.fromkeys(known.index[[0, -1]]) if len(known) else []
    named = [f"{known.loc[at, 'operation']} {percent(known.loc[at, 'ratio'], metric)}" for at in ends]
    most = f" (the ends: {', '.join(named)})" if named else ""
    return f"{group}: of {many(len(rows), noun)} {counts}{most}."


def _limits(ratios: pd.Series[float]) -> tuple[float, float]:
    """The part of an axis that shows these ratios; with few runs, intervals may extend many powers of ten beyond."""
    known = [*ratios.dropna(), 1.0]
    return min(known) / _BEYOND, max(known) * _BEYOND


def ratio_axis(values: Iterable[float]) -> dict[str, Any]:
    """A logarithmic axis around 1 for ratios, with ticks such as 0.5, 1 and 2, or 0.98, 1 and 1.02."""
    known = [value for value in values if math.isfinite(value) and value > 0]
    low, high = min([*known, 1.0]), max([*known, 1.0])
    first = next((step for step in _BELOW if step <= low), low)
    last = next((step for step in _ABOVE if step >= high), high)
    apart = math.log(last / first) / _TICKS
    ticks = [1.0]
    for steps in (_BELOW, _ABOVE):
        at = 1.0
        for step in steps:
            if first <= step <= last and abs(math.log(step / at)) >= apart:
                ticks.append(step)
                at = step
    ticks.sort()
    margin = 0.002 * math.log10(last / first)
    edges = [math.log10(first) - margin, math.log10(last) + margin]
    return {"type": "log", "range": edges, "tickvals": ticks, "ticktext": [f"{tick:.3g}" for tick in ticks]}


def _in_order(values: pd.Series[Any]) -> list[str]:
    return [str(one) for one in dict.fromkeys(values)]
