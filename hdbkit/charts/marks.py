"""The marks that charts share: dots of runs, means with their intervals, in rows or over virtual users."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hdbkit.analysis.wording import TOO_FEW, says_nothing
from hdbkit.charts.style import HEIGHT, axis_title, colour, compact, figure, hover, log_axis, series
from hdbkit.config.metric import Metric
from hdbkit.config.quantities import quantity
from hdbkit.text import number, virtual_users

_ABOVE = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_BELOW = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, *(1 / step for step in _ABOVE if step >= 10))
_TICKS = 8
"""About how many ticks an axis of ratios has."""
_LEAST = 0.1
"""The least range of data, as a share of the largest value; on a logarithmic axis, of their logarithm."""
_ROOM = 0.16
"""How far above its row the words of an interval are."""
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


# Intervals on an axis, and the axis of ratios: the data decide the domain, never an interval that ends far away.
#
# An interval is clipped at three times the range of the data. An arrow marks a clipped end, with the limit beyond
# which the interval ends. One that reaches from far below to far above is not drawn: the runs are too few.


def plain(values: Iterable[Any]) -> list[float | None]:
    """Numbers for JSON; what is not known as None."""
    return [compact(float(one)) for one in values]


def bars(middle: pd.Series[Any], ends: pd.DataFrame, look: str) -> dict[str, Any]:
    """Error bars, of length 0 without an interval."""
    up, down = (
        plain(one.astype(float).fillna(0).clip(lower=0)) for one in (ends["high"] - middle, middle - ends["low"])
    )
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": look, "thickness": 2}


def times(ratio: float) -> str:
    """A ratio with three digits: ``x0.5``, ``x1.57``, ``x12``."""
    return f"x{number(ratio, 3)}"


@dataclass(frozen=True)
class Limits:
    """The part of an axis where intervals are drawn."""

    low: float
    high: float
    write: Callable[[float], str] = times
    """A value of the axis as text."""

    @classmethod
    def of_ratios(cls, *data: Iterable[float]) -> Limits:
        """Three times the range of ratios and 1, on the log scale."""
        known = _known(data)
        logs = np.log([*known[known > 0], 1.0])
        span = max(logs.max() - logs.min(), _LEAST)
        return cls(math.exp(logs.min() - span), math.exp(logs.max() + span))

    @classmethod
    def of_values(cls, write: Callable[[float], str], *data: Iterable[float]) -> Limits:
        """Three times the range of values, of which none is below 0."""
        known = _known(data)
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        span = max(high - low, _LEAST * high)
        return cls(max(low - span, 0.0), high + span, write)

    def clip(self, ends: pd.DataFrame) -> pd.DataFrame:
        """The columns low and high as they are drawn; NaN where an interval says nothing."""
        known: pd.DataFrame = ends[["low", "high"]].astype(float)
        middle = 1.0 if self.write is times else np.sqrt(known["low"] * known["high"])
        pairs = zip(known["low"] / middle, known["high"] / middle, strict=True)
        nothing = pd.Series([says_nothing(low, high) for low, high in pairs], index=known.index, dtype=bool)
        return known.mask(nothing).clip(self.low, self.high)

    def clipped(self, found: pd.DataFrame) -> pd.DataFrame:
        """A frame whose columns low and high are as they are drawn."""
        return found.assign(**self.clip(found))

    def words(self, ends: pd.DataFrame) -> str:
        """What a chart's alternative states of intervals that are clipped or left out; empty without any."""
        known = ends[["low", "high"]].astype(float)
        few = known.notna().all(axis=1) & self.clip(ends).isna().any(axis=1)
        far = (known.lt(self.low) | known.gt(self.high)).any(axis=1) & ~few
        found = ["An arrow marks an interval that ends beyond the axis."] if far.any() else []
        if few.any():
            found.append(f"{int(few.sum())} without an interval: {TOO_FEW}.")
        return " ".join(found)


def _known(data: Iterable[Iterable[float]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = np.array([float(value) for one in data for value in one if value is not None], dtype=np.float64)
    return values[np.isfinite(values)]


def add_intervals(
    fig: go.Figure,
    places: Sequence[float],
    middle: pd.Series[Any],
    ends: pd.DataFrame,
    limits: Limits,
    *,
    ink: str = "series-1",
    symbol: str = "diamond",
    size: int = 11,
    words: bool = True,
    **trace: Any,
) -> None:
    """Marks with their intervals, clipped at ``limits``; further arguments are those of the trace.

    Args:
        fig: the figure.
        places: the rows of the marks.
        middle: their values.
        ends: the columns low and high, of the same rows; NaN without an interval.
        limits: where intervals are clipped.
        ink, symbol, size: how the marks look.
        words: whether clipped ends have words beside their arrows.
        trace: ``hovertemplate``, ``name``, ``text``.
    """
    drawn, known = limits.clip(ends), ends[["low", "high"]].astype(float)
    fig.add_scatter(
        x=plain(middle), y=list(places), mode="markers",
        marker={"color": colour(ink), "size": size, "symbol": symbol}, error_x=bars(middle, drawn, colour(ink)),
        **trace,
    )  # fmt: skip
    arrows: list[tuple[float, float, str]] = []
    logarithmic = limits.write is times
    for place, at, was, is_ in zip(places, middle, known.to_numpy(), drawn.to_numpy(), strict=True):
        notes = [(limits.low, "left", was[0] < limits.low), (limits.high, "right", was[1] > limits.high)]
        if np.isfinite(was).all() and not np.isfinite(is_).all():
            _note(fig, at, place, TOO_FEW, "left", logarithmic=logarithmic)
            continue
        for limit, side, is_beyond in notes:
            if is_beyond and np.isfinite(is_).all():
                arrows.append((limit, place, f"triangle-{side}"))
                if words:
                    _note(fig, limit, place, f"beyond {limits.write(limit)}", side, logarithmic=logarithmic)
    if arrows:
        fig.add_scatter(
            x=plain(x for x, _, _ in arrows), y=[y for _, y, _ in arrows], mode="markers", showlegend=False,
            hoverinfo="skip", marker={"color": colour(ink), "size": 10, "symbol": [one for _, _, one in arrows]},
        )  # fmt: skip


def _note(fig: go.Figure, at: float, place: float, text: str, side: str, *, logarithmic: bool) -> None:
    fig.add_annotation(
        x=math.log10(at) if logarithmic else at, y=place + _ROOM, text=text, showarrow=False, xanchor=side,
        yanchor="bottom", font={"color": colour("muted"), "size": 11},
    )  # fmt: skip


def ratio_axis(values: Iterable[float]) -> dict[str, Any]:
    """A logarithmic axis around 1 for ratios, with ticks such as x0.5, x1 and x2, or x0.98, x1 and x1.02."""
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
    margin = 0.02 * math.log10(last / first) + 0.002
    edges = [math.log10(first) - margin, math.log10(last) + margin]
    return {"type": "log", "range": edges, "tickvals": ticks, "ticktext": [f"x{tick:.3g}" for tick in ticks]}


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
