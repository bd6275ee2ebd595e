"""Interactions of settings: each of a sweep with its interval, the strongest first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import change_percent, change_title, intervals, left_out, name_rows
from hdbkit.charts.style import colour, figure
from hdbkit.config.metric import Metric

_MAX_ROWS = 20


def interaction_chart(found: pd.DataFrame, smallest_effect: float, metric: Metric) -> Chart:
    """Two values together against their effects multiplied; ``found`` as ``analysis.interactions`` gives it."""
    strength = np.abs(np.log(found["ratio"].astype(float)))
    table = found.assign(strength=strength).sort_values("strength", ascending=False).drop(columns="strength")
    shown = table.head(_MAX_ROWS)
    fig = figure(
        f"{change_title(metric)} against effects multiplied", "", height=110 + 56 * len(shown), showlegend=False
    )
    band = 100 * smallest_effect
    fig.add_vrect(-band, band, fillcolor=colour("shade"), line_width=0, layer="below")
    fig.add_vline(0, line_color=colour("muted"), line_width=1)
    percent = change_percent(shown, metric)
    places = list(range(len(shown) - 1, -1, -1))
    fig.add_trace(intervals(places, percent["ratio"], percent, "%{x:+.1f} %<extra></extra>"))
    rows = shown.to_dict("records")
    name_rows(fig, [f"{row['setting']} = {row['value']}<br>{row['other']} = {row['other_value']}" for row in rows])
    fig.update_xaxes(ticksuffix=" %")
    acting = table[table["verdict"] == "interact"]
    strongest = [f"{sentence}." for sentence in acting["sentence"].head(3)]
    words = [
        *(strongest or ["No interaction between two settings is shown."]),
        f"{len(acting)} of {len(table)} pairs of values interact; intervals hold together; the band is {band:g} %.",
        left_out(len(shown), len(table)),
    ]
    columns = ["setting", "value", "other", "other_value", "sets", "ratio", "low", "high", "verdict"]
    question = "Does the effect of one setting depend on another?"
    return Chart("interactions", question, fig, " ".join(filter(None, words)), table[columns].round(4))
