"""Parallel coordinates: which values of the settings do fast runs have in common?

Every run is a line across the settings to its result, the best on top. Values stand in their natural order, evenly
spaced; the lines through one value are spread by result, so that none hides another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import by_worth
from hdbkit.charts.style import HEIGHT, axis_title, colour, figure
from hdbkit.config.metric import Better, Metric
from hdbkit.text import number

MAX_RUNS = 400
MAX_VALUES = 12
"""A numeric column with more values than these is a scale, not a list."""
_SHARE = 5
"""One in this many is fast, and one in this many slow."""
_SPREAD = 0.06
_MORE = 1.5
"""How much more frequent than among all runs a value of the fastest must be to be named."""
_MAX_WIDTH = 12
_NONE = "none"
"""What stands for a setting that a run's server does not have."""


def parallel_coordinates(runs: pd.DataFrame, columns: Sequence[str], metric: Metric) -> Chart:
    """A line per run over ``columns`` to the metric; the fastest and the slowest fifth are highlighted.

    Args:
        runs: a row per run; those without a ``metric_value`` are left out, and of more than ``MAX_RUNS`` some in
        between.
        columns: settings and other columns, in the order of the axes.
        metric: what ``metric_value`` is, which is drawn last.
    """
    value = "metric_value"
    known = runs[runs[value].notna()].sort_values(value, ascending=metric.better is Better.HIGHER, ignore_index=True)
    drawn = known.iloc[np.linspace(0, len(known) - 1, min(len(known), MAX_RUNS)).round().astype(int)]
    fig = figure(f"settings, and {axis_title(metric)} on the right", "", height=HEIGHT + 60, hovermode="closest")
    rank = np.linspace(-0.5, 0.5, len(drawn)) if len(drawn) > 1 else np.zeros(len(drawn))
    places = []
    for index, name in enumerate([*columns, value]):
        at, ticks, listed = _positions(drawn[name], metric)
        places.append(at + (rank * min(_SPREAD, 0.5 / max(1, len(ticks))) if listed else 0))
        _add_axis(fig, index, ticks)
    lines = np.column_stack(places)
    fifth = max(1, len(drawn) // _SHARE)
    slow, fast = min(fifth, len(drawn) - fifth), max(0, len(drawn) - fifth)
    parts = {"the others": slice(slow, fast), "slowest fifth": slice(0, slow), "fastest fifth": slice(fast, None)}
    for name, part in parts.items():
        if len(lines[part]):
            fig.add_scatter(
                **_lines(lines[part], _texts(drawn.iloc[part], columns, metric)), name=name, **_LOOKS[name]
            )
    names = [_wrapped(name) for name in [*columns, metric.name]]
    fig.update_xaxes(tickvals=list(range(len(names))), ticktext=names, range=[-0.3, len(names) - 0.7], showgrid=False)
    fig.update_xaxes(title_standoff=10)
    fig.update_yaxes(range=[-0.08, 1.08], showticklabels=False, showgrid=False, zeroline=False)
    words = (
        f"{_common(known, columns, max(1, len(known) // _SHARE))} {len(drawn):,} of {len(known):,} runs are drawn."
    )
    return Chart(
        "parallel",
        "Which values do the fastest runs have in common?",
        fig,
        words,
        known[[*columns, value]].rename(columns={value: metric.name}),
    )


_LOOKS: dict[str, dict[str, Any]] = {
    "the others": {"line": {"color": colour("muted"), "width": 1, "dash": "solid"}, "opacity": 0.45},
    "slowest fifth": {"line": {"color": colour("series-2"), "width": 1.5, "dash": "dash"}, "opacity": 0.8},
    "fastest fifth": {"line": {"color": colour("series-1"), "width": 2, "dash": "solid"}, "opacity": 0.9},
}


def _positions(values: pd.Series[Any], metric: Metric) -> tuple[np.ndarray, list[tuple[float, str]], bool]:
    """Where each value stands between 0 and 1, the ticks, and whether they are a list of values (else a scale)."""
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    numeric = numeric and bool(values.notna().all())
    distinct = values.nunique(dropna=False)
    if numeric and (values.name == "metric_value" or distinct > MAX_VALUES):
        low, high = float(values.min()), float(values.max())
        if values.name == "metric_value" and metric.better is Better.LOWER:
            low, high = high, low
        ticks = [(share, number(low + share * (high - low))) for share in (0.0, 0.5, 1.0)]
        at = (values.to_numpy(dtype=float) - low) / (high - low) if high != low else np.full(len(values), 0.5)
        return at, ticks if high != low else [(0.5, number(low))], False
    words = values.map(lambda one: _NONE if pd.isna(one) else str(one)).astype(str)
    kinds = pd.Index(sorted(words.unique()))
    ordered = kinds[by_worth(kinds).argsort()]
    spots = np.linspace(0, 1, len(ordered)) if len(ordered) > 1 else np.array([0.5])
    spot_of = dict(zip(ordered, spots, strict=True))
    ticks = [(float(spot), str(name)) for name, spot in spot_of.items()]
    return words.map(spot_of).to_numpy(dtype=float), ticks, True


def _add_axis(fig: go.Figure, index: int, ticks: Sequence[tuple[float, str]]) -> None:
    """A vertical line with its values on it."""
    fig.add_shape(type="line", x0=index, x1=index, y0=0, y1=1, line={"color": colour("muted"), "width": 1})
    for at, text in ticks:
        fig.add_annotation(
            x=index, y=at, text=text, showarrow=False, xanchor="center", yanchor="middle", borderpad=2,
            bgcolor=colour("shade"), font={"color": colour("ink"), "size": 12},
        )  # fmt: skip


def _lines(places: np.ndarray, texts: Sequence[str]) -> dict[str, Any]:
    """Several lines as one trace, broken between two; each names its run at its last point."""
    width = places.shape[1] if len(places) else 0
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str] = []
    for row, words in zip(places, texts, strict=True):
        x += [*map(float, range(width)), None]
        y += [*(round(float(one), 4) for one in row), None]
        text += [*[""] * (width - 1), words, ""]
    return {"x": x, "y": y, "text": text, "mode": "lines", "hovertemplate": "%{text}<extra></extra>"}


