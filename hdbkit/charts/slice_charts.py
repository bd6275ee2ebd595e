"""The charts of runs in slices: throughput after each change of configurations, and over the slices of a run."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.run.slices import mean_of
from hdbkit.analysis.sweep.answers import in_these_runs
from hdbkit.analysis.wording import label, percent_of_ratio
from hdbkit.charts.chart import Chart
from hdbkit.charts.detail_charts import Line, drawn_lines
from hdbkit.charts.intervals import Limits, plain, ratio_axis
from hdbkit.charts.marks import MAX_DOTS, left_out
from hdbkit.charts.style import MAX_COLOURED, along_run, axis_title, colour, figure, hover, series
from hdbkit.config.metric import Measure, Metric
from hdbkit.later import graph_objects as go
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Ratio, Verdict, frame
from hdbkit.results.manifest import Manifest
from hdbkit.text import virtual_users

_MAX_CHANGES = 3
"""The maximum number of configurations in one chart; the lines of more overlap too much to be read."""


def changes_over_time(changes: pd.DataFrame, cells: Sequence[Ratio], metric: Metric) -> Chart:
    """The ratio of each configuration to the baseline in each stretch of cycles, run after run, on the log scale.

    ``changes`` as ``analysis.sweep.slices.changes`` gives them, ``cells`` as ``verdicts.judge``.
    """
    users = int(changes["virtual_users"].max())
    at = changes[changes["virtual_users"] == users]
    of_users = [ratio for ratio in cells if ratio.virtual_users == users]
    ratios = {ratio.configuration: ratio for ratio in of_users if ratio.verdict is not Verdict.BASELINE}
    compared = frame(ratios.values())
    drawn = drawn_lines(of_users, metric, _MAX_CHANGES + 1, _MAX_CHANGES + 1)
    lines = [line for line in drawn if line.configuration in ratios]
    title = f"{metric.name} / baseline, log<br>(above x1 is better)"
    fig = figure("seconds of all runs, one after another", title, hovermode="closest")
    fig.add_hline(1, line_color=colour("muted"), line_width=1)
    for second in at.groupby("number")["second"].min().iloc[1:]:
        fig.add_vline(second, line_color=colour("muted"), line_width=1)
    limits = Limits.of_ratios(at["ratio"], compared["ratio"])
    last_s = float((at["second"] + at["length_s"]).max())
    for line in lines:
        ends = limits.clipped(compared[compared["configuration"] == line.configuration])
        _add_change(fig, line, at[at["configuration"] == line.configuration], ends, last_s)
    ends = limits.clip(compared)
    fig.update_yaxes(**ratio_axis([*at["ratio"], *ends["low"], *ends["high"]]))
    words = [
        f"{line.label}: {percent_of_ratio(ratios[line.configuration], metric)}."
        for line in lines
        if ratios[line.configuration].is_known
    ]
    words += [
        f"A dot is a stretch of {_cycles(at)} against the baseline in the same stretch, a line the mean over all,",
        f"its band the 95 % confidence interval{in_these_runs(cells)}, at {virtual_users(users)};",
        "vertical lines are between two runs.",
        left_out(len(lines) + 1, len(of_users), baseline=True),
    ]
    table = at.assign(configuration=at["configuration"].map({ratio.configuration: ratio.label for ratio in of_users}))
    kept = ["number", "second", "cycles", "configuration", "ratio"]
    question = "Is the change the same along the runs?"
    return Chart("slices", question, fig, " ".join(filter(None, words)), table[kept].round(4))


def _add_change(fig: go.Figure, line: Line, rows: pd.DataFrame, ends: pd.DataFrame, last_s: float) -> None:
    """Dots, mean and interval of one configuration."""
    look = series(line.look)
    mean, low, high = (float(ends[name].iloc[0]) for name in ("ratio", "low", "high"))
    if pd.notna(low):
        fig.add_scatter(
            x=[0, last_s, last_s, 0, 0], y=plain([low, low, high, high, low]), mode="lines", fill="toself",
            line={"width": 0, "color": look["color"]}, fillcolor=look["color"], opacity=0.2, hoverinfo="skip",
            showlegend=False, legendgroup=line.label,
        )  # fmt: skip
    fig.add_scatter(
        x=plain(rows["second"] + rows["length_s"] / 2), y=plain(rows["ratio"]), mode="markers",
        marker={"color": look["color"], "size": 5, "opacity": 0.5, "symbol": look["symbol"]}, showlegend=False,
        legendgroup=line.label, name=line.label, hovertemplate="x%{y:.3g}<extra>%{fullData.name}</extra>",
    )  # fmt: skip
    fig.add_scatter(
        x=[0, last_s], y=plain([mean, mean]), mode="lines", name=line.label, legendgroup=line.label,
        line={"color": look["color"], "dash": look["dash"], "width": 2},
        hovertemplate="mean x%{y:.3g}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _cycles(rows: pd.DataFrame) -> str:
    least, most = int(rows["cycles"].min()), int(rows["cycles"].max())
    return "one cycle" if most == 1 else f"{least} cycles" if least == most else f"{least} to {most} cycles"


def slices_of_run(slices: pd.DataFrame, manifest: Manifest) -> Chart:
    """The metric in each slice of a run, with the mean of each configuration."""
    plan, metric = manifest.plan.slices, manifest.metric
    assert plan is not None
    labels = [label(settings, plan.settings[0]) for settings in plan.settings]
    clock = manifest.clock
    start_s = (clock.window_start_us or 0) / 1e6 if clock else 0.0
    fig = along_run(start_s, axis_title(metric))
    table = slices.assign(
        second=slices["slice"] * plan.slice_s, label=slices["position"].map(dict(enumerate(labels)))
    )
    for position, name in enumerate(labels[:MAX_COLOURED]):
        look, rows = series(position), table[table["position"] == position].head(MAX_DOTS // len(labels))
        fig.add_scatter(
            x=plain(rows["second"] + plan.slice_s / 2), y=plain(rows["metric_value"]), mode="markers", name=name,
            marker={"color": look["color"], "size": 5, "opacity": 0.7, "symbol": look["symbol"]},
            hovertemplate=f"{hover(metric, table['metric_value'].dropna())}<extra>%{{fullData.name}}</extra>",
        )  # fmt: skip
    fig.update_yaxes(rangemode="tozero")
    rate = metric.measure is Measure.RATE
    means = [
        mean_of(table.loc[table["position"] == position, "metric_value"], rate=rate)
        for position in range(len(labels))
    ]
    listed = [f"{name} {metric.number(mean)}" for name, mean in zip(labels, means, strict=True) if mean is not None]
    words = [
        f"Means of {axis_title(metric)}: {'; '.join(listed)}.",
        f"A dot is a slice of {plan.slice_s:g} s after its washout.",
        left_out(min(len(labels), MAX_COLOURED), len(labels)),
    ]
    kept = table[["second", "cycle", "label", "metric_value", "operations_per_s"]].round(4)
    return Chart("slices", "How fast was each configuration in its slices?", fig, " ".join(filter(None, words)), kept)
