"""The charts of a sweep: effects of settings, the grid, and configurations over virtual users.

Frames: ``runs`` as ``results.experiment_folder.runs_frame`` gives them (one row per run, one column per setting),
``verdicts`` as ``analysis.sweep.verdicts.judge`` and ``effects`` as ``analysis.sweep.effects.main_effects``. Ratios
are those of scores (more than 1 is better) to the baseline (verdicts) or the reference value (effects), with
simultaneous intervals. Runs without a result are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.explanation import Run, explain
from hdbkit.analysis.run.courses import courses, latencies
from hdbkit.analysis.run.records import mean_times_s
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.analysis.sweep.effects import numeric, response_to
from hdbkit.analysis.sweep.looks import verdict_words
from hdbkit.analysis.sweep.observations import changes, sliced
from hdbkit.analysis.sweep.together import throughput_and_latency
from hdbkit.analysis.wording import highest_mean, percent_within
from hdbkit.charts.chart import Chart
from hdbkit.charts.detail_charts import detail_charts
from hdbkit.charts.intervals import Limits, add_intervals, plain, ratio_axis
from hdbkit.charts.marks import (
    AXIS_WORDS,
    BELOW,
    MAX_LINES,
    by_worth,
    dots,
    from_where,
    in_rows,
    left_out,
    mark_one,
    name_rows,
    over_users,
)
from hdbkit.charts.operation_charts import profile, ratios
from hdbkit.charts.scaling_charts import scaling_laws
from hdbkit.charts.slice_charts import changes_over_time
from hdbkit.charts.style import HEIGHT, MAX_COLOURED, add_line, axis_title, colour, figure, hover, series
from hdbkit.charts.wait_charts import explained
from hdbkit.config.metric import Better, Metric
from hdbkit.experiment.sweep_analysis import SweepAnalysis
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, number, virtual_users

CURVE = "curve_"
"""How the keys of the charts of :func:`response_curve` begin; the setting follows."""
_WIDE = 16
"""From this ratio on between the largest and the smallest value of a setting its axis is logarithmic."""


def whole_sweep(found: SweepAnalysis) -> list[Chart]:
    """Every chart that the data of a sweep allow: of settings, configurations, and the details of its runs."""
    runs, verdicts, effects, metric, finished = (
        found.grid_runs, found.verdicts, found.effects, found.metric, found.finished
    )  # fmt: skip
    settings, smallest_effect = list(found.plan.spec.grid), found.plan.spec.smallest_effect
    measured = usable(runs)
    charts = sweep_charts(runs, verdicts, effects, settings, smallest_effect, metric)
    charts += _why(measured, verdicts, finished)
    if len(found.interactions):
        charts.append(interaction_chart(found.interactions, smallest_effect, metric))
    named = measured.assign(label=measured["configuration"].map(found.labels))
    laws = scaling_laws(named, metric, drawn=best_labels(verdicts, metric))
    charts += [laws] if laws else []
    if len(measured) and not sliced(runs):  # the runs of slices have all configurations in them
        charts += setting_charts(measured, verdicts, settings, metric, finished)
    if finished:
        manifests = found.manifests
        course = courses([] if sliced(runs) else finished)
        along = changes(finished, metric) if sliced(runs) else pd.DataFrame()
        charts += [changes_over_time(along, verdicts, metric)] if len(along) else []
        if len(found.by_operation):
            charts += _by_operation(measured, verdicts, found.by_operation, smallest_effect, manifests)
        if not manifests[0].one_by_one:
            charts += detail_charts(measured, verdicts, course, latencies(manifests), manifests[0])
    return charts


def _why(runs: pd.DataFrame, verdicts: pd.DataFrame, finished: Sequence[Run]) -> list[Chart]:
    """Why the configuration that differs most from the baseline does, at the largest count of users."""
    clear = verdicts[verdicts["verdict"].isin(["faster", "slower"])]
    at = clear[clear["virtual_users"] == clear["virtual_users"].max()]
    if at.empty or sliced(runs):
        return []
    most = at.loc[np.log(at["ratio"].astype(float)).abs().idxmax()]
    baseline = verdicts.loc[verdicts["verdict"] == "baseline", "configuration"].iloc[0]
    ids = {one: set(runs.loc[runs["configuration"] == one, "run_id"]) for one in (baseline, most["configuration"])}
    sides = [[run for run in finished if run[1].run_id in ids[one]] for one in ids]
    why = explain(*sides)
    return [explained(why, "baseline", str(most["label"]))] if why else []


def _by_operation(
    runs: pd.DataFrame, verdicts: pd.DataFrame, found: pd.DataFrame, smallest: float, manifests: Sequence[Manifest]
) -> list[Chart]:
    """The ratio and the time of each operation at the largest count of users; the best configurations first."""
    users, metric, noun = int(runs["virtual_users"].max()), manifests[0].metric, manifests[0].noun
    at = verdicts[verdicts["virtual_users"] == users]
    order = [*dict.fromkeys([*best_labels(at, metric), *at["label"]])]
    others = at[at["verdict"] != "baseline"]
    judged = [_grouped(one, order) for one in (found[found["label"].isin(others["label"])], others)]
    of_users = judged[0][judged[0]["virtual_users"] == users]
    labels = at.set_index("configuration")["label"]
    place = runs[runs["virtual_users"] == users][["run_id", "configuration"]]
    times = mean_times_s(manifests).melt(var_name="operation", value_name="seconds", ignore_index=False).dropna()
    times = times.rename_axis("run_id").reset_index().merge(place, on="run_id")
    charts = [ratios(of_users, judged[1], "the baseline", noun, metric, smallest)] if len(of_users) else []
    drawn = _grouped(times.assign(label=times["configuration"].map(labels)), order)
    return [*charts, profile(drawn, noun, "run")] if len(drawn) else charts


def _grouped(frame: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """A frame of configurations as the groups of a chart, in this order."""
    ordered = frame.sort_values("label", key=lambda labels: labels.map(order.index), kind="stable")
    return ordered.rename(columns={"label": "group"})


def sweep_charts(
    runs: pd.DataFrame,
    verdicts: pd.DataFrame,
    effects: pd.DataFrame,
    settings: Sequence[str],
    smallest_effect: float,
    metric: Metric,
) -> list[Chart]:
    """The charts of effects, configurations and the grid; ``settings`` are the swept ones, in their order."""
    measured = usable(runs)
    if measured.empty:
        return []
    charts = []
    if len(effects):
        charts.append(effects_of_settings(measured, effects, settings, smallest_effect, metric))
    charts.append(configurations(measured, verdicts, metric))
    varied = [name for name in settings if measured[name].nunique() > 1]
    if len(varied) >= 2:
        charts.append(grid(measured, varied[0], varied[1], metric))
    return charts


def effects_of_settings(
    runs: pd.DataFrame, effects: pd.DataFrame, settings: Sequence[str], smallest_effect: float, metric: Metric
) -> Chart:
    """The ratio of each value to the reference value with its interval, and every pair of runs as a dot."""
    rows = effects.to_dict("records")
    several = effects["virtual_users"].nunique() > 1
    names = [_effect_label(row, several) for row in rows]
    places = list(range(len(rows) - 1, -1, -1))
    title = f"{metric.name} against the reference ({AXIS_WORDS})"
    fig = figure(title, "", height=110 + (46 if several else 64) * len(rows), showlegend=False)
    mark_one(fig, smallest_effect)
    pairs = [metric.score(pd.Series(matched_pairs(runs, row, settings), dtype=float)) for row in rows]
    seen = [(at - BELOW, float(one)) for at, ratios in zip(places, pairs, strict=True) for one in ratios]
    values, limits = [x for _, x in seen], Limits.of_ratios([x for _, x in seen], effects["ratio"])
    fig.add_trace(dots(values, [y for y, _ in seen], "x%{x:.3r}<extra>a pair of runs</extra>"))
    add_intervals(fig, places, effects["ratio"], effects, limits, hovertemplate="x%{x:.3r}<extra></extra>")
    name_rows(fig, names)
    ends = limits.clip(effects)
    fig.update_xaxes(**ratio_axis([*values, *effects["ratio"], *ends["low"], *ends["high"]]))
    overall = [row for row in rows if row["virtual_users"] == effects["virtual_users"].min()]
    words = [
        *(_effect_words(row, metric) for row in overall),
        f"The band is the smallest effect that matters, {100 * smallest_effect:g} %; dots are pairs.",
        limits.words(effects),
    ]
    return Chart("effects", "What does each setting change?", fig, " ".join(filter(None, words)), effects)


def _effect_label(row: dict[Hashable, Any], several: bool) -> str:
    count = row["virtual_users"]
    if count:
        return f"at {virtual_users(count)}"
    return f"{row['setting']} = {row['value']}<br>against {row['reference']}{', on average' if several else ''}"


def _effect_words(row: dict[Hashable, Any], metric: Metric) -> str:
    change = percent_within(row["ratio"], row["low"], row["high"], metric)
    return f"{row['setting']} = {row['value']} against {row['reference']}: {change}, {verdict_words(row)}."


def matched_pairs(runs: pd.DataFrame, effect: dict[Hashable, Any], settings: Sequence[str]) -> list[float]:
    """Ratios of the values of runs that differ in this setting alone: the same block, users and other settings."""
    setting = str(effect["setting"])
    keys = ["block", "virtual_users", *(name for name in settings if name != setting)]
    at = runs[runs["virtual_users"] == effect["virtual_users"]] if effect["virtual_users"] else runs
    values = at[setting].astype(str)
    tried = at[values == str(effect["value"])][[*keys, "metric_value"]]
    reference = at[values == str(effect["reference"])][[*keys, "metric_value"]]
    pairs = tried.merge(reference, on=keys, suffixes=("", "_reference"))
    return [float(ratio) for ratio in pairs["metric_value"] / pairs["metric_value_reference"]]


def configurations(runs: pd.DataFrame, verdicts: pd.DataFrame, metric: Metric) -> Chart:
    """The metric of every configuration, every run a dot; over virtual users where the sweep has several counts."""
    table = _configuration_table(verdicts[verdicts["virtual_users"].isin(runs["virtual_users"])], metric)
    named = runs.assign(
        label=runs["configuration"].map(dict(zip(table["configuration"], table["label"], strict=True)))
    )
    omitted = ""
    if runs["virtual_users"].nunique() > 1:
        drawn = table[table["label"].isin(best_labels(table, metric))]
        omitted = left_out(drawn["label"].nunique(), table["label"].nunique(), baseline=True)
        fig, question = (
            over_users(named, drawn, "label", metric),
            "Which configuration is best at how many virtual users?",
        )
    else:
        fig, question = in_rows(named, table, "label", metric), "Which configuration is best?"
    best = table.loc[metric.score(table["metric_value"]).idxmax()]
    words = (
        f"{highest_mean(metric).capitalize()} ({verdict_words(best.to_dict())}): {best['label']} with "
        f"{metric.text(best['metric_value'])} at {virtual_users(best['virtual_users'])}; "
        f"{many(runs['number'].nunique(), 'run')} of {many(table['label'].nunique(), 'configuration')}. "
        "Bars are the 95 % confidence intervals of the comparison with the baseline."
    )
    shown = table[["label", "virtual_users", "metric_value", "low", "high", "verdict"]]
    return Chart("configurations", question, fig, f"{words} {omitted}".rstrip(), shown)


def best_labels(verdicts: pd.DataFrame, metric: Metric) -> list[str]:
    """The baseline and those with the best value at any count, as many as can be distinguished; by configuration."""
    scores = metric.score(verdicts["metric_value"])
    tops = scores.groupby(verdicts["label"], sort=False).max().sort_values(ascending=False)
    base = verdicts.loc[verdicts["verdict"] == "baseline", "label"].unique().tolist()
    chosen = {*base, *[name for name in tops.index if name not in base][: MAX_COLOURED - len(base)]}
    return [str(name) for name in verdicts.sort_values("configuration")["label"].unique() if name in chosen]


def _configuration_table(verdicts: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The verdicts with the ratio's interval as values of the metric: ``low`` and ``high`` times the baseline's."""
    base = verdicts[verdicts["verdict"] == "baseline"].set_index("virtual_users")["metric_value"]
    against = verdicts["virtual_users"].map(base)
    ends = [metric.from_score(verdicts[end]) * against for end in ("low", "high")]
    low, high = ends if metric.better is Better.HIGHER else reversed(ends)
    return verdicts.assign(low=low, high=high)


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


