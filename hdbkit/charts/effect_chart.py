"""What each setting of a sweep changes: its main effect with its interval, and the pairs of runs it is made of."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.wording import TOO_FEW, percent_of_ratio
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import Limits, add_intervals, ratio_axis
from hdbkit.charts.marks import AXIS_WORDS, BELOW, dots, mark_one, name_rows
from hdbkit.charts.style import figure
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Of, Ratio, frame
from hdbkit.text import virtual_users


def effects_of_settings(
    runs: pd.DataFrame, ratios: Sequence[Ratio], settings: Sequence[str], smallest_effect: float, metric: Metric
) -> Chart:
    """The ratio of each value to the reference value with its interval, and every pair of runs as a dot.

    ``ratios`` are main effects (``analysis.sweep.effects``).
    """
    effects = frame(ratios, Of.EFFECT)
    several = effects["virtual_users"].nunique() > 1
    names = [_effect_label(ratio, several) for ratio in ratios]
    places = list(range(len(ratios) - 1, -1, -1))
    title = f"{metric.name} against the reference ({AXIS_WORDS})"
    fig = figure(title, "", height=110 + (46 if several else 64) * len(ratios), showlegend=False)
    mark_one(fig, smallest_effect)
    pairs = [metric.score(pd.Series(matched_pairs(runs, ratio, settings), dtype=float)) for ratio in ratios]
    seen = [(at - BELOW, float(pair)) for at, of_effect in zip(places, pairs, strict=True) for pair in of_effect]
    values, limits = [x for _, x in seen], Limits.of_ratios([x for _, x in seen], effects["ratio"])
    fig.add_trace(dots(values, [y for y, _ in seen], "x%{x:.3r}<extra>a pair of runs</extra>"))
    add_intervals(fig, places, effects["ratio"], effects, limits, hovertemplate="x%{x:.3r}<extra></extra>")
    name_rows(fig, names)
    ends = limits.clip(effects)
    fig.update_xaxes(**ratio_axis([*values, *effects["ratio"], *ends["low"], *ends["high"]]))
    least = min(ratio.virtual_users or 0 for ratio in ratios)
    words = [
        *(_effect_words(ratio, metric) for ratio in ratios if (ratio.virtual_users or 0) == least),
        f"The band is the smallest effect that matters, {100 * smallest_effect:g} %; dots are pairs.",
        limits.words(effects),
    ]
    return Chart("effects", "What does each setting change?", fig, " ".join(filter(None, words)), effects)


def _effect_label(ratio: Ratio, several: bool) -> str:
    if ratio.virtual_users:
        return f"at {virtual_users(ratio.virtual_users)}"
    change = ratio.change
    assert change is not None
    return f"{change.setting} = {change.value}<br>against {change.reference}{', on average' if several else ''}"


def _effect_words(ratio: Ratio, metric: Metric) -> str:
    change = ratio.change
    assert change is not None
    words = f"{percent_of_ratio(ratio, metric)}, {ratio.words}" if ratio.ratio is not None else TOO_FEW
    return f"{change.setting} = {change.value} against {change.reference}: {words}."


def matched_pairs(runs: pd.DataFrame, effect: Ratio, settings: Sequence[str]) -> list[float]:
    """Ratios of the values of runs that differ in this setting alone: the same block, users and other settings."""
    change = effect.change
    assert change is not None
    keys = ["block", "virtual_users", *(name for name in settings if name != change.setting)]
    at = runs[runs["virtual_users"] == effect.virtual_users] if effect.virtual_users else runs
    values = at[change.setting].astype(str)
    tried = at[values == change.value][[*keys, "metric_value"]]
    reference = at[values == change.reference][[*keys, "metric_value"]]
    pairs = tried.merge(reference, on=keys, suffixes=("", "_reference"))
    return [float(ratio) for ratio in pairs["metric_value"] / pairs["metric_value_reference"]]
