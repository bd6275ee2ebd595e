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
import plotly.graph_objects as go

from hdbkit.analysis.block_model import usable
from hdbkit.analysis.wording import virtual_users
from hdbkit.charts.chart import Chart
from hdbkit.charts.natural import natural
from hdbkit.charts.style import HEIGHT, colour, figure, series

MOST_DOTS = 3000
_DODGE = 0.28
"""How far below its row's interval the dots of single runs lie."""


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
    fig = figure("change of throughput (%)", "", height=110 + 64 * len(rows), showlegend=False)
    band = 100 * smallest_effect
    fig.add_vrect(-band, band, fillcolor=colour("shade"), line_width=0, layer="below")
    fig.add_vline(0, line_color=colour("muted"), line_width=1)
    pairs = [matched_pairs(runs, row, settings) for row in rows]
    dots = [(at - _DODGE, 100 * (one - 1)) for at, ratios in zip(places, pairs, strict=True) for one in ratios]
    fig.add_trace(_dots([x for _, x in dots], [y for y, _ in dots], "%{x:+.1f} %<extra>a pair of runs</extra>"))
    fig.add_trace(_intervals(places, effects))
    _name_rows(fig, names)
    fig.update_xaxes(ticksuffix=" %")
    overall = [row for row in rows if row["virtual_users"] == effects["virtual_users"].min()]
    words = [
        *map(_effect_words, overall),
        f"The band is the smallest effect that matters, {band:g} %; dots are pairs.",
    ]
    return Chart("effects", "What does each setting change?", fig, " ".join(words), effects)


def _effect_label(row: dict[Hashable, Any], several: bool) -> str:
    count = row["virtual_users"]
    users = f", {count or 'all'} user{'' if count == 1 else 's'}" if several else ""
    return f"{row['setting']} = {row['value']}<br>against {row['reference']}{users}"


def _effect_words(row: dict[Hashable, Any]) -> str:
    low, high = 100 * (row["low"] - 1), 100 * (row["high"] - 1)
    interval = f" ({low:+.1f} to {high:+.1f})" if np.isfinite([low, high]).all() else ""
    change = f"{100 * (row['ratio'] - 1):+.1f} %{interval}"
    return f"{row['setting']} = {row['value']} against {row['reference']}: {change}, {row['verdict']}."


def matched_pairs(runs: pd.DataFrame, effect: dict[Hashable, Any], settings: Sequence[str]) -> list[float]:
    """Ratios of runs that differ in this setting alone: same block, virtual users and other settings."""
    setting = str(effect["setting"])
    keys = ["block", "virtual_users", *(name for name in settings if name != setting)]
    at = runs[runs["virtual_users"] == effect["virtual_users"]] if effect["virtual_users"] else runs
    values = at[setting].astype(str)
    tried = at[values == str(effect["value"])][[*keys, "nopm"]]
    reference = at[values == str(effect["reference"])][[*keys, "nopm"]]
    pairs = tried.merge(reference, on=keys, suffixes=("", "_reference"))
    return [float(ratio) for ratio in pairs["nopm"] / pairs["nopm_reference"]]


def configurations(runs: pd.DataFrame, verdicts: pd.DataFrame) -> Chart:
    """NOPM of every configuration, every run a dot; over virtual users where the sweep has several counts."""
    table = _configuration_table(verdicts)
    if runs["virtual_users"].nunique() > 1:
        fig, question = _over_users(runs, table), "Which configuration is best at how many virtual users?"
    else:
        fig, question = _by_configuration(runs, table), "Which configuration is best?"
    best = table.iloc[int(table["nopm"].fillna(0).argmax())]
    words = (
        f"Highest: {best['label']} with {best['nopm']:,.0f} NOPM at {virtual_users(best['virtual_users'])}; "
        f"{len(runs)} runs of {table['label'].nunique()} configurations. Bars are the 95 % intervals of the "
        "comparison with the baseline."
    )
    shown = table[["label", "virtual_users", "nopm", "low", "high", "verdict"]]
    return Chart("configurations", question, fig, words, shown)


