"""The rate of each run of a search against its latency, with the limit and the highest rate within it."""

from __future__ import annotations

import math

import pandas as pd

from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import ids_of, of_runs
from hdbkit.charts.style import colour, figure, log_axis, series

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
