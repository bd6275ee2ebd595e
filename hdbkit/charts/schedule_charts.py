"""The charts of a schedule: offered and achieved rate, lateness, backlog, busy sessions; the highest rate.

``schedule`` is the table of that name of an open loop (``columns.SCHEDULE``).
"""

from __future__ import annotations

import math

from hdbkit.analysis.run.records import Window
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import plain
from hdbkit.charts.marks import ids_of, of_runs
from hdbkit.charts.style import add_line, along_run, colour, figure, log_axis, series
from hdbkit.later import pandas as pd
from hdbkit.results.run_result import Latencies, ScheduleResult
from hdbkit.text import many, number, plural, with_article


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
    fig = along_run(window.start_us / 1e6, f"{plural(noun)} per second")
    for index, name in enumerate(rates):
        hover = f"%{{x}} s: {name} %{{y:,.4~g}} per second<extra></extra>"
        add_line(fig, index, rates.index.tolist(), plain(rates[name]), str(name), hover)
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
    fig = along_run(window.start_us / 1e6, "lateness: start - scheduled start (ms, log)")
    for index, name in enumerate(late_ms):
        shown = late_ms[name].where(late_ms[name] > 0).round(4)
        hover = f"%{{x}} s: {name} %{{y:.3g}} ms<extra></extra>"
        add_line(fig, index, late_ms.index.tolist(), plain(shown), str(name), hover)
    fig.update_yaxes(**log_axis(value for line in fig.data for value in line.y if value is not None))
    words = f"No {noun} began in the window."
    if late.max_us is not None and late.p99_us is not None:
        words = f"In the window the latest start was {late.max_us / 1000:,.1f} ms late, and "
        words += f"99 % of the starts at most {late.p99_us / 1000:,.1f} ms."
    return Chart("lateness", f"How late did each {noun} begin?", fig, words, late_ms.round(4).reset_index())


def busy_over_time(busy: pd.DataFrame, window: Window, sessions: int, noun: str) -> Chart:
    """Sessions with an operation that was due and had not ended; ``busy`` as of ``schedule.busy_sessions``."""
    fig = along_run(window.start_us / 1e6, "busy sessions (mean)", showlegend=False)
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
            f"{number(inside.max(), 3)} in the busiest second: they had {with_article(noun)} that was due, or "
            "begun, and had not ended."
        )
    return Chart("busy", "How many sessions were busy?", fig, words, busy.round(3))


def _backlog(steps: pd.DataFrame, result: ScheduleResult, window: Window, noun: str) -> Chart:
    """Operations that were due and had not begun, and those that were skipped in each step."""
    fig = along_run(window.start_us / 1e6, f"{plural(noun)} that are due")
    names = ["backlog", *(["skipped"] if steps["skipped"].any() else [])]
    for index, name in enumerate(names):
        hover = f"%{{x}} s: %{{y:,}} {name}<extra></extra>"
        add_line(fig, index, steps.index.tolist(), plain(steps[name]), name, hover)
    fig.update_yaxes(rangemode="tozero").update_layout(showlegend=len(names) > 1)
    skipped = result.skipped
    words = f"At the end {many(result.backlog.end, noun)} were due and had not begun."
    words += (
        f" In the window {many(skipped, noun)} were skipped, as they could only begin too late." if skipped else ""
    )
    return Chart("backlog", "Did the backlog grow?", fig, words, steps[["backlog", "skipped"]].reset_index())


_STAGES = {True: "search", False: "blocks"}


def max_rate_chart(
    runs: pd.DataFrame,
    found: tuple[float, float, float],
    limit: tuple[str, float],
    names: tuple[str, str],
    words: str,
) -> Chart:
    """A point per run with a value.

    Args:
        runs: a row per run in an open loop: run_id, block (0: search), rate, value_ms, within.
        found: the highest rate and the ends of its interval; an end is 0 or infinity where it is unknown.
        limit: the name of the quantile, and the limit in milliseconds.
        names: what the rate counts, in the plural, and the operation whose response time is limited.
        words: the result in words.
    """
    shown = runs.dropna(subset=["value_ms"])
    quantile, max_ms = limit
    fig = figure(f"{names[0]} per second", f"{quantile} of the response time of {names[1]} (ms, log)")
    low, high = max(found[1], shown["rate"].min()), min(found[2], shown["rate"].max())
    if math.isfinite(low) and low < high:
        fig.add_vrect(low, high, fillcolor=colour("shade"), line_width=0, layer="below")
    fig.add_vline(found[0], line_color=colour("ink"), line_width=1)
    fig.add_hline(max_ms, line_color=colour("muted"), line_dash="dash", line_width=1, annotation_text="limit",
                  annotation_position="top left", annotation_font_color=colour("muted"))  # fmt: skip
    for index, (searching, name) in enumerate(_STAGES.items()):
        rows, look = shown[(shown["block"] == 0) == searching], series(index)
        fig.add_scatter(
            x=rows["rate"].tolist(), y=rows["value_ms"].round(4).tolist(), mode="markers", name=name,
            text=rows["run_id"].tolist(), marker={"color": look["color"], "symbol": look["symbol"], "size": 8},
            hovertemplate=f"%{{text}}: %{{x:,.4~g}} per second, {quantile} %{{y:.3g}} ms<extra></extra>",
            **of_runs(ids_of(rows)),
        )  # fmt: skip
    fig.update_yaxes(**log_axis([max_ms, *shown["value_ms"]]))
    text = f"{words} The vertical line is the estimate, the shaded range its interval, the dashed line the limit."
    return Chart("max_rate", f"Which rate keeps the {quantile} within the limit?", fig, text, runs)
