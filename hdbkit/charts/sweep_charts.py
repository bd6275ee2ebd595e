"""The charts of a sweep: effects of settings, the grid, and configurations over virtual users.

Frames (one row each):

* runs: block, configuration (int), number, run_id, nopm, virtual_users, status, and one column a setting. Rows
  without ``nopm`` are left out.
* verdicts: configuration, virtual_users, ratio, low, high, verdict (baseline, faster, slower, no difference,
  undecided, failed), equivalent, blocks_needed, sentence.
* effects: setting, value, reference, virtual_users, ratio, low, high, verdict.

Ratios are throughput against the baseline (verdicts) or the reference value (effects), with simultaneous intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from hdbkit.analysis.wording import label
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import HEIGHT, colour, figure, series

RUN_COLUMNS = frozenset({"block", "configuration", "number", "run_id", "nopm", "virtual_users", "status"})
MOST_DOTS = 3000
_DODGE = 0.28
"""How far below its row's interval the dots of single runs lie."""


def sweep_charts(
    runs: pd.DataFrame, verdicts: pd.DataFrame, effects: pd.DataFrame, settings: list[str], smallest_effect: float
) -> list[Chart]:
    """Every chart that the sweep's data allow; ``settings`` are the swept ones, in their order."""
    measured = runs[runs["nopm"].notna()]
    if measured.empty:
        return []
    charts = []
    if len(effects):
        charts.append(effects_of_settings(measured, effects, smallest_effect))
    charts.append(configurations(measured, verdicts, settings))
    varied = [name for name in settings if measured[name].nunique() > 1]
    if len(varied) >= 2:
        charts.append(grid(measured, varied[0], varied[1]))
    return charts


def labels(runs: pd.DataFrame, verdicts: pd.DataFrame, settings: list[str]) -> dict[int, str]:
    """Each configuration by what differs from the baseline."""
    values = runs.drop_duplicates("configuration").set_index("configuration")[settings].sort_index()
    base = verdicts.loc[verdicts["verdict"] == "baseline", "configuration"]
    baseline = values.loc[int(base.iloc[0])] if len(base) else values.iloc[0]
    against = {name: baseline[name] for name in settings}
    return {int(str(c)): label({name: row[name] for name in settings}, against) for c, row in values.iterrows()}


def effects_of_settings(runs: pd.DataFrame, effects: pd.DataFrame, smallest_effect: float) -> Chart:
    """Each value's throughput against the reference value: interval, and every pair of runs as a dot."""
    several = effects["virtual_users"].nunique() > 1
    rows = [(_effect_label(row, several), row) for row in effects.to_dict("records")]
    fig = figure("change of throughput (%)", "", height=110 + 56 * len(rows), showlegend=False)
    fig.add_vrect(
        -100 * smallest_effect, 100 * smallest_effect, fillcolor=colour("shade"), line_width=0, layer="below"
    )
    fig.add_vline(0, line_color=colour("muted"), line_width=1)
    places = range(len(rows) - 1, -1, -1)
    dots = [
        (at, 100 * (pair - 1)) for at, (_, row) in zip(places, rows, strict=True) for pair in matched_pairs(runs, row)
    ]
    fig.add_scatter(
        x=[round(x, 3) for _, x in dots[:MOST_DOTS]], y=[row - _DODGE for row, _ in dots[:MOST_DOTS]], mode="markers", name="a pair of runs",
        marker={"color": colour("muted"), "size": 6, "opacity": 0.55}, hovertemplate="%{x:+.1f} %<extra>pair</extra>",
    )  # fmt: skip
    table = effects.reset_index(drop=True)
    fig.add_trace(_intervals(list(places), table))
    _name_rows(fig, [name for name, _ in rows])
    fig.update_xaxes(ticksuffix=" %")
    words = " ".join(
        f"{name.replace('<br>', ' ')}: {100 * (row['ratio'] - 1):+.1f} % ({100 * (row['low'] - 1):+.1f} to "
        f"{100 * (row['high'] - 1):+.1f}), {row['verdict']}."
        for name, row in rows
    )
    return Chart("effects", "What does each setting change?", fig, words, table)


def _effect_label(row: dict[Any, Any], several: bool) -> str:
    users = f", {row['virtual_users']} users" if several else ""
    return f"{row['setting']} = {row['value']}<br>against {row['reference']}{users}"


