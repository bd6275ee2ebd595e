"""The interactions of the settings of a sweep, each with its interval, the strongest first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import Limits, add_intervals, ratio_axis
from hdbkit.charts.marks import AXIS_WORDS, left_out, mark_one, name_rows
from hdbkit.charts.style import figure
from hdbkit.config.metric import Metric
from hdbkit.results.finding import Of, Ratio, Verdict, frame

_MAX_ROWS = 20


def interaction_chart(ratios: Sequence[Ratio], smallest_effect: float, metric: Metric) -> Chart:
    """Two values together against their effects multiplied, the strongest first."""
    ordered = sorted(ratios, key=lambda ratio: -abs(math.log(ratio.ratio or 1.0)))
    table = frame(ordered, Of.INTERACTION)
    shown = table.head(_MAX_ROWS)
    title = f"{metric.name} against the effects multiplied ({AXIS_WORDS})"
    fig = figure(title, "", height=110 + 56 * len(shown), showlegend=False)
    mark_one(fig, smallest_effect)
    places, limits = list(range(len(shown) - 1, -1, -1)), Limits.of_ratios(shown["ratio"])
    add_intervals(fig, places, shown["ratio"], shown, limits, hovertemplate="x%{x:.3r}<extra></extra>")
    name_rows(fig, [_row_name(ratio) for ratio in ordered[:_MAX_ROWS]])
    ends = limits.clip(shown)
    fig.update_xaxes(**ratio_axis([*shown["ratio"], *ends["low"], *ends["high"]]))
    acting = [ratio for ratio in ordered if ratio.verdict is Verdict.INTERACT]
    strongest = [f"{ratio.sentence}." for ratio in acting[:3]]
    words = [
        *(strongest or ["No interaction between two settings is shown."]),
        f"{len(acting)} of {len(table)} pairs of values interact; intervals hold together; the band is "
        f"{100 * smallest_effect:g} %.",
        limits.words(shown),
        left_out(len(shown), len(table)),
    ]
    columns = ["setting", "value", "other", "other_value", "sets", "ratio", "low", "high", "verdict"]
    question = "Does the effect of one setting depend on another?"
    return Chart("interactions", question, fig, " ".join(filter(None, words)), table[columns].round(4))


def _row_name(ratio: Ratio) -> str:
    assert ratio.change is not None
    assert ratio.interaction is not None
    other = ratio.interaction.other
    return f"{ratio.change.setting} = {ratio.change.value}<br>{other.setting} = {other.value}"
