"""The marks that charts share: dots of runs, means with their intervals, in rows or over virtual users."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hdbkit.charts.intervals import Limits, add_intervals, bars, plain
from hdbkit.charts.style import HEIGHT, axis_title, colour, figure, hover, log_axis, series
from hdbkit.config.metric import Metric
from hdbkit.config.quantities import quantity
from hdbkit.later import graph_objects as go
from hdbkit.later import pandas as pd
from hdbkit.text import virtual_users

AXIS_WORDS = "right of x1 is better, log"
MAX_DOTS = 3000
RUN = "run"
"""The ``meta`` of a trace whose points are runs: ``customdata`` has their ids."""
BELOW = 0.28
"""How far below its row's interval the dots of single runs lie."""
MAX_LINES = 10
"""Groups that are drawn; tables hold all."""
_MARGIN = 0.1
"""The share of the values' span that plotly adds at the ends of an axis, rounded up."""
_APART = 1.025
"""The ratio between the places of two lines' marks at one count of virtual users."""
_WIDE = 8
"""From this ratio on between the most and the fewest virtual users their axis is logarithmic."""


def mark_one(fig: go.Figure, smallest_effect: float) -> None:
    """A line at a ratio of 1, and the band of the smallest effect around it."""
    band = 1 + smallest_effect
    fig.add_vrect(1 / band, band, fillcolor=colour("shade"), line_width=0, layer="below")
    fig.add_vline(1, line_color=colour("muted"), line_width=1)


def by_worth(values: pd.Index) -> pd.Index:
    """A sort key for values of a setting: numbers and sizes by their amount, then texts as they came."""
    worth = {value: found.amount if (found := quantity(str(value))) else math.inf for value in values}
    ranks = {value: rank for rank, value in enumerate(sorted(worth, key=lambda one: worth[one]))}
    return values.map(ranks)


def dots(x: Sequence[float], y: Sequence[float], template: str, runs: Sequence[str] = ()) -> go.Scatter:
    """Single runs, which ``runs`` names, or pairs of them."""
    marker = {"color": colour("muted"), "size": 6, "opacity": 0.6}
    return go.Scatter(
        x=plain(x[:MAX_DOTS]), y=list(y[:MAX_DOTS]), mode="markers", marker=marker, hovertemplate=template,
        **of_runs(runs[:MAX_DOTS]),
    )  # fmt: skip


def of_runs(ids: Iterable[str]) -> dict[str, Any]:
    """What marks each point of a trace as a run, so that a click opens it; nothing where their ids are not known."""
    known = list(ids)
    return {"meta": RUN, "customdata": known} if known else {}


def ids_of(runs: pd.DataFrame) -> list[str]:
    """The ids of a frame of runs; none where it has no column of them."""
    return [str(one) for one in runs["run_id"]] if "run_id" in runs else []


def from_where(*values: pd.Series[Any] | pd.DataFrame) -> tuple[str, str]:
    """Where an axis over these values begins: what its title states of it, and plotly's ``rangemode``."""
    known = pd.concat([pd.Series(one.to_numpy(dtype=float).ravel()) for one in values]).dropna()
    far = not known.empty and known.min() > _MARGIN * (known.max() - known.min())
    return (", axis starts above 0", "normal") if far else ("", "tozero")


def name_rows(fig: go.Figure, names: Sequence[str]) -> None:
    """Name the rows of a figure, the first one on top."""
    ticks = list(range(len(names) - 1, -1, -1))
    fig.update_yaxes(tickvals=ticks, ticktext=names, range=[-0.6, len(names) - 0.5], showgrid=False, zeroline=False)