# Interactions of settings: each of a sweep with its interval, the strongest first.

_MAX_ROWS = 20


def interaction_chart(found: pd.DataFrame, smallest_effect: float, metric: Metric) -> Chart:
    """Two values together against their effects multiplied; ``found`` as ``effects.interactions`` gives it."""
    strength = np.abs(np.log(found["ratio"].astype(float)))
    table = found.assign(strength=strength).sort_values("strength", ascending=False).drop(columns="strength")
    shown = table.head(_MAX_ROWS)
    title = f"{metric.name} against the effects multiplied ({AXIS_WORDS})"
    fig = figure(title, "", height=110 + 56 * len(shown), showlegend=False)
    mark_one(fig, smallest_effect)
    places, limits = list(range(len(shown) - 1, -1, -1)), Limits.of_ratios(shown["ratio"])
    add_intervals(fig, places, shown["ratio"], shown, limits, hovertemplate="x%{x:.3r}<extra></extra>")
    rows = shown.to_dict("records")
    name_rows(fig, [f"{row['setting']} = {row['value']}<br>{row['other']} = {row['other_value']}" for row in rows])
    ends = limits.clip(shown)
    fig.update_xaxes(**ratio_axis([*shown["ratio"], *ends["low"], *ends["high"]]))
    acting = table[table["verdict"] == "interact"]
    strongest = [f"{sentence}." for sentence in acting["sentence"].head(3)]
    words = [
        *(strongest or ["No interaction between two settings is shown."]),
        f"{len(acting)} of {len(table)} pairs of values interact; intervals hold together; the band is "
        f"{100 * smallest_effect:g} %.",
        limits.words(shown),
        left_out(len(shown), len(table)),
    ]
    columns = ["setting", "value", "other", "other_value", "sets", "ratio", "low", "high", "verdict"]
    question = "Does the effect of one setting depend on another?"
    return Chart("interactions", question, fig, " ".join(filter(None, words)), table[columns].round(4))


