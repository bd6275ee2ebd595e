"""The chart of a profile's history: the metric of each run in the order of time, and its change points."""

from __future__ import annotations

from hdbkit.analysis.comparison.history import change_sentences
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import plain
from hdbkit.charts.marks import MAX_DOTS, MAX_LINES, ids_of, left_out, of_runs
from hdbkit.charts.style import HEIGHT, axis_title, colour, figure, hover, series
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.text import virtual_users

_MAX_SENTENCES = 5


def history_chart(runs: pd.DataFrame, segments: pd.DataFrame, metric: Metric) -> Chart:
    """The metric of each run in the order of time, a colour per count of users, and the mean of each segment.

    Args:
        runs: a row per run: run_id, started, virtual_users, metric_value.
        segments: as ``analysis.comparison.history.segments`` gives them.
    """
    ordered = runs.sort_values(["started", "run_id"]).reset_index(drop=True)
    counts = sorted(segments["virtual_users"].unique())
    fig = figure("runs of the profile, in the order of time", axis_title(metric), height=HEIGHT + 40)
    for index, users in enumerate(counts[:MAX_LINES]):
        look, of_it = series(index), ordered[ordered["virtual_users"] == users]
        name, shown = virtual_users(int(users)), of_it.tail(MAX_DOTS // len(counts))
        fig.add_scatter(
            x=(shown.index + 1).tolist(), y=plain(shown["metric_value"]), mode="markers", name=name, legendgroup=name,
            marker={"color": look["color"], "symbol": look["symbol"], "size": 7},
            text=[str(at)[:16].replace("T", " ") for at in shown["started"]],
            hovertemplate=f"%{{text}}<br>{hover(metric, shown['metric_value'])}", **of_runs(ids_of(shown)),
        )  # fmt: skip
        for position, row in enumerate(segments[segments["virtual_users"] == users].to_dict("records")):
            first = of_it.index[of_it["run_id"] == row["run_id"]][0]
            last = of_it.index[of_it.index >= first][row["runs"] - 1]
            fig.add_scatter(
                x=[int(first) + 1, int(last) + 1], y=plain([row["metric_value"]] * 2), mode="lines", showlegend=False,
                legendgroup=name, line={"color": look["color"], "width": 2}, hoverinfo="skip",
            )  # fmt: skip
            if position:
                dash = "dot" if row["cause"] == "environment" else "dash"
                fig.add_vline(int(first) + 0.5, line_color=colour("muted"), line_width=1, line_dash=dash)
    fig.update_yaxes(rangemode="tozero")
    changes = [f"{one}." for one in change_sentences(segments, metric)]
    words = [
        *(changes[:_MAX_SENTENCES] or ["Nothing changed."]),
        "Horizontal lines are the means of segments; a dashed line is a change point, a dotted one a change of the "
        "environment.",
        left_out(min(len(counts), MAX_LINES), len(counts)),
    ]
    return Chart("history", f"When did {metric.name} change?", fig, " ".join(filter(None, words)), segments)
