"""What the server's sessions worked on and waited for: over time, by operation, and as the reason of a difference."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.comparison.explanation import Explanation, Part
from hdbkit.analysis.run.records import Window
from hdbkit.analysis.run.waits import CLASSES
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import bars, plain
from hdbkit.charts.marks import name_rows
from hdbkit.charts.style import PATTERNS, SERIES, along_run, colour, figure
from hdbkit.later import graph_objects as go
from hdbkit.later import pandas as pd
from hdbkit.results.run_result import WaitsResult
from hdbkit.text import number

_HATCHED = {"fillmode": "overlay", "solidity": 0.2}
_SHOWN = 5
"""The number of waits that a text names."""


def waits_over_time(course: pd.DataFrame, cores: int, window: Window, found: WaitsResult, noun: str) -> Chart:
    """The sessions of the load that work or wait, stacked by class.

    Args:
        course: as ``analysis.run.waits.sessions_over_time`` gives it.
        cores: those of the server's host; 0 if they are not known.
        window: the measured window.
        found: the waits of the window.
        noun: what an operation is called.
    """
    course = course[course["second"] < int(window.end_us / 1e6)]  # the last second has samples without a load
    fig = along_run(window.start_us / 1e6, "sessions (mean)", name_at="top left", over=True)
    add_classes(fig, course)
    if cores:
        fig.add_hline(cores, line_color=colour("muted"), line_dash="dash", annotation_text=f"{cores} cores")
    fig.update_yaxes(rangemode="tozero")
    return Chart("waits", "What did sessions wait for?", fig, waits_words(found, noun), course.round(3))


def add_classes(fig: go.Figure, course: pd.DataFrame) -> None:
    """The sessions of each class, stacked; a class has one look in all charts."""
    for index, name in enumerate(CLASSES):
        if name not in course:
            continue
        ink = colour(SERIES[index % len(SERIES)])
        fig.add_scatter(
            x=course["second"].tolist(), y=plain(course[name].round(3)), mode="lines", stackgroup="sessions",
            name=name, line={"color": ink, "width": 1}, fillcolor=ink, opacity=0.75,
            fillpattern={"shape": PATTERNS[index % len(PATTERNS)], "fgcolor": colour("shade"), **_HATCHED},
            hovertemplate="%{x:.0f} s: %{y:.2f} sessions<extra>%{fullData.name}</extra>",
        )  # fmt: skip


def waits_words(found: WaitsResult, noun: str) -> str:
    """The waits that took most of the time, in a sentence."""
    if not found.waits:
        return f"In none of {found.samples:,} samples of the window a session worked or waited in the server."
    named = [
        f"{one.operation} {one.what} {number(one.sessions, 2)}"
        + (f" ({number(one.ms, 3)} ms per {noun})" if one.ms is not None else "")
        for one in found.waits[:_SHOWN]
    ]
    return f"Mean number of sessions in {found.samples:,} samples of the window: {'; '.join(named)}."


def explained(found: Explanation, base: str = "base", new: str = "new") -> Chart:
    """The time of an operation from one side to the other, by part; ``base`` and ``new`` name the sides."""
    noun, total = found.noun, found.total
    names = [base, *(one.name for one in found.parts), new]
    fig = figure(f"milliseconds per {noun}", "", height=130 + 34 * len(names), showlegend=True)
    place, reached = len(names) - 1, total.base_ms
    looks = {"time per " + noun: "muted", "less": "series-1", "more": "series-2", "interval includes zero": "grid"}
    rows: dict[str, list[tuple[int, float, float, Part | None]]] = {name: [] for name in looks}
    rows["time per " + noun] += [(place, 0.0, total.base_ms, None), (0, 0.0, total.new_ms, None)]
    for one in found.parts:
        place -= 1
        look = "interval includes zero" if not one.is_clear else "less" if one.difference_ms < 0 else "more"
        rows[look].append((place, reached, reached + one.difference_ms, one))
        reached += one.difference_ms
    for name, ink in looks.items():
        _blocks(fig, name, colour(ink), rows[name])
    name_rows(fig, names)
    table = pd.DataFrame(
        [
            {"part": one.name, "base_ms": one.base_ms, "new_ms": one.new_ms, "difference_ms": one.difference_ms}
            | {"low_ms": one.low_ms, "high_ms": one.high_ms}
            for one in (total, *found.parts)
        ]
    )
    words = f"{found.sentence} Intervals of all parts hold together: {found.how}. This is an association."
    return Chart("explanation", f"Why does the time per {noun} differ?", fig, words, table.round(4))


def _blocks(fig: go.Figure, name: str, ink: str, rows: Sequence[tuple[int, float, float, Part | None]]) -> None:
    """A thick line per row from where a part begins to where it ends, with its interval at the end."""
    for index, (place, begin, end, part) in enumerate(rows):
        fig.add_scatter(
            x=[begin, end], y=[place, place], mode="lines", name=name, legendgroup=name, showlegend=not index,
            line={"color": ink, "width": 16}, hoverinfo="skip",
        )  # fmt: skip
        if part is None:
            continue
        at = pd.Series([end])
        ends = pd.DataFrame(
            {"low": [end + part.low_ms - part.difference_ms], "high": [end + part.high_ms - part.difference_ms]}
        )
        fig.add_scatter(
            x=[end], y=[place], mode="markers", name=name, legendgroup=name, showlegend=False,
            marker={"color": colour("ink"), "size": 6}, error_x=bars(at, ends, colour("ink")),
            text=[f"{part.name}: {part.difference_ms:+.3g} ms ({part.low_ms:+.3g} to {part.high_ms:+.3g})"],
            hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip
