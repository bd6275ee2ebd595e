"""The charts of an open loop's schedule: offered and achieved rate, lateness, backlog.

``schedule`` is the table of that name (``columns.SCHEDULE``).
"""

from __future__ import annotations

import pandas as pd

from hdbkit.analysis.run.windows import Window
from hdbkit.analysis.wording import many, plural
from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import plain
from hdbkit.charts.style import figure, log_axis, series, shade_rampup

_SECONDS = "seconds since the start"


def schedule_charts(schedule: pd.DataFrame, window: Window, noun: str, step_s: int = 1) -> list[Chart]:
    """The three charts; each point covers ``step_s`` seconds, and a last, incomplete step is left out."""
    whole = schedule[schedule["second"] < int(window.end_us / 1e6) // step_s * step_s]
    steps = whole.groupby(whole["second"] // step_s * step_s).agg(
        {"due": "sum", "begun": "sum", "skipped": "sum", "backlog": "last"}
        | dict.fromkeys(("late_p50_us", "late_p99_us", "late_max_us"), "max")
    )
    return [_rates(steps, window, noun, step_s), _lateness(steps, window, noun), _backlog(steps, window, noun)]


def _rates(steps: pd.DataFrame, window: Window, noun: str, step_s: int) -> Chart:
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
    inside = rates[rates.index >= window.start_us / 1e6]
    words = "No whole second lies in the window."
    if len(inside):
        offered, achieved = inside["offered"].mean(), inside["achieved"].mean()
        words = (
            f"In the window {offered:,.4g} {plural(noun)} per second were due (offered), and {achieved:,.4g} began "
            "(achieved)."
        )
    return Chart("rates", "Did the load follow its schedule?", fig, words, rates.reset_index())


def _lateness(steps: pd.DataFrame, window: Window, noun: str) -> Chart:
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
    inside = late_ms[late_ms.index >= window.start_us / 1e6].dropna()
    words = f"No {noun} began in the window."
    if len(inside):
        at = inside["max"].idxmax()
        words = f"The latest start in the window was {inside['max'].max():,.3g} ms late, in second {at} of the run."
    return Chart("lateness", f"How late did each {noun} begin?", fig, words, late_ms.round(4).reset_index())


def _backlog(steps: pd.DataFrame, window: Window, noun: str) -> Chart:
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
    last, skipped = int(steps["backlog"].iloc[-1]) if len(steps) else 0, int(steps["skipped"].sum())
    words = f"At the end {many(last, noun)} were due and had not begun."
    words += f" {many(skipped, noun)} were skipped, as they could only begin too late." if skipped else ""
    return Chart("backlog", "Did the backlog grow?", fig, words, steps[["backlog", "skipped"]].reset_index())
