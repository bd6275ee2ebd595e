"""A chart as a thumbnail: its lines, dots, intervals and bars as a small SVG without words, in the page's colours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hdbkit.charts.style import NAMES

WIDTH_PX: Final = 168
HEIGHT_PX: Final = 84
_EDGE_PX: Final = 5
_MAX_POINTS: Final = 160
_MAX_DOTS: Final = 60
_DRAWN: Final = ("scatter", "bar")

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class _Axis:
    """Where the values of an axis are in the thumbnail; a category is at its place among the categories."""

    low: float
    high: float
    length_px: float
    is_log: bool
    places: Mapping[Any, int]

    def at(self, value: Any) -> float | None:
        """The distance of a value from the axis' start; None where it has no place."""
        found = self.number(value)
        if found is None:
            return None
        share = (found - self.low) / ((self.high - self.low) or 1.0)
        return _EDGE_PX + min(max(share, 0.0), 1.0) * (self.length_px - 2 * _EDGE_PX)

    def number(self, value: Any) -> float | None:
        """A value as the axis orders it."""
        return _number(value, self.is_log, self.places)


def sketch(figure: Spec) -> str:
    """``figure`` (``to_plotly_json`` of a chart's) as SVG; empty where it has neither lines nor dots nor bars."""
    traces = [one for one in figure["data"] if one.get("type", "scatter") in _DRAWN and _points(one)]
    if not traces:
        return ""
    x = _axis(traces, figure["layout"].get("xaxis", {}), "x", WIDTH_PX)
    y = _axis(traces, figure["layout"].get("yaxis", {}), "y", HEIGHT_PX)
    marks = "".join(_trace(one, x, y) for one in traces)
    return (
        f'<svg viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}" width="{WIDTH_PX}" height="{HEIGHT_PX}" aria-hidden="true">'
        f"{marks}</svg>"
    )


def _points(trace: Spec) -> list[tuple[Any, Any]]:
    x, y = trace.get("x"), trace.get("y")
    return [] if x is None or y is None or isinstance(x, Mapping) else list(zip(x, y, strict=False))


def _axis(traces: Sequence[Spec], axis: Spec, name: str, length_px: float) -> _Axis:
    """The axis over all values, from 0 where bars or the chart's own axis start there."""
    values = [value for trace in traces for value in trace[name]]
    values += [end for trace in traces for ends in _intervals(trace, name) for end in ends]
    words = list(dict.fromkeys(value for value in values if isinstance(value, str)))
    places, is_log = {word: place for place, word in enumerate(words)}, axis.get("type") == "log"
    known = [one for one in (_number(value, is_log, places) for value in values) if one is not None] or [0.0]
    of_bars = any(one.get("type") == "bar" and (one.get("orientation") == "h") == (name == "x") for one in traces)
    if not is_log and (of_bars or axis.get("rangemode") == "tozero"):
        known.append(0.0)
    return _Axis(min(known), max(known), length_px, is_log, places)


def _number(value: Any, is_log: bool, places: Mapping[Any, int]) -> float | None:
    if value in places:
        return float(places[value])
    if not isinstance(value, int | float) or not math.isfinite(value) or (is_log and value <= 0):
        return None
    return math.log10(value) if is_log else float(value)


def _intervals(trace: Spec, name: str) -> list[tuple[float, float]]:
    """The ends of the intervals around the points."""
    bars = trace.get(f"error_{name}") or {}
    upper = bars.get("array")
    if upper is None:
        return []
    lower = bars.get("arrayminus")
    rows = zip(trace[name], upper if lower is None else lower, upper, strict=False)
    return [
        (value - below, value + above)
        for value, below, above in rows
        if not any(isinstance(one, str) or one is None for one in (value, below, above))
    ]


def _trace(trace: Spec, x: _Axis, y: _Axis) -> str:
    placed = [(x.at(one), y.at(other)) for one, other in _points(trace)]
    points = [(across, HEIGHT_PX - up) for across, up in placed if across is not None and up is not None]
    colour = _colour(trace)
    if trace.get("type") == "bar":
        return _bars(points, colour, lying=trace.get("orientation") == "h")
    return _bands(trace, x, y, colour) + _line(trace, points, colour)


def _line(trace: Spec, points: Sequence[tuple[float, float]], colour: str) -> str:
    mode, thin = str(trace.get("mode", "lines")), points[:: max(1, math.ceil(len(points) / _MAX_POINTS))]
    drawn = ""
    if "lines" in mode and len(thin) > 1:
        path = " ".join(f"{across:.1f},{up:.1f}" for across, up in thin)
        filled = trace.get("fill") in ("toself", "tonexty", "tozeroy")
        look = f"fill:{colour};fill-opacity:.15" if filled else f"fill:none;stroke:{colour};stroke-width:1.5"
        drawn += f'<polyline points="{path}" style="{look}"/>'
    if "markers" in mode:
        dots = points[:: max(1, math.ceil(len(points) / _MAX_DOTS))]
        drawn += "".join(
            f'<circle cx="{across:.1f}" cy="{up:.1f}" r="2.2" style="fill:{colour}"/>' for across, up in dots
        )
    return drawn


def _bands(trace: Spec, x: _Axis, y: _Axis, colour: str) -> str:
    """The intervals around points, across or upright."""
    lying = zip(_intervals(trace, "x"), trace["y"], strict=False)
    upright = zip(_intervals(trace, "y"), trace["x"], strict=False)
    lines = [(x.at(low), y.at(other), x.at(high), y.at(other)) for (low, high), other in lying]
    lines += [(x.at(other), y.at(low), x.at(other), y.at(high)) for (low, high), other in upright]
    return "".join(
        f'<path d="M{a:.1f} {HEIGHT_PX - b:.1f}L{c:.1f} {HEIGHT_PX - d:.1f}" style="stroke:{colour}"/>'
        for a, b, c, d in lines
        if a is not None and b is not None and c is not None and d is not None
    )


def _bars(points: Sequence[tuple[float, float]], colour: str, *, lying: bool) -> str:
    room = (HEIGHT_PX if lying else WIDTH_PX) - 2 * _EDGE_PX
    thick = max(1.5, 0.7 * room / max(1, len(points)))
    rows: list[tuple[float, float, float, float]] = []
    for across, up in points:
        if lying:
            rows.append((_EDGE_PX, up - thick / 2, across - _EDGE_PX, thick))
        else:
            rows.append((across - thick / 2, up, thick, HEIGHT_PX - _EDGE_PX - up))
    return "".join(
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0, w):.1f}" height="{max(0, h):.1f}" style="fill:{colour}"/>'
        for x, y, w, h in rows
    )


def _colour(trace: Spec) -> str:
    """The colour of the page that stands for the trace's own."""
    for part in ("line", "marker"):
        found = (trace.get(part) or {}).get("color")
        if isinstance(found, str) and found.lower() in NAMES:
            return f"var(--{NAMES[found.lower()]})"
    return "var(--series-1)"
