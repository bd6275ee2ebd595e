"""Which effect a planned sweep finds, and with which probability."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.charts.chart import Chart
from hdbkit.charts.style import add_line, colour, figure, series
from hdbkit.later import pandas as pd


def power_chart(curves: pd.DataFrame, sentence: str, power: float) -> Chart:
    """A line per ``name``, a band where it has one.

    Args:
        curves: a row each with ``name`` (of a line), ``effect`` (a fraction), ``probability``, ``low`` and ``high``
            (those of the probability at both ends of the noise's range; NaN without).
        sentence: what the sweep finds, in words.
        power: the probability that is marked.
    """
    fig = figure("true change of a configuration against the baseline", "probability that it is found", hovermode="x")
    names = list(dict.fromkeys(curves["name"]))
    for index, name in enumerate(names):
        of_it, look = curves[curves["name"] == name], series(index)
        x = (100 * of_it["effect"]).tolist()
        if of_it["low"].notna().all():
            ends: Sequence[float] = [*(100 * of_it["high"]), *(100 * of_it["low"].iloc[::-1])]
            fig.add_scatter(
                x=[*x, *reversed(x)], y=list(ends), mode="lines", hoverinfo="skip", fill="toself",
                line={"width": 0, "color": look["color"]}, fillcolor=look["color"], opacity=0.2, showlegend=False,
            )  # fmt: skip
        percent = (100 * of_it["probability"]).tolist()
        add_line(fig, index, x, percent, str(name), "%{y:.0f} %<extra>%{fullData.name}</extra>")
    fig.add_hline(100 * power, line_color=colour("muted"), line_dash="dash", line_width=1)
    fig.update_xaxes(ticksuffix=" %", rangemode="tozero")
    fig.update_yaxes(ticksuffix=" %", range=[0, 101])
    banded = " The band is the range of the noise." if curves["low"].notna().any() else ""
    words = f"{sentence}. The dashed line marks {100 * power:g} %.{banded}"
    return Chart("power", "Which effect does the sweep find?", fig, words, curves.round(4))
