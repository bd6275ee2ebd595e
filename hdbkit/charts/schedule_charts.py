"""The charts of an open loop's schedule: offered and achieved rate, lateness, backlog.

``schedule`` is the table of that name (``columns.SCHEDULE``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from hdbkit.analysis.run.windows import Window
from hdbkit.analysis.wording import many, plural
from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import plain
from hdbkit.charts.style import figure, log_axis, series, shade_rampup

_SECONDS = "seconds since the start"


def schedule_charts(
    schedule: pd.DataFrame, result: Mapping[str, Any], window: Window, noun: str, step_s: int = 1
) -> list[Chart]:
    """The three charts; each point covers ``step_s`` seconds, and a last, incomplete step is left out.

    ``result`` is the window's part of a run's result, whose figures the texts repeat: the window's edges are seldom
    whole seconds.
    """
    whole = schedule[schedule["second"] < int(window.end_us / 1e6) // step_s * step_s]
    steps = whole.groupby(whole["second"] // step_s * step_s).agg(
        {"due": "sum", "begun": "sum", "skipped": "sum", "backlog": "last"}
        | dict.fromkeys(("late_p50_us", "late_p99_us", "late_max_us"), "max")
    )
    return [
        _rates(steps, result, window, noun, step_s),
        _lateness(steps, result, window, noun),
        _backlog(steps, result, window, noun),
    ]


def _rates(steps: pd.DataFrame, result: Mapping[str, Any], window: Window, noun: str, step_s: int) -> Chart:
    """Operations that were due, and that began, per second."""
    rates = pd.DataFrame({"offered": steps["due"] / step_s, "achieved": steps["begun"] / step_s})
    fig = figure(_SECONDS, f"{plural(noun)} per second")
    shade_rampup(fig, window.start_us / 1e6)
    for index, name in enumerate(rates):
        look = series(index)
        fig.add_scatter(
            x=rates.index.tolist(), y=plain(rates[name]), mode="lines", name=str(name),
            line={"color": look["color"], "dash": look["dash"], "width": 2},
            hovertemplate=f"%{{x}} s: {name} %{{y:,.4~g}} per second<extra></extra>",
        )  # fmt: skip
    fig.update_yaxes(rangemode="tozero")
    begun_per_s = result["begun"] / window.duration_s
    words = (
        f"In the window {result['offered_per_s']:,.1f} {plural(noun)} per second were due (offered), and "
        f"{begun_per_s:,.1f} began (achieved)."
    )
    return Chart("rates", "Did the load follow its schedule?", fig, words, rates.reset_index())


def _lateness(steps: pd.DataFrame, result: Mapping[str, Any], window: Window, noun: str) -> Chart:
    """How late operations began, the worst second of each step."""
    late_ms = pd.DataFrame({name: steps[f"late_{name}_us"] / 1000 for name in ("p50", "p99", "max")})
    fig = figure(_SECONDS, "lateness: start - scheduled start (ms, log)")
    shade_rampup(fig, window.start_us / 1e6)
    for index, name in enumerate(late_ms):
        look = series(index)
        shown = late_ms[name].where(late_ms[name] > 0).round(4)
        fig.add_scatter(
            x=late_ms.index.tolist(), y=plain(shown), mode="lines", name=str(name),
            line={"color": look["color"], "dash": look["dash"], "width": 2},
            hovertemplate=f"%{{x}} s: {name} %{{y:.3g}} ms<extra></extra>",
        )  # fmt: skip
    fig.update_yaxes(**log_axis(value for line in fig.data for value in line.y if value is not None))
    latest_us = result["lateness"]["max_us"]
    words = f"No {noun} began in the window."
    if latest_us is not None:
        words = f"The latest start in the window was {latest_us / 1000:,.1f} ms late."
    return Chart("lateness", f"How late did each {noun} begin?", fig, words, late_ms.round(4).reset_index())


def _backlog(steps: pd.DataFrame, result: Mapping[str, Any], window: Window, noun: str) -> Chart:
    """Operations that were due and had not begun, and those that were skipped in each step."""
    fig = figure(_SECONDS, f"{plural(noun)} that are due")
    shade_rampup(fig, window.start_us / 1e6)
    names = ["backlog", *(["skipped"] if steps["skipped"].any() else [])]
    for index, name in enumerate(names):
        look = series(index)
        fig.add_scatter(
            x=steps.index.tolist(), y=plain(steps[name]), mode="lines", name=name,
            line={"color": look["color"], "dash": look["dash"], "width": 2},
            hovertemplate=f"%{{x}} s: %{{y:,}} {name}<extra></extra>",
        )  # fmt: skip
    fig.update_yaxes(rangemode="tozero").update_layout(showlegend=len(names) > 1)
    skipped = result["skipped"]
    words = f"At the end {many(result['backlog']['end'], noun)} were due and had not begun."
    words += (
        f" In the window {many(skipped, noun)} were skipped, as they could only begin too late." if skipped else ""
    )
    return Chart("backlog", "Did the backlog grow?", fig, words, steps[["backlog", "skipped"]].reset_index())