def _intervals(places: list[int], frame: pd.DataFrame) -> go.Scatter:
    middle, low, high = (100 * (frame[c].to_numpy(dtype=float) - 1) for c in ("ratio", "low", "high"))
    return go.Scatter(
        x=middle.round(3).tolist(), y=names, mode="markers", name="effect",
        marker={"color": colour("series-1"), "size": 11, "symbol": "diamond"},
        error_x={
            "type": "data", "symmetric": False, "array": (high - middle).round(3).tolist(),
            "arrayminus": (middle - low).round(3).tolist(), "color": colour("series-1"), "thickness": 2.5, "width": 7,
        },
        customdata=np.c_[low, high].round(2).tolist(),
        hovertemplate="%{x:+.1f} % (%{customdata[0]:+.1f} to %{customdata[1]:+.1f})<extra></extra>",
    )  # fmt: skip


def matched_pairs(runs: pd.DataFrame, effect: dict[Any, Any]) -> list[float]:
    """Ratios of runs that differ in this setting alone: same block, virtual users and other settings."""
    setting = str(effect["setting"])
    others = [name for name in runs.columns if name not in RUN_COLUMNS and name != setting]
    keys = ["block", "virtual_users", *others]
    at = runs[runs["virtual_users"] == effect["virtual_users"]]
    values = at[setting].astype(str)
    tried = at[values == str(effect["value"])][[*keys, "nopm"]]
    reference = at[values == str(effect["reference"])][[*keys, "nopm"]]
    pairs = tried.merge(reference, on=keys, suffixes=("", "_reference"))
    return [float(ratio) for ratio in pairs["nopm"] / pairs["nopm_reference"]]


def configurations(runs: pd.DataFrame, verdicts: pd.DataFrame, settings: list[str]) -> Chart:
    """NOPM of every configuration, every run a dot; over virtual users where the sweep has several counts."""
    names = labels(runs, verdicts, settings)
    table = _configuration_table(runs, verdicts, names)
    if runs["virtual_users"].nunique() > 1:
        fig, question = _over_users(runs, table, names), "Which configuration is best at how many virtual users?"
    else:
        fig, question = _by_configuration(runs, table, names), "Which configuration is best?"
    best = table.iloc[int(table["nopm"].argmax())]
    words = (
        f"Highest: {best['configuration']} with {best['nopm']:,.0f} NOPM at {best['virtual_users']} virtual users; "
        f"{len(runs)} runs of {len(names)} configurations; bars are the 95 % intervals of the comparison with "
        "the baseline."
    )
    return Chart("configurations", question, fig, words, table)


def _configuration_table(runs: pd.DataFrame, verdicts: pd.DataFrame, names: dict[int, str]) -> pd.DataFrame:
    """A row a configuration and user count: its (geometric) mean NOPM, and the ratio's interval as NOPM."""
    keys = ["configuration", "virtual_users"]
    logs = runs.assign(nopm=np.log(runs["nopm"].astype(float)))
    level = logs.groupby(keys, as_index=False)[["nopm"]].mean().assign(nopm=lambda one: np.exp(one["nopm"]))
    level = level.merge(verdicts[[*keys, "low", "high", "verdict"]], on=keys, how="left")
    base = level[level["verdict"] == "baseline"].set_index("virtual_users")["nopm"]
    against = level["virtual_users"].map(base)
    level["low"], level["high"] = level["low"] * against, level["high"] * against
    level["configuration"] = level["configuration"].map(names)
    return level


def _error(rows: pd.DataFrame, look: str) -> dict[str, Any]:
    compared = rows["verdict"] != "baseline"
    high = (rows["high"] - rows["nopm"]).where(compared, 0).fillna(0).clip(lower=0)
    low = (rows["nopm"] - rows["low"]).where(compared, 0).fillna(0).clip(lower=0)
    bars = {"array": high.round(1).tolist(), "arrayminus": low.round(1).tolist()}
    return {"type": "data", "symmetric": False, "color": look, "thickness": 2, "width": 6, **bars}


def _by_configuration(runs: pd.DataFrame, table: pd.DataFrame, names: dict[int, str]) -> go.Figure:
    fig = figure("NOPM (new orders a minute)", "", height=110 + 46 * len(names), showlegend=False)
    dots = runs.tail(MOST_DOTS)
    places = {configuration: len(names) - 1 - i for i, configuration in enumerate(names)}
    rows = {name: places[configuration] for configuration, name in names.items()}
    fig.add_scatter(
        x=dots["nopm"].round().tolist(), y=[places[c] - _DODGE for c in dots["configuration"]], mode="markers", name="run",
        text=dots["run_id"].tolist(), marker={"color": colour("muted"), "size": 6, "opacity": 0.55},
        hovertemplate="%{x:,.0f} NOPM<br>%{text}<extra></extra>",
    )  # fmt: skip
    fig.add_scatter(
        x=table["nopm"].round().tolist(), y=[rows[name] for name in table["configuration"]], mode="markers", name="mean",
        marker={"color": colour("series-1"), "size": 11, "symbol": "diamond"},
        error_x=_error(table, colour("series-1")), hovertemplate="mean %{x:,.0f} NOPM<extra></extra>",
    )  # fmt: skip
    _name_rows(fig, list(names.values()))
    return fig


