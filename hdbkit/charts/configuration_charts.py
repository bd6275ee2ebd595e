"""The configurations of a sweep: the metric of each, and the grid of two settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hdbkit.analysis.wording import highest_mean
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import plain
from hdbkit.charts.marks import by_worth, in_rows, left_out, over_users
from hdbkit.charts.style import MAX_COLOURED, axis_title, colour, figure, hover
from hdbkit.config.metric import Better, Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Ratio, Verdict, frame
from hdbkit.text import many, virtual_users


def configurations(runs: pd.DataFrame, ratios: Sequence[Ratio], metric: Metric) -> Chart:
    """The metric of every configuration, every run a dot; over virtual users where the sweep has several counts.

    ``ratios`` are those to the baseline; bars their intervals as values of the metric.
    """
    counts = set(runs["virtual_users"])
    known = [ratio for ratio in ratios if ratio.virtual_users in counts and ratio.value is not None]
    table = _configuration_table(known, metric)
    named = runs.assign(
        label=runs["configuration"].map(dict(zip(table["configuration"], table["label"], strict=True)))
    )
    omitted = ""
    if runs["virtual_users"].nunique() > 1:
        drawn = table[table["label"].isin(best_labels(known, metric))]
        omitted = left_out(drawn["label"].nunique(), table["label"].nunique(), baseline=True)
        fig, question = (
            over_users(named, drawn, "label", metric),
            "Which configuration is best at how many virtual users?",
        )
    else:
        fig, question = in_rows(named, table, "label", metric), "Which configuration is best?"
    best = max(known, key=lambda ratio: metric.score(ratio.value or math.nan))
    words = (
        f"{highest_mean(metric).capitalize()} ({best.words}): {best.label} with "
        f"{metric.text(best.value or 0.0)} at {virtual_users(best.virtual_users or 0)}; "
        f"{many(runs['number'].nunique(), 'run')} of {many(table['label'].nunique(), 'configuration')}. "
        "Bars are the 95 % confidence intervals of the comparison with the baseline."
    )
    shown = table[["label", "virtual_users", "metric_value", "low", "high", "verdict"]]
    return Chart("configurations", question, fig, f"{words} {omitted}".rstrip(), shown)


def best_labels(ratios: Sequence[Ratio], metric: Metric) -> list[str]:
    """The baseline and those with the best value at any count, as many as can be distinguished; by configuration."""
    base = list(dict.fromkeys(ratio.label for ratio in ratios if ratio.verdict is Verdict.BASELINE))
    tops: dict[str, float] = {}
    for ratio in ratios:
        score = -math.inf if ratio.value is None else metric.score(ratio.value)
        tops[ratio.label] = max(tops.get(ratio.label, -math.inf), score)
    others = sorted((label for label in tops if label not in base), key=lambda label: -tops[label])
    chosen = {*base, *others[: MAX_COLOURED - len(base)]}
    ordered = sorted(ratios, key=lambda ratio: ratio.configuration or 0)
    return list(dict.fromkeys(ratio.label for ratio in ordered if ratio.label in chosen))


def _configuration_table(ratios: Sequence[Ratio], metric: Metric) -> pd.DataFrame:
    """The ratios with their intervals as values of the metric: ``low`` and ``high`` times the baseline's."""
    table = frame(ratios)
    against = pd.Series([ratio.base for ratio in ratios], dtype=float)
    ends = [metric.from_score(table[end]) * against for end in ("low", "high")]
    low, high = ends if metric.better is Better.HIGHER else reversed(ends)
    return table.assign(low=low, high=high)


def _in_order(runs: pd.DataFrame, name: str) -> list[Any]:
    """The values of a setting in their natural order; words as the sweep has them, the baseline's first."""
    ordered = runs.sort_values("configuration") if "configuration" in runs else runs
    values = pd.Index(ordered[name].unique())
    return list(values[by_worth(values).argsort(kind="stable")])


def grid(runs: pd.DataFrame, across: str, down: str, metric: Metric) -> Chart:
    """The mean of the metric by the values of two settings, at the largest count of virtual users."""
    users = int(runs["virtual_users"].max())
    at = runs[runs["virtual_users"] == users]
    logs = at.assign(metric_value=np.log(at["metric_value"].astype(float)))
    cells = logs.pivot_table(index=down, columns=across, values="metric_value", aggfunc="mean").apply(np.exp)
    cells = cells.reindex(index=_in_order(at, down), columns=_in_order(at, across))
    weak, strong = ("heat-low", "heat-high") if metric.better is Better.HIGHER else ("heat-high", "heat-low")
    value = hover(metric, cells.to_numpy().ravel(), "z")
    fig = figure(across, down, height=140 + 64 * len(cells))
    fig.add_heatmap(
        z=[plain(row) for _, row in cells.iterrows()],
        x=[str(one) for one in cells.columns],
        y=[str(one) for one in cells.index],
        text=[["" if np.isnan(one) else metric.number(one) for one in row] for row in cells.to_numpy()],
        texttemplate="%{text}",
        textfont={"color": colour("ink"), "size": 14},
        showscale=False,
        xgap=3,
        ygap=3,
        colorscale=[[0, colour(weak)], [1, colour(strong)]],
        hovertemplate=f"{across} = %{{x}}<br>{down} = %{{y}}<br>{value}<extra></extra>",
    )
    fig.update_xaxes(type="category", showgrid=False)
    fig.update_yaxes(type="category", showgrid=False, autorange="reversed")
    low, high = float(np.nanmin(cells.to_numpy())), float(np.nanmax(cells.to_numpy()))
    ends = f"{metric.number(low)} to {metric.number(high)}"
    words = f"Mean {axis_title(metric)} at {virtual_users(users)}, {ends}; the strongest colour is the best."
    return Chart("grid", f"How do {across} and {down} interact?", fig, words, cells.reset_index())