def _configuration_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts with the ratio's interval as NOPM: ``low`` and ``high`` times the baseline's level."""
    base = verdicts[verdicts["verdict"] == "baseline"].set_index("virtual_users")["nopm"]
    against = verdicts["virtual_users"].map(base)
    return verdicts.assign(low=verdicts["low"] * against, high=verdicts["high"] * against)


def _by_configuration(runs: pd.DataFrame, table: pd.DataFrame) -> go.Figure:
    fig = figure("NOPM (new orders a minute)", "", height=110 + 50 * len(table), showlegend=False)
    places = {c: len(table) - 1 - i for i, c in enumerate(table["configuration"])}
    dots = [places[c] - _DODGE for c in runs["configuration"]]
    fig.add_trace(_dots(runs["nopm"].tolist(), dots, "%{x:,.0f} NOPM<extra>one run</extra>"))
    fig.add_scatter(
        x=_plain(table["nopm"]),
        y=list(places.values()),
        mode="markers",
        marker={"color": colour("series-1"), "size": 11, "symbol": "diamond"},
        error_x=_error(table, colour("series-1")),
        hovertemplate="mean %{x:,.0f} NOPM<extra></extra>",
    )
    _name_rows(fig, [label.replace(", ", ",<br>") for label in table["label"]])
    return fig


def _over_users(runs: pd.DataFrame, table: pd.DataFrame) -> go.Figure:
    fig = figure("virtual users", "NOPM (new orders a minute)", height=HEIGHT + 40)
    for index, (configuration, rows) in enumerate(table.groupby("configuration")):
        look, name = series(index), str(rows["label"].iloc[0])
        dots = runs[runs["configuration"] == configuration].tail(MOST_DOTS // table["configuration"].nunique())
        marker = {"color": look["color"], "size": 5, "opacity": 0.5}
        fig.add_scatter(
            x=dots["virtual_users"].tolist(),
            y=_plain(dots["nopm"]),
            mode="markers",
            showlegend=False,
            legendgroup=name,
            marker=marker,
            hoverinfo="y",
        )
        fig.add_scatter(
            x=rows["virtual_users"].tolist(),
            y=_plain(rows["nopm"]),
            mode="lines+markers",
            name=name,
            legendgroup=name,
            line={"color": look["color"], "dash": look["dash"]},
            marker={"symbol": look["symbol"], "size": 9},
            error_y=_error(rows, look["color"]),
        )
    fig.update_xaxes(tickvals=sorted(int(one) for one in runs["virtual_users"].unique()))
    return fig.update_yaxes(rangemode="tozero")


def grid(runs: pd.DataFrame, across: str, down: str) -> Chart:
    """Mean NOPM by the values of two settings, at the largest count of virtual users."""
    users = int(runs["virtual_users"].max())
    at = runs[runs["virtual_users"] == users]
    logs = at.assign(nopm=np.log(at["nopm"].astype(float)))
    cells = logs.pivot_table(index=down, columns=across, values="nopm", aggfunc="mean").apply(np.exp)
    cells = cells.sort_index(key=natural).sort_index(axis=1, key=natural)
    fig = figure(across, down, height=140 + 64 * len(cells))
    fig.add_heatmap(
        z=[_plain(row) for _, row in cells.iterrows()],
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


def _plain(values: pd.Series[Any]) -> list[float | None]:
    """Whole numbers for JSON; what is not known as None."""
    return [round(float(one)) if np.isfinite(one) else None for one in values.astype(float)]


def _dots(x: list[float], y: list[float], hover: str) -> go.Scatter:
    marker = {"color": colour("muted"), "size": 6, "opacity": 0.6}
    rounded = [round(float(one), 3) for one in x[:MOST_DOTS]]
    return go.Scatter(x=rounded, y=y[:MOST_DOTS], mode="markers", marker=marker, hovertemplate=hover)


def _intervals(places: list[int], effects: pd.DataFrame) -> go.Scatter:
    percent = 100 * (effects[["ratio", "low", "high"]].astype(float) - 1)
    return go.Scatter(
        x=percent["ratio"].round(3).tolist(),
        y=places,
        mode="markers",
        marker={"color": colour("series-1"), "size": 11, "symbol": "diamond"},
        error_x=_bars(percent["high"] - percent["ratio"], percent["ratio"] - percent["low"], colour("series-1")),
        hovertemplate="%{x:+.1f} %<extra></extra>",
    )


def _error(rows: pd.DataFrame, look: str) -> dict[str, Any]:
    compared = rows["verdict"] != "baseline"
    return _bars((rows["high"] - rows["nopm"]).where(compared), (rows["nopm"] - rows["low"]).where(compared), look)


def _bars(above: pd.Series[Any], below: pd.Series[Any], look: str) -> dict[str, Any]:
    """Error bars; of no length where there is no interval."""
    up, down = (one.astype(float).fillna(0).clip(lower=0).round(3).tolist() for one in (above, below))
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": look, "thickness": 2.5}


def _name_rows(fig: go.Figure, names: list[str]) -> None:
    """Name the rows of a figure, the first one on top."""
    ticks = list(range(len(names) - 1, -1, -1))
    fig.update_yaxes(tickvals=ticks, ticktext=names, range=[-0.6, len(names) - 0.5], showgrid=False, zeroline=False)
