"""The charts of a sweep: effects of settings, the grid, and configurations over virtual users.

Frames: ``runs`` as ``results.sweep_folder.runs_frame`` gives them (one row a run, one column a setting), ``verdicts``
as ``analysis.verdicts.judge`` and ``effects`` as ``analysis.effects.main_effects``. Ratios are throughput against
the baseline (verdicts) or the reference value (effects), with simultaneous intervals. Runs without a result are
left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.statistics.block_model import usable
from hdbkit.analysis.wording import many, percent_within, virtual_users
from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import BELOW, by_worth, dots, in_rows, intervals, name_rows, over_users, plain
from hdbkit.charts.style import SERIES, colour, figure

MOST_LINES = len(SERIES)
"""Lines of a chart: as many as there are colours."""


def sweep_charts(
    runs: pd.DataFrame, verdicts: pd.DataFrame, effects: pd.DataFrame, settings: Sequence[str], smallest_effect: float
) -> list[Chart]:
    """Every chart that the sweep's data allow; ``settings`` are the swept ones, in their order."""
    measured = usable(runs)
    if measured.empty:
        return []
    charts = []
    if len(effects):
        charts.append(effects_of_settings(measured, effects, settings, smallest_effect))
    charts.append(configurations(measured, verdicts))
    varied = [name for name in settings if measured[name].nunique() > 1]
    if len(varied) >= 2:
        charts.append(grid(measured, varied[0], varied[1]))
    return charts


def effects_of_settings(
    runs: pd.DataFrame, effects: pd.DataFrame, settings: Sequence[str], smallest_effect: float
) -> Chart:
    """Each value's throughput against the reference value: interval, and every pair of runs as a dot."""
    rows = effects.to_dict("records")
    several = effects["virtual_users"].nunique() > 1
    names = [_effect_label(row, several) for row in rows]
    places = list(range(len(rows) - 1, -1, -1))
    fig = figure("change of throughput (%)", "", height=110 + (46 if several else 64) * len(rows), showlegend=False)
    band = 100 * smallest_effect
    fig.add_vrect(-band, band, fillcolor=colour("shade"), line_width=0, layer="below")
    fig.add_vline(0, line_color=colour("muted"), line_width=1)
    pairs = [matched_pairs(runs, row, settings) for row in rows]
    seen = [(at - BELOW, 100 * (one - 1)) for at, ratios in zip(places, pairs, strict=True) for one in ratios]
    fig.add_trace(dots([x for _, x in seen], [y for y, _ in seen], "%{x:+.1f} %<extra>a pair of runs</extra>"))
    percent = 100 * (effects[["ratio", "low", "high"]].astype(float) - 1)
    fig.add_trace(intervals(places, percent["ratio"], percent, "%{x:+.1f} %<extra></extra>"))
    name_rows(fig, names)
    fig.update_xaxes(ticksuffix=" %")
    overall = [row for row in rows if row["virtual_users"] == effects["virtual_users"].min()]
    words = [
        *map(_effect_words, overall),
        f"The band is the smallest effect that matters, {band:g} %; dots are pairs.",
    ]
    return Chart("effects", "What does each setting change?", fig, " ".join(words), effects)


def _effect_label(row: dict[Hashable, Any], several: bool) -> str:
    count = row["virtual_users"]
    if count:
        return f"at {virtual_users(count)}"
    return f"{row['setting']} = {row['value']}<br>against {row['reference']}{', on average' if several else ''}"


def _effect_words(row: dict[Hashable, Any]) -> str:
    change = percent_within(row["ratio"], row["low"], row["high"])
    return f"{row['setting']} = {row['value']} against {row['reference']}: {change}, {row['verdict']}."


def matched_pairs(runs: pd.DataFrame, effect: dict[Hashable, Any], settings: Sequence[str]) -> list[float]:
    """Ratios of runs that differ in this setting alone: same block, virtual users and other settings."""
    setting = str(effect["setting"])
    keys = ["block", "virtual_users", *(name for name in settings if name != setting)]
    at = runs[runs["virtual_users"] == effect["virtual_users"]] if effect["virtual_users"] else runs
    values = at[setting].astype(str)
    tried = at[values == str(effect["value"])][[*keys, "metric_value"]]
    reference = at[values == str(effect["reference"])][[*keys, "metric_value"]]
    pairs = tried.merge(reference, on=keys, suffixes=("", "_reference"))
    return [float(ratio) for ratio in pairs["metric_value"] / pairs["metric_value_reference"]]