def power_chart(curves: pd.DataFrame, sentence: str, power: float) -> Chart:
    """A line per ``name``, a band where it has one.

    Args:
        curves: a row each with ``name`` (of a line), ``effect`` (a fraction), ``probability``, ``low`` and ``high``
            (those of the probability at both ends of the noise's range; NaN without).
        sentence: what the sweep finds, in words.
        power: the probability that is marked.
    """
    fig = figure("true change of a configuration against the baseline", "probability that it is found", hovermode="x")
    names = list(dict.fromkeys(curves["name"]))
    for index, name in enumerate(names):
        of_it, look = curves[curves["name"] == name], series(index)
        x = (100 * of_it["effect"]).tolist()
        if of_it["low"].notna().all():
            ends: Sequence[float] = [*(100 * of_it["high"]), *(100 * of_it["low"].iloc[::-1])]
            fig.add_scatter(
                x=[*x, *reversed(x)], y=list(ends), mode="lines", hoverinfo="skip", fill="toself",
                line={"width": 0, "color": look["color"]}, fillcolor=look["color"], opacity=0.2, showlegend=False,
            )  # fmt: skip
        percent = (100 * of_it["probability"]).tolist()
        add_line(fig, index, x, percent, str(name), "%{y:.0f} %<extra>%{fullData.name}</extra>")
    fig.add_hline(100 * power, line_color=colour("muted"), line_dash="dash", line_width=1)
    fig.update_xaxes(ticksuffix=" %", rangemode="tozero")
    fig.update_yaxes(ticksuffix=" %", range=[0, 101])
    banded = " The band is the range of the noise." if curves["low"].notna().any() else ""
    words = f"{sentence}. The dashed line marks {100 * power:g} %.{banded}"
    return Chart("power", "Which effect does the sweep find?", fig, words, curves.round(4))