def _texts(runs: pd.DataFrame, columns: Sequence[str], metric: Metric) -> list[str]:
    return [
        ", ".join(f"{name}={one}" for name, one in zip(columns, row[:-1], strict=True)) + f": {metric.text(row[-1])}"
        for row in runs[[*columns, "metric_value"]].itertuples(index=False, name=None)
    ]


def _common(runs: pd.DataFrame, columns: Sequence[str], fastest: int) -> str:
    """Which values all the fastest runs have, where others have another one too."""
    best = runs.tail(fastest)
    shared = [
        f"{name}={best[name].iloc[0]}" for name in columns if best[name].nunique() == 1 and runs[name].nunique() > 1
    ]
    which = "the fastest run has" if fastest == 1 else f"the {fastest} fastest runs have"
    if shared:
        return f"{which.capitalize()} in common: {', '.join(shared)}."
    frequent = [text for name in columns if (text := _frequent(best[name], runs[name]))]
    return f"{which.capitalize()} nothing in common{'; ' if frequent else ''}{' and '.join(frequent)}."


def _frequent(best: pd.Series[Any], among: pd.Series[Any]) -> str:
    """The value that most of the fastest have, where it is more frequent among them than among all runs."""
    value, count = best.mode().iloc[0], int(best.value_counts().max())
    often = count / len(best)
    return (
        f"{count} of them have {best.name}={value}"
        if often > 0.5 and often >= _MORE * (among == value).mean()
        else ""
    )


def _wrapped(name: str) -> str:
    """A long name on several lines."""
    lines = [""]
    for part in name.replace("_", "_ ").replace(".", ". ").split():
        if lines[-1] and len(lines[-1]) + len(part) > _MAX_WIDTH:
            lines.append("")
        lines[-1] += part
    return "<br>".join(lines)
