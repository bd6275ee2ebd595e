"""Charts that question a sweep further: throughput against latency, the response to a setting, each block's verdict,
and what the servers of two configurations did along their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from hdbkit.analysis.run.records import window_of
from hdbkit.analysis.run.timeline import PURGES, marks_s
from hdbkit.analysis.sweep.response import (
    numeric,
    pairs_by_block,
    response_to,
    throughput_and_latency,
    work_apart,
    work_course,
)
from hdbkit.charts.chart import Chart
from hdbkit.charts.intervals import Limits, plain
from hdbkit.charts.marks import MAX_LINES, from_where, of_runs
from hdbkit.charts.style import HEIGHT, axis_title, colour, figure, hover, series, shade_rampup
from hdbkit.config.metric import Metric
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, number, virtual_users

CURVE = "curve_"
"""How the keys of the charts of :func:`response_curve` begin; the setting follows."""
_WIDE = 16
"""From this ratio on between the largest and the smallest value of a setting its axis is logarithmic."""


@dataclass(frozen=True)
class Side:
    """A configuration of a sweep, and its label."""

    label: str
    configuration: int


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
    judged = verdicts[(verdicts["virtual_users"] == users) & verdicts["metric_value"].notna()]
    base = judged[judged["verdict"] == "baseline"]
    others = judged[judged["verdict"] != "baseline"]
    if len(base) and len(others) and finished:
        best = others.loc[metric.score(others["metric_value"]).idxmax()]
        sides = [Side(str(one["label"]), int(one["configuration"])) for one in (base.iloc[0], best)]
        pairs = pairs_by_block(at, sides[0].configuration, sides[1].configuration, metric)
        charts += [paired(pairs, sides[1].label, users, metric)] if len(pairs) > 1 else []
        drawn = len(pairs) and not finished[0][1].one_by_one
        charts += _counters(pairs, sides, finished) if drawn else []
    return charts


def _counters(
    pairs: pd.DataFrame, sides: Sequence[Side], finished: Sequence[tuple[RunFolder, Manifest]]
) -> list[Chart]:
    """The figure that differs most, in the first block; none where the servers counted nothing."""
    known = {manifest.run_id: (folder, manifest) for folder, manifest in finished}
    first = pairs.iloc[0]
    ids = [str(first["base_run"]), str(first["new_run"])]
    if ids[0] == ids[1] or not set(ids) <= known.keys():
        return []
    two = {side.label: known[run_id] for side, run_id in zip(sides, ids, strict=True)}
    apart = work_apart(known[ids[0]][1], known[ids[1]][1]) if len(two) > 1 else []
    drawn = counters_of_two(two, apart[0]) if apart else None
    return [drawn] if drawn else []


def pareto(found: pd.DataFrame, metric: Metric, operation: str) -> Chart:
    """Throughput against the p95 of an operation; ``found`` as ``analysis.sweep.pareto`` gives it."""
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


def paired(pairs: pd.DataFrame, label: str, users: int, metric: Metric) -> Chart:
    """A line for each block from the baseline to a configuration; ``pairs`` as ``pairs_by_block`` gives it."""
    values = pairs[["base", "new"]]
    start, rangemode = from_where(values)
    fig = figure("configuration", _level(metric, start), showlegend=False)
    fig.update_yaxes(rangemode=rangemode)
    for row in pairs.to_dict("records"):
        look = colour("series-1" if row["better"] else "series-2")
        fig.add_scatter(
            x=[0, 1], y=plain([row["base"], row["new"]]), mode="lines+markers", name=f"block {row['block']}",
            line={"color": look, "width": 2, "dash": "solid" if row["better"] else "dash"},
            marker={"size": 8, "color": look}, **of_runs([str(row["base_run"]), str(row["new_run"])]),
            hovertemplate=f"block {row['block']}: {hover(metric, values.to_numpy().ravel())}<extra></extra>",
        )  # fmt: skip
    fig.update_xaxes(tickvals=[0, 1], ticktext=["baseline", label], range=[-0.4, 1.4], showgrid=False)
    better = int(pairs["better"].sum())
    low, high = (f"{100 * float(one):+.1f} %" for one in (pairs["change"].min(), pairs["change"].max()))
    words = (
        f"At {virtual_users(users)} {label} is better in {better} of {many(len(pairs), 'block')}; the changes are "
        f"between {low} and {high}. Solid lines are blocks in which it is better."
    )
    return Chart("pairs", "Is the best configuration better in each block?", fig, words, pairs)


_MARKED = {
    "checkpoints": ("checkpoint", "dot"),
    "autovacuums": ("automatic vacuum", "dashdot"),
    PURGES: ("purge", "longdash"),
}
"""What is marked beside the servers' work: its word, and its line."""


def counters_of_two(two: Mapping[str, tuple[RunFolder, Manifest]], what: str) -> Chart | None:
    """A figure of the servers' work along two runs, with their checkpoints, automatic vacuums and purges marked.

    Args:
        two: a run of each configuration, by its label.
        what: a figure of ``analysis.run.server_work.WORK``.
    """
    courses = {label: work_course(folder, what) for label, (folder, _) in two.items()}
    if any(one.empty for one in courses.values()):
        return None
    fig = figure("seconds since the start", f"{what} per second")
    shade_rampup(fig, max(window_of(manifest).start_us for _, manifest in two.values()) / 1e6)
    words = []
    for index, (label, course) in enumerate(courses.items()):
        look, folder = series(index), two[label][0]
        fig.add_scatter(
            x=course["second"].tolist(), y=plain(course["per_s"]), mode="lines", name=label,
            line={"color": look["color"], "dash": look["dash"], "width": 2},
            hovertemplate="%{x:.1f} s: %{y:,.3~r} per second<extra>%{fullData.name}</extra>",
        )  # fmt: skip
        marks = {name: marks_s(folder, name) for name in _MARKED}
        for dash, at in ((_MARKED[name][1], one) for name, found in marks.items() for one in found):
            fig.add_vline(at, line_color=look["color"], line_dash=dash, line_width=1.5)
        counted = ", ".join(many(len(marks[name]), what) for name, (what, _) in _MARKED.items() if marks[name])
        average = number(course["per_s"].mean(), 3)
        words.append(f"{label}: on average {average} per second, {counted or 'no checkpoint'}.")
    fig.update_yaxes(rangemode="tozero")
    frame = pd.concat([course.assign(label=label) for label, course in courses.items()], ignore_index=True)
    text = " ".join(words) + (
        " Of the servers' work per operation this differs most. Dotted lines mark checkpoints, dash-dotted ones "
        "automatic vacuums, long-dashed ones purges of old row versions, in the colour of the run."
    )
    return Chart("counters", "What did the servers do differently?", fig, text, frame)
