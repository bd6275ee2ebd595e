"""The forest plot of a comparison: the change of the metric and of each latency, each with its interval."""

from __future__ import annotations

import pandas as pd

from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import bars, name_rows, plain
from hdbkit.charts.style import colour, figure

_LOOKS = {"better": ("series-3", "diamond"), "worse": ("series-2", "square"), "not shown": ("muted", "circle")}


def forest(changes: pd.DataFrame, smallest_effect: float) -> Chart:
    """A row for each figure, and where its interval lies.

    Args:
        changes: figure, ratio, low, high, lower_is_better (``analysis.comparison.changes``), not empty.
        smallest_effect: the smallest change that matters, as a share.
    """
    shown = changes.assign(
        percent=100 * (changes["ratio"] - 1), from_percent=100 * (changes["low"] - 1), to=100 * (changes["high"] - 1)
    )
    fig = figure("change from base to new (%)", "", height=130 + 34 * len(shown), showlegend=True)
    band = 100 * smallest_effect
    fig.add_vrect(-band, band, fillcolor=colour("shade"), line_width=0, layer="below")
    fig.add_vline(0, line_color=colour("muted"), line_width=1)
    places = pd.Series(range(len(shown) - 1, -1, -1), index=shown.index)
    judged = changes["judged"]
    for name, (ink, symbol) in _LOOKS.items():
        rows = shown[judged == name]
        if rows.empty:
            continue
        ends = pd.DataFrame({"low": rows["from_percent"], "high": rows["to"]})
        fig.add_scatter(
            x=plain(rows["percent"]), y=places[rows.index].tolist(), mode="markers", name=name,
            text=rows["figure"].tolist(), marker={"color": colour(ink), "symbol": symbol, "size": 10},
            error_x=bars(rows["percent"], ends, colour(ink)), hovertemplate="%{text}: %{x:+.1f} %<extra></extra>",
        )  # fmt: skip
    name_rows(fig, changes["figure"].tolist())
    fig.update_xaxes(ticksuffix=" %")
    counts = judged.value_counts()
    words = (
        f"Of {len(shown)} figures {counts.get('better', 0)} became better and {counts.get('worse', 0)} worse; of the "
        f"others no change is shown. Bars are 95 % intervals; the band is the smallest effect that matters, "
        f"{band:g} %."
    )
    return Chart("changes", "What became better or worse, and by how much?", fig, words, changes.round(4))
