"""The charts of a schedule: offered and achieved rate, lateness, backlog, busy sessions.

``schedule`` is the table of that name of an open loop (``columns.SCHEDULE``).
"""

from __future__ import annotations

import pandas as pd

from hdbkit.analysis.run.windows import Window
from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import plain
from hdbkit.charts.style import figure, log_axis, series, shade_rampup
from hdbkit.results.run_result import Latencies, ScheduleResult
from hdbkit.text import many, number, plural

_SECONDS = "seconds since the start"


def schedule_charts(
    schedule: pd.DataFrame, result: ScheduleResult, window: Window, noun: str, step_s: int = 1
) -> list[Chart]:
    """The three charts of an open loop; a point covers ``step_s`` seconds, and a last, incomplete step is left out.

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
        lateness_over_time(steps, result.lateness, window, noun),
        _backlog(steps, result, window, noun),
    ]


def _rates(steps: pd.DataFrame, result: ScheduleResult, window: Window, noun: str, step_s: int) -> Chart:
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
    begun_per_s = result.begun / window.duration_s
    words = (
        f"In the window {result.offered_per_s:,.1f} {plural(noun)} per second were due (offered), and "
        f"{begun_per_s:,.1f} began (achieved)."
    )
    return Chart("rates", "Did the load follow its schedule?", fig, words, rates.reset_index())


def lateness_over_time(steps: pd.DataFrame, late: Latencies, window: Window, noun: str) -> Chart:
    """How late operations began, the worst second of each step.

    ``steps`` has late_p50_us, late_p99_us and late_max_us by second, ``late`` the same of the window (``lateness``).
    """
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
    words = f"No {noun} began in the window."
    if late.max_us is not None and late.p99_us is not None:
        words = f"In the window the latest start was {late.max_us / 1000:,.1f} ms late, and "
        words += f"99 % of the starts at most {late.p99_us / 1000:,.1f} ms."
    return Chart("lateness", f"How late did each {noun} begin?", fig, words, late_ms.round(4).reset_index())


def busy_over_time(busy: pd.DataFrame, window: Window, sessions: int, noun: str) -> Chart:
    """Sessions with an operation that was due and had not ended; ``busy`` as of ``analysis.run.busy``."""
    fig = figure(_SECONDS, "busy sessions (mean)", showlegend=False)
    shade_rampup(fig, window.start_us / 1e6)
    fig.add_scatter(
        x=busy["second"].tolist(), y=plain(busy["busy"].round(3)), mode="lines", name="busy",
        line={"color": series(0)["color"], "width": 2}, hovertemplate="%{x} s: %{y:,.3~g} busy<extra></extra>",
    )  # fmt: skip
    fig.update_yaxes(rangemode="tozero")
    inside = busy.loc[busy["second"] >= window.start_us / 1e6, "busy"]
    words = "No whole second lies in the window."
    if len(inside):
        words = (
            f"In the window {number(inside.mean(), 3)} of {many(sessions, 'session')} were busy on average, and "
            f"{number(inside.max(), 3)} in the busiest second: they had a {noun} that was due, or begun, and had "
            "not ended."
        )
    return Chart("busy", "How many sessions were busy?", fig, words, busy.round(3))


def _backlog(steps: pd.DataFrame, result: ScheduleResult, window: Window, noun: str) -> Chart:
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
    skipped = result.skipped
    words = f"At the end {many(result.backlog.end, noun)} were due and had not begun."
    words += (
        f" In the window {many(skipped, noun)} were skipped, as they could only begin too late." if skipped else ""
    )
    return Chart("backlog", "Did the backlog grow?", fig, words, steps[["backlog", "skipped"]].reset_index())
