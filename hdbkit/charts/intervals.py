"""Intervals on an axis, and the axis of ratios: the data decide the domain, never an interval that ends far away.

An interval is clipped at three times the range of the data. An arrow marks a clipped end, with the limit beyond
which the interval ends. One that reaches from far below to far above is not drawn: the runs are too few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hdbkit.analysis.wording import TOO_FEW, says_nothing
from hdbkit.charts.style import colour, compact
from hdbkit.later import graph_objects as go
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.text import number

_ABOVE = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_BELOW = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, *(1 / step for step in _ABOVE if step >= 10))
_TICKS = 8
"""About how many ticks an axis of ratios has."""
_LEAST = 0.1
"""The least range of data, as a share of the largest value; on a logarithmic axis, of their logarithm."""
_ROOM = 0.16
"""How far above its row the words of an interval are."""


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
