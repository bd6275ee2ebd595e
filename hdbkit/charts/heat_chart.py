"""The latency heat map of a run: how the latencies of one operation were distributed at each time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit.analysis.run.latency_bands import BANDS_PER_DECADE
from hdbkit.analysis.run.windows import Window
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import colour, figure, log_axis, shade_rampup
from hdbkit.text import number

MAX_STEPS = 120
"""Steps of time that are drawn; a longer run is drawn in longer steps."""


def latency_heat(bands: pd.DataFrame, window: Window, operation: str, step_s: int, time: str = "service") -> Chart:
    """The share of the operations in each band of latency, at each time.

    Args:
        bands: as ``analysis.run.latency_bands`` gives them, not empty.
        window: the measured one; the ramp-up before it is shaded.
        operation: the operation's name.
        step_s: the length of a step in seconds.
        time: ``service`` or ``response``.
    """
    fig = figure("seconds since the start", f"{time} time of {operation} (ms, log)")
    steps = range(int(bands["second"].min()), int(bands["second"].max()) + step_s, step_s)
    rows = range(int(bands["band"].min()), int(bands["band"].max()) + 1)
    cells = bands.pivot_table(index="band", columns="second", values="share").reindex(index=rows, columns=steps)
    ends = [float(f"{10 ** (one / BANDS_PER_DECADE) / 1000:.4g}") for one in (*rows, rows[-1] + 1)]
    shares = [[None if np.isnan(one) else round(float(one), 4) for one in row] for row in cells.to_numpy()]
    fig.add_heatmap(
        z=shares, x=[*steps, steps[-1] + step_s], y=ends, showscale=False, hoverongaps=False,
        colorscale=[[0, colour("heat-low")], [1, colour("heat-high")]],
        hovertemplate="%{x} s: %{z:.1%} took about %{y:,.3r} ms<extra></extra>",
    )  # fmt: skip
    shade_rampup(fig, window.start_us / 1e6, over=True)
    fig.update_yaxes(**log_axis(ends))
    by_band = bands.groupby("band", as_index=False)["n"].sum()
    at = int(by_band.loc[by_band["n"].to_numpy().argmax(), "band"]) - rows[0]
    slow = bands[bands["band"] == rows[-1]]
    low, high, slow_low, slow_high = (number(end, 3) for end in (ends[at], ends[at + 1], ends[-2], ends[-1]))
    words = (
        f"The most common latency of {operation} is {low} to {high} ms; the slowest band, {slow_low} to {slow_high} "
        f"ms, was reached in {slow['second'].nunique()} of {len(steps)} steps of {step_s} s. The stronger the colour "
        "of a cell, the larger its share of the operations of its time."
    )
    table = bands.drop(columns="band").round({"low_ms": 4, "share": 4})
    return Chart("latency_heat", f"When was {operation} slow, and how many of them?", fig, words, table)