def _name_rows(fig: go.Figure, names: list[str]) -> None:
    """Name the rows of a figure from above; row i stands at ``len(names) - 1 - i``, its dots just below."""
    fig.update_yaxes(
        tickvals=list(range(len(names) - 1, -1, -1)), ticktext=names, range=[-0.6, len(names) - 0.4], showgrid=False,
        zeroline=False,
    )  # fmt: skip


def _over_users(runs: pd.DataFrame, table: pd.DataFrame, names: dict[int, str]) -> go.Figure:
    fig = figure("virtual users", "NOPM (new orders a minute)", height=HEIGHT + 40)
    for index, (configuration, name) in enumerate(names.items()):
        look = series(index)
        rows = table[table["configuration"] == name].sort_values("virtual_users")
        dots = runs[runs["configuration"] == configuration].tail(MOST_DOTS // len(names))
        fig.add_scatter(
            x=dots["virtual_users"].tolist(), y=dots["nopm"].round().tolist(), mode="markers", showlegend=False,
            legendgroup=name, marker={"color": look["color"], "size": 5, "opacity": 0.5}, hoverinfo="y",
        )  # fmt: skip
        fig.add_scatter(
            x=rows["virtual_users"].tolist(), y=rows["nopm"].round().tolist(), mode="lines+markers", name=name,
            legendgroup=name, line={"color": look["color"], "dash": look["dash"]},
            marker={"symbol": look["symbol"], "size": 9}, error_y=_error(rows, look["color"]),
        )  # fmt: skip
    fig.update_xaxes(tickvals=sorted(int(one) for one in runs["virtual_users"].unique()))
    return fig.update_yaxes(rangemode="tozero")


def grid(runs: pd.DataFrame, across: str, down: str) -> Chart:
    """Mean NOPM by the values of two settings, at the largest count of virtual users."""
    users = int(runs["virtual_users"].max())
    at = runs[runs["virtual_users"] == users].assign(log=lambda one: np.log(one["nopm"]))
    logs = at.pivot_table(index=down, columns=across, values="log", aggfunc="mean", sort=False)
    cells = logs.apply(np.exp)
    cells = cells.sort_index(key=_natural).sort_index(axis=1, key=_natural)
    text = [["" if np.isnan(one) else f"{one:,.0f}" for one in row] for row in cells.to_numpy()]
    fig = figure(across, down, height=140 + 64 * len(cells))
    fig.add_heatmap(
        z=[[None if np.isnan(one) else round(one) for one in row] for row in cells.to_numpy()],
        x=[str(one) for one in cells.columns], y=[str(one) for one in cells.index], text=text,
        texttemplate="%{text}", textfont={"color": colour("ink"), "size": 14}, showscale=False, xgap=3, ygap=3,
        colorscale=[[0, colour("heat-low")], [1, colour("heat-high")]],
        hovertemplate=f"{across} = %{{x}}<br>{down} = %{{y}}<br>%{{z:,.0f}} NOPM<extra></extra>",
    )  # fmt: skip
    fig.update_xaxes(type="category", showgrid=False)
    fig.update_yaxes(type="category", showgrid=False, autorange="reversed")
    low, high = float(np.nanmin(cells.to_numpy())), float(np.nanmax(cells.to_numpy()))
    words = f"Mean NOPM at {users} virtual users, from {low:,.0f} (pale) to {high:,.0f} (strong)."
    return Chart("grid", f"How do {across} and {down} work together?", fig, words, cells.reset_index())


def _natural(values: pd.Index) -> pd.Index:
    """Values in the order a reader expects: 8MB before 64MB, 1GB after both."""
    return pd.Index([_size(str(one)) for one in values])


_UNITS = {"": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}


def _size(text: str) -> tuple[float, str]:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    try:
        return float(digits) * _UNITS.get(text[len(digits) :].strip().lower(), 1), ""
    except ValueError:
        return float("inf"), text