def setting_charts(
    runs: pd.DataFrame,
    verdicts: pd.DataFrame,
    settings: Sequence[str],
    metric: Metric,
    finished: Sequence[tuple[RunFolder, Manifest]],
) -> list[Chart]:
    """Those that the data allow; frames as in :mod:`hdbkit.charts.sweep_charts`, runs without those that failed."""
    users = int(runs["virtual_users"].max())
    at = runs[runs["virtual_users"] == users]
    labels = verdicts.drop_duplicates("configuration").set_index("configuration")["label"]
    found = throughput_and_latency(runs, labels, [manifest for _, manifest in finished], metric)
    charts = [pareto(found, metric, finished[0][1].headline)] if len(found) > 1 and finished else []
    for name in settings:
        if (amounts := numeric(at[name])) is not None and len(amounts):
            charts.append(response_curve(response_to(at, name), name, users, metric))
    return charts


def pareto(found: pd.DataFrame, metric: Metric, operation: str) -> Chart:
    """Throughput against the p95 of an operation; ``found`` as ``together.throughput_and_latency`` gives it."""
    start, rangemode = from_where(found["p95_ms"])
    fig = figure(f"p95 of {operation} (ms{start})", axis_title(metric), height=HEIGHT + 40)
    fig.update_xaxes(rangemode=rangemode)
    front = found[found["efficient"]].sort_values(["p95_ms", "metric_value"])
    fig.add_scatter(
        x=plain(front["p95_ms"]), y=plain(front["metric_value"]), mode="lines", name="best trade-offs",
        line={"color": colour("series-2"), "width": 2, "dash": "dash"}, hoverinfo="skip",
    )  # fmt: skip
    users = sorted(found["virtual_users"].unique())
    for index, count in enumerate(users[:MAX_LINES]):
        rows, look = found[found["virtual_users"] == count], series(index)
        fig.add_scatter(
            x=plain(rows["p95_ms"]), y=plain(rows["metric_value"]), mode="markers", name=virtual_users(int(count)),
            text=rows["label"].tolist(), marker={"color": look["color"], "symbol": look["symbol"], "size": 9},
            hovertemplate=f"%{{text}}<br>p95 %{{x:.3g}} ms, {hover(metric, found['metric_value'])}<extra></extra>",
        )  # fmt: skip
    fig.update_yaxes(rangemode="tozero")
    best = front.iloc[-1]
    words = (
        f"{many(len(front), 'point')} of {len(found)} {'has' if len(front) == 1 else 'have'} no other with more "
        f"throughput at the same or a lower latency. The highest throughput is {metric.text(best['metric_value'])} "
        f"at a p95 of {number(best['p95_ms'], 3)} ms: {best['label']}, {virtual_users(int(best['virtual_users']))}."
        " Points are means over the runs."
    )
    return Chart("pareto", "Which throughput is to be had at which latency?", fig, words, found)