def configurations(runs: pd.DataFrame, verdicts: pd.DataFrame) -> Chart:
    """NOPM of every configuration, every run a dot; over virtual users where the sweep has several counts."""
    table = _configuration_table(verdicts[verdicts["virtual_users"].isin(runs["virtual_users"])])
    named = runs.assign(
        label=runs["configuration"].map(dict(zip(table["configuration"], table["label"], strict=True)))
    )
    if runs["virtual_users"].nunique() > 1:
        drawn = table[table["label"].isin(best_labels(table))]
        fig, question = over_users(named, drawn, "label"), "Which configuration is best at how many virtual users?"
    else:
        fig, question = in_rows(named, table, "label"), "Which configuration is best?"
    best = table.iloc[int(table["metric_value"].fillna(0).argmax())]
    words = (
        f"Highest: {best['label']} with {best['metric_value']:,.0f} NOPM at {virtual_users(best['virtual_users'])}; "
        f"{many(len(runs), 'run')} of {many(table['label'].nunique(), 'configuration')}. "
        "Bars are the 95 % intervals of the comparison with the baseline."
    )
    words += _not_drawn(table) if runs["virtual_users"].nunique() > 1 else ""
    shown = table[["label", "virtual_users", "metric_value", "low", "high", "verdict"]]
    return Chart("configurations", question, fig, words, shown)


def best_labels(verdicts: pd.DataFrame) -> list[str]:
    """The baseline and those with the highest NOPM at any count, as many as are told apart; by configuration."""
    tops = verdicts.groupby("label", sort=False)["metric_value"].max().sort_values(ascending=False)
    base = verdicts.loc[verdicts["verdict"] == "baseline", "label"].unique().tolist()
    chosen = {*base, *[name for name in tops.index if name not in base][: MOST_LINES - len(base)]}
    return [str(name) for name in verdicts.sort_values("configuration")["label"].unique() if name in chosen]


def _not_drawn(table: pd.DataFrame) -> str:
    known = table["label"].nunique()
    return (
        f" Drawn are the baseline and the {MOST_LINES - 1} fastest; the table has all." if known > MOST_LINES else ""
    )


def _configuration_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts with the ratio's interval as NOPM: ``low`` and ``high`` times the baseline's level."""
    base = verdicts[verdicts["verdict"] == "baseline"].set_index("virtual_users")["metric_value"]
    against = verdicts["virtual_users"].map(base)
    return verdicts.assign(low=verdicts["low"] * against, high=verdicts["high"] * against)


def _in_order(runs: pd.DataFrame, name: str) -> list[Any]:
    """The values of a setting by their worth; words as the sweep has them, the baseline's first."""
    ordered = runs.sort_values("configuration") if "configuration" in runs else runs
    values = pd.Index(ordered[name].unique())
    return list(values[by_worth(values).argsort(kind="stable")])


def grid(runs: pd.DataFrame, across: str, down: str) -> Chart:
    """Mean NOPM by the values of two settings, at the largest count of virtual users."""
    users = int(runs["virtual_users"].max())
    at = runs[runs["virtual_users"] == users]
    logs = at.assign(metric_value=np.log(at["metric_value"].astype(float)))
    cells = logs.pivot_table(index=down, columns=across, values="metric_value", aggfunc="mean").apply(np.exp)
    cells = cells.reindex(index=_in_order(at, down), columns=_in_order(at, across))
    fig = figure(across, down, height=140 + 64 * len(cells))
    fig.add_heatmap(
        z=[plain(row) for _, row in cells.iterrows()],
        x=[str(one) for one in cells.columns],
        y=[str(one) for one in cells.index],
        text=[["" if np.isnan(one) else f"{one:,.0f}" for one in row] for row in cells.to_numpy()],
        texttemplate="%{text}",
        textfont={"color": colour("ink"), "size": 14},
        showscale=False,
        xgap=3,
        ygap=3,
        colorscale=[[0, colour("heat-low")], [1, colour("heat-high")]],
        hovertemplate=f"{across} = %{{x}}<br>{down} = %{{y}}<br>%{{z:,.0f}} NOPM<extra></extra>",
    )
    fig.update_xaxes(type="category", showgrid=False)
    fig.update_yaxes(type="category", showgrid=False, autorange="reversed")
    low, high = float(np.nanmin(cells.to_numpy())), float(np.nanmax(cells.to_numpy()))
    words = f"Mean NOPM at {virtual_users(users)}, from {low:,.0f} (weakest colour) to {high:,.0f} (strongest)."
    return Chart("grid", f"How do {across} and {down} work together?", fig, words, cells.reset_index())