def in_rows(runs: pd.DataFrame, table: pd.DataFrame, by: str, metric: Metric) -> go.Figure:
    """The metric of each value of ``by``, a row each: every run a dot, and ``table``'s metric_value, low and high."""
    names = [str(label).replace(", ", ",<br>") for label in table[by]]
    lines = max((name.count("<br>") + 1 for name in names), default=1)
    places = {name: len(table) - 1 - i for i, name in enumerate(table[by])}
    known, value = runs[runs[by].isin(places)], hover(metric, table["metric_value"], "x")
    limits = Limits.of_values(metric.number, known["metric_value"], table["metric_value"])
    start, rangemode = from_where(known["metric_value"], table["metric_value"], limits.clip(table))
    title = f"{axis_title(metric)}{start}"
    fig = figure(title, "", height=110 + max(50, 12 + 19 * lines) * len(table), showlegend=False)
    fig.update_xaxes(rangemode=rangemode)
    fig.add_trace(
        dots(known["metric_value"].tolist(), [places[name] - BELOW for name in known[by]],
             f"{value}<extra>one run</extra>", ids_of(known))
    )  # fmt: skip
    add_intervals(
        fig, list(places.values()), table["metric_value"], table, limits,
        hovertemplate=f"mean {value}<extra></extra>",
    )  # fmt: skip
    name_rows(fig, names)
    return fig


def over_users(runs: pd.DataFrame, table: pd.DataFrame, by: str, metric: Metric, *, log: bool = False) -> go.Figure:
    """The metric over virtual users, a line per value of ``by``: each run a dot, ``table``'s means with intervals."""
    fig = figure("virtual users", f"{axis_title(metric)}{', log scale' if log else ''}", height=HEIGHT + 40)
    names = list(dict.fromkeys(table[by]))
    repeated = len(runs) > len(table)
    axis = _users_axis(table["virtual_users"])
    apart = _apart(table, len(names), logarithmic=axis.get("type") == "log")
    limits = Limits.of_values(metric.number, runs["metric_value"], table["metric_value"])
    for index, name in enumerate(names):
        look, rows = series(index), table[table[by] == name]
        counts = rows["virtual_users"].tolist()
        if repeated:
            of_it = runs[runs[by] == name].tail(MAX_DOTS // len(names))
            fig.add_scatter(
                x=[apart(users, index) for users in of_it["virtual_users"].tolist()], y=plain(of_it["metric_value"]),
                mode="markers", showlegend=False,
                legendgroup=str(name), marker={"color": look["color"], "size": 5, "opacity": 0.5}, hoverinfo="y",
                **of_runs(ids_of(of_it)),
            )  # fmt: skip
        fig.add_scatter(
            x=[apart(users, index) for users in counts], y=plain(rows["metric_value"]), mode="lines+markers",
            name=str(name), text=[virtual_users(users) for users in counts],
            hovertemplate=f"%{{text}}: {hover(metric, table['metric_value'])}<extra>%{{fullData.name}}</extra>",
            legendgroup=str(name), line={"color": look["color"], "dash": look["dash"], "width": 2},
            marker={"symbol": look["symbol"], "size": 8},
            error_y=bars(rows["metric_value"], limits.clip(rows), look["color"]),
        )  # fmt: skip
    fig.update_xaxes(**axis)
    return fig.update_yaxes(**(log_axis(table["metric_value"]) if log else {"rangemode": "tozero"}))


def _apart(table: pd.DataFrame, lines: int, *, logarithmic: bool) -> Callable[[int, int], float]:
    """Where a line's mark stands: beside those of the others, where their intervals would overlap."""
    counts = table["virtual_users"]
    if lines < 2 or table["low"].isna().all() or counts.nunique() < 2:
        return lambda users, _: users
    if logarithmic:
        return lambda users, index: round(users * _APART ** (index - (lines - 1) / 2), 4)
    step = (_APART - 1) / 2 * float(counts.max() - counts.min())
    return lambda users, index: round(users + step * (index - (lines - 1) / 2), 4)


def _users_axis(counts: pd.Series[Any]) -> dict[str, Any]:
    ticks = sorted({int(one) for one in counts})
    if len(ticks) < 2 or ticks[-1] < _WIDE * ticks[0]:
        return {"tickvals": ticks}
    return {**log_axis(ticks), "tickvals": ticks, "ticktext": [f"{one:,}" for one in ticks]}


def left_out(drawn: int, known: int, *, baseline: bool = False) -> str:
    """What is not drawn, as a sentence; empty where all is. ``baseline``: it and the fastest others are drawn."""
    if drawn >= known:
        return ""
    which = f"first {drawn}"
    if baseline:
        which = "baseline and the " + ("fastest other" if drawn == 2 else f"{drawn - 1} fastest others")
    return f"The {which} are drawn; the table has all {known}."
