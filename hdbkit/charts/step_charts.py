"""Throughput against latency over the steps of a run."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.run.steps import FOLLOWED, knee
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import colour, figure, log_axis, series
from hdbkit.later import graph_objects as go
from hdbkit.later import pandas as pd
from hdbkit.results.run_result import StepResult
from hdbkit.text import many, plural, share

_QUANTILES = ("p50", "p95", "p99")


def latency_over_throughput(steps: Sequence[StepResult], operation: str, noun: str) -> Chart:
    """A point per step, joined in their order; ``operation`` is the headline's."""
    time = "response" if all(one.response for one in steps) else "service"
    table = pd.DataFrame(
        [
            {"step": str(one.step), "offered per second": one.offered_per_s, "users": one.users}
            | {"completed per second": round(one.completed_per_s, 3), "failed": one.failed}
            | {f"{name} (ms)": _ms(one.times(time).at(name)) for name in _QUANTILES}
            for one in steps
        ]
    ).dropna(axis="columns", how="all")
    fig = figure(f"completed {plural(noun)} per second", f"{time} time of {operation} (ms, log)")
    shown = [one for one in steps if one.times(time).p50_us is not None]
    for index, name in enumerate(_QUANTILES):
        look = series(index)
        fig.add_scatter(
            x=[round(one.completed_per_s, 3) for one in shown], y=[_ms(one.times(time).at(name)) for one in shown],
            text=[str(one.step) for one in shown], mode="lines+markers", name=name,
            line={"color": look["color"], "dash": look["dash"], "width": 1.5},
            marker={"color": look["color"], "symbol": look["symbol"], "size": 8},
            hovertemplate=f"%{{text}}: %{{x:,.4~g}} per second, {name} %{{y:.3g}} ms<extra></extra>",
        )  # fmt: skip
    fig.update_xaxes(rangemode="tozero").update_yaxes(**log_axis(value for line in fig.data for value in line.y))
    words_of_knee = _mark_knee(fig, steps, noun)
    fastest = max(steps, key=lambda one: one.completed_per_s)
    slowest_per_s = min(one.completed_per_s for one in steps)
    words = (
        f"Over {many(len(steps), 'step')} the throughput was between {slowest_per_s:,.1f} and "
        f"{fastest.completed_per_s:,.1f} {plural(noun)} per second, the latter in the step '{fastest.step}'"
    )
    if fastest.times(time).p95_us is not None:
        words += f", with a p95 of the {time} time of {operation} of {_ms(fastest.times(time).p95_us):,.2f} ms"
    return Chart("steps", "How does latency grow with throughput?", fig, f"{words}.{words_of_knee}", table)


def _mark_knee(fig: go.Figure, steps: Sequence[StepResult], noun: str) -> str:
    """Mark the rate up to which the throughput follows the offered one, and its interval; a sentence about it."""
    found = knee(steps)
    if found is None:
        return ""
    fig.add_vrect(found.low, found.high, fillcolor=colour("shade"), line_width=0, layer="below")
    fig.add_vline(found.level, line_color=colour("ink"), line_width=1, annotation_text="knee",
                  annotation_position="top left", annotation_font_color=colour("muted"))  # fmt: skip
    interval = f"{found.low:,.4g} to {found.high:,.4g}" if found.low else f"below {found.high:,.4g}"
    return (
        f" The throughput follows the offered rate, by at least {share(FOLLOWED)} of it, up to {found.level:,.4g} "
        f"{plural(noun)} per second (knee; 95 % confidence interval: {interval})."
    )


def _ms(time_us: float | None) -> float:
    return float("nan") if time_us is None else round(time_us / 1000, 4)