def response_curve(found: pd.DataFrame, setting: str, users: int, metric: Metric) -> Chart:
    """The metric over the values of a numeric setting with its band; ``found`` as ``response_to`` gives it."""
    found = Limits.of_values(metric.number, found["metric_value"]).clipped(found)
    start, rangemode = from_where(found[["low", "high", "metric_value"]])
    fig = figure(setting, _level(metric, start))
    fig.update_yaxes(rangemode=rangemode)
    logarithmic = found["amount"].min() > 0 and found["amount"].max() >= _WIDE * found["amount"].min()
    x = found["amount"].tolist()
    if found["low"].notna().all():
        fig.add_scatter(
            x=[*x, *reversed(x)], y=[*plain(found["high"]), *reversed(plain(found["low"]))], mode="lines",
            fill="toself", fillcolor=colour("shade"), line={"width": 0, "color": colour("shade")},
            name="95 % interval", hoverinfo="skip",
        )  # fmt: skip
    fig.add_scatter(
        x=x, y=plain(found["metric_value"]), mode="lines+markers", name="mean", text=found["value"].tolist(),
        line={"color": colour("series-1"), "width": 2}, marker={"size": 8, "color": colour("series-1")},
        hovertemplate=f"%{{text}}: {hover(metric, found['metric_value'])}<extra></extra>",
    )  # fmt: skip
    ticks = {"tickvals": x, "ticktext": found["value"].tolist()}
    fig.update_xaxes(**ticks, **({"type": "log"} if logarithmic else {}))
    scores = metric.score(found["metric_value"])
    best, worst = found.loc[scores.idxmax()], found.loc[scores.idxmin()]
    words = (
        f"At {virtual_users(users)} the best mean is {metric.text(best['metric_value'])} at {best['value']}, the "
        f"worst {metric.text(worst['metric_value'])} at {worst['value']}. Means over all values of the other "
        "settings; the band is the 95 % interval of each mean."
    )
    return Chart(f"{CURVE}{setting}", f"How does {metric.name} respond to {setting}?", fig, words, found)


def _level(metric: Metric, start: str) -> str:
    """The title of an upright axis of the metric, short where it states that the axis starts above 0."""
    return f"{metric.name}{start}" if start else axis_title(metric)
