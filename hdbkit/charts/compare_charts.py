"""Charts of several groups of runs side by side, and of a profile's history; a group is a name and its runs.

Frames are those of :mod:`hdbkit.analysis.comparison.groups`, or own ones with the same columns. At most ``MAX_LINES``
groups are drawn, those that come first; the tables hold all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.groups import (
    Groups,
    common_metric,
    distributions,
    metric_values,
    operation_times,
    overlaid,
    values_by_size,
)
from hdbkit.analysis.comparison.history import change_sentences
from hdbkit.analysis.comparison.sides import Compared, changes
from hdbkit.analysis.run import quantiles
from hdbkit.analysis.run.host_activity import cpu_course
from hdbkit.analysis.run.latency_tail import shares_ms, shares_text
from hdbkit.analysis.run.records import Window, table, window_of
from hdbkit.analysis.run.waits import CLASSES, sessions_over_time
from hdbkit.charts.chart import Chart
from hdbkit.charts.detail_charts import Line, course_lines, halves
from hdbkit.charts.intervals import Limits, add_intervals, plain, ratio_axis
from hdbkit.charts.marks import AXIS_WORDS, MAX_DOTS, MAX_LINES, ids_of, left_out, mark_one, name_rows, of_runs
from hdbkit.charts.operation_charts import profile, ratios
from hdbkit.charts.run_charts import MARGIN_PX, quantile_lines
from hdbkit.charts.scaling_charts import throughput_over_users
from hdbkit.charts.style import HEIGHT, add_line, axis_title, colour, figure, hover, log_axis, series, shade_rampup
from hdbkit.charts.wait_charts import add_classes
from hdbkit.config.metric import Better, Metric
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import number, virtual_users

Runs = Sequence[tuple[RunFolder, Manifest]]
SECONDS = "seconds since the window's start"
_RUNS = 5
"""The runs of a side that are read."""
_WAITS_PX = 260


# Two sides of a comparison over time, on one axis: latency, waits of sessions, and the load host's processors.
#
# Each is a mean over the first runs of a side, aligned at the starts of their windows.


def side_charts(groups: Mapping[str, Runs], headline: str) -> list[Chart]:
    """The charts of both sides that their data allow; the waits of each side are a chart of their own."""
    waits = {name: _mean(runs, _waits) for name, runs in groups.items()}
    most = max((float(one[_classes(one)].sum(axis=1).max()) for one in waits.values() if len(one)), default=0.0)
    return [
        *_lines(groups, lambda run, end: _p95(run, end, headline), "p95", f"p95 of {headline} (ms)", "ms"),
        *(_waits_of(name, index, course, most) for index, (name, course) in enumerate(waits.items()) if len(course)),
        *_lines(groups, _busy, "busy", "load host's processors busy (%)", "%"),
    ]


def _lines(
    groups: Mapping[str, Runs], course: Callable[[RunFolder, Window], pd.DataFrame], key: str, axis: str, unit: str
) -> list[Chart]:
    """One line for each side; no chart where one of them is unknown."""
    found = {name: _mean(runs, course) for name, runs in groups.items()}
    if any(one.empty for one in found.values()):
        return []
    fig = figure(SECONDS, axis, showlegend=True)
    for index, (name, one) in enumerate(found.items()):
        hover_text = f"%{{x}} s: %{{y:,.3~r}} {unit}<extra>%{{fullData.name}}</extra>"
        add_line(fig, index, one.index.tolist(), one[key].round(3).tolist(), name, hover_text)
    fig.update_yaxes(rangemode="tozero")
    words = "; ".join(f"{name} {number(one[key].mean(), 3)} {unit}" for name, one in found.items())
    frame = pd.DataFrame({name: one[key] for name, one in found.items()}).rename_axis("second").reset_index()
    question = "When was one side slower?" if key == "p95" else "How busy were the load host's processors?"
    return [Chart(f"{key}_over_time", question, fig, f"{axis}, mean over the window: {words}.", frame.round(3))]


def _waits_of(name: str, index: int, course: pd.DataFrame, most: float) -> Chart:
    fig = figure(SECONDS, "sessions (mean)", _WAITS_PX)
    add_classes(fig, course.reset_index(names="second"))
    fig.update_yaxes(range=[0, 1.05 * most])
    means = course[_classes(course)].mean().sort_values(ascending=False)
    words = ", ".join(f"{one} {number(share, 2)}" for one, share in means.items() if share >= 0.005)
    frame = course.reset_index(names="second").round(3)
    return Chart(f"waits_{index}", f"What did sessions of {name} wait for?", fig, f"Mean sessions: {words}.", frame)


def _classes(course: pd.DataFrame) -> list[str]:
    return [one for one in CLASSES if one in course]


def _mean(runs: Runs, course: Callable[[RunFolder, Window], pd.DataFrame]) -> pd.DataFrame:
    """The mean over runs by second of the window; empty where one of them has no course."""
    found = []
    for folder, manifest in runs[:_RUNS]:
        if manifest.measured_by:
            return pd.DataFrame()
        window = window_of(manifest)
        one = course(folder, window)
        first, last = round(window.start_us / 1e6), int(window.end_us / 1e6)
        inside = one[one.index.to_series().between(first, last - 1)] if len(one) else one
        if inside.empty:
            return pd.DataFrame()
        found.append(inside.set_axis(inside.index - first))
    return pd.concat(found).fillna(0).groupby(level=0).mean()


def _waits(folder: RunFolder, _: Window) -> pd.DataFrame:
    found = sessions_over_time(folder, 1)
    return pd.DataFrame() if found is None else found.set_index("second")


def _p95(folder: RunFolder, window: Window, headline: str) -> pd.DataFrame:
    found = quantiles.by_second(folder, Window(0, window.end_us))
    of_headline = found[found["operation"] == folder.read().operations.index(headline)]
    return of_headline.set_index("second")[["p95_us"]].div(1000).set_axis(["p95"], axis=1)


def _busy(folder: RunFolder, _: Window) -> pd.DataFrame:
    host = table(folder, "host")
    if host is None or len(host) < 2:
        return pd.DataFrame()
    course = cpu_course(host)
    busy = course.drop(columns=["second", "idle", "iowait"], errors="ignore").sum(axis=1)
    return busy.groupby(np.floor(course["second"]).astype(int)).mean().to_frame("busy")


def compare_charts(
    groups: Groups,
    compared: Compared | None = None,
    by_operation: pd.DataFrame | None = None,
    figures: pd.DataFrame | None = None,
) -> list[Chart]:
    """Every chart of groups of runs that their data allow.

    ``compared`` and ``by_operation`` are the ratios of the second group to the first one, and ``figures`` the changes
    of its latencies, where they were compared.

    Raises:
        InputError: their metrics differ.
    """
    metric, runs = common_metric(groups), metric_values(groups)
    charts = [throughput_over_users(runs, metric, "group")] if len(runs) else []
    first = next(manifest for finished in groups.values() for _, manifest in finished)
    if compared is not None and figures is not None:
        found = changes(figures, compared.ratio, metric)
        charts += [forest(found, compared.smallest_effect, list(groups))] if len(found) > 1 else []
    if compared is not None and by_operation is not None and len(by_operation):
        charts.append(_ratios(list(groups), first, compared, by_operation))
    sized, scale = values_by_size(groups)
    if len(sized):
        charts.append(metric_over_scale(sized, metric, scale))
    times = operation_times(groups)
    if len(times):
        charts.append(profile(times, first.noun, "run"))
    if first.one_by_one:
        return charts
    course, seen = overlaid(groups), distributions(groups, first.headline)
    over_time = [throughput_overlaid(course, metric.rate)] if len(course) else []
    over_time += side_charts(groups, first.headline) if compared is not None else []
    span = [float(course["second"].min()), float(course["second"].max())] if len(course) else None
    for one in over_time:
        one.figure.update_xaxes(range=span).update_layout(margin_l=MARGIN_PX)
    return [*charts, *over_time, *([latency_distributions(seen, first.headline)] if seen else [])]


def _ratios(names: list[str], first: Manifest, compared: Compared, by_operation: pd.DataFrame) -> Chart:
    overall = pd.DataFrame([{"group": names[1], **vars(compared.ratio)}])
    found = by_operation.assign(group=names[1])
    return ratios(found, overall, names[0], first.noun, first.metric, compared.smallest_effect)


def throughput_overlaid(courses: pd.DataFrame, rate: Metric) -> Chart:
    """The rate over time of several groups on top of each other, aligned at the start of their windows.

    ``courses`` as ``groups.overlaid`` gives them: group, run_id, second, rate, inside.
    """
    names = list(dict.fromkeys(courses["group"]))
    position = {name: index for index, name in enumerate(names)}
    placed = courses.assign(configuration=courses["group"].map(position))
    fig = figure(SECONDS, axis_title(rate), hovermode="x")
    shade_rampup(fig, 0, float(courses["second"].min()))
    for index, name in enumerate(names[:MAX_LINES]):
        fig.add_traces(course_lines(Line(index, index, str(name)), placed, rate))
    fig.update_yaxes(rangemode="tozero")
    table = halves(placed, pd.Series(names), rate).rename(columns={"configuration": "group"})
    medians = "; ".join(f"{row['group']} {rate.number(row[f'median {rate.name}'])}" for _, row in table.iterrows())
    words = [
        f"Median {rate.name} of the seconds in the window: {medians}.",
        "Lines are medians over a group's runs, bands span them; counted by the clients.",
        left_out(min(len(names), MAX_LINES), len(names)),
    ]
    question = "How did the throughput develop over time?"
    return Chart("throughput", question, fig, " ".join(filter(None, words)), table)


def latency_distributions(seen: dict[str, pd.Series[int]], operation: str) -> Chart:
    """The latency of one operation at each share, a line per group; ``seen`` as ``groups.distributions`` gives it."""
    fig = quantile_lines(dict(list(seen.items())[:MAX_LINES]))
    lines: list[dict[str, Any]] = [
        {"group": name, "n": int(one.sum()), **shares_ms(one)} for name, one in seen.items()
    ]
    figures = "; ".join(f"{line['group']} {shares_text(line)}" for line in lines)
    words = [
        f"{operation}: {figures}.",
        "The runs of a group are pooled.",
        left_out(min(len(seen), MAX_LINES), len(seen)),
    ]
    question = f"How long did {operation} take?"
    return Chart("latency", question, fig, " ".join(filter(None, words)), pd.DataFrame(lines))


# The forest plot of a comparison: the change of the metric and of each latency, each with its interval.

_LOOKS = {"better": ("series-3", "diamond"), "worse": ("series-2", "square"), "not shown": ("muted", "circle")}


def forest(changes: pd.DataFrame, smallest_effect: float, names: Sequence[str]) -> Chart:
    """A row for each figure: how many times as good it is on the new side, and where its interval lies.

    Args:
        changes: figure, ratio, low, high, judged (``analysis.comparison.sides.changes``), not empty.
        smallest_effect: the smallest change that matters, as a share.
        names: those of base and new.
    """
    title = f"{names[1]} against {names[0]} ({AXIS_WORDS})"
    fig = figure(title, "", height=130 + 34 * len(changes), showlegend=True)
    mark_one(fig, smallest_effect)
    places = pd.Series(range(len(changes) - 1, -1, -1), index=changes.index)
    limits = Limits.of_ratios(changes["ratio"])
    for name, (ink, symbol) in _LOOKS.items():
        rows = changes[changes["judged"] == name]
        if len(rows):
            add_intervals(
                fig, places[rows.index].tolist(), rows["ratio"], rows, limits, ink=ink, symbol=symbol, size=10,
                name=name, text=rows["figure"].tolist(), hovertemplate="%{text}: x%{x:.3r}<extra></extra>",
            )  # fmt: skip
    name_rows(fig, changes["figure"].tolist())
    ends = limits.clip(changes)
    fig.update_xaxes(**ratio_axis([*changes["ratio"], *ends["low"], *ends["high"]]))
    counts = changes["judged"].value_counts()
    words = [
        f"Of {len(changes)} figures {counts.get('better', 0)} are better with {names[1]} and "
        f"{counts.get('worse', 0)} worse; of the others no change is shown. A latency of x2 is half as long.",
        f"Bars are 95 % intervals; the band is the smallest effect that matters, {100 * smallest_effect:g} %.",
        limits.words(changes),
    ]
    question = "What became better or worse, and by how much?"
    return Chart("changes", question, fig, " ".join(filter(None, words)), changes.round(4))


# The metric against the size of the schema, for groups of runs that were measured at several sizes.


def metric_over_scale(runs: pd.DataFrame, metric: Metric, scale: str) -> Chart:
    """A line per group through the geometric means of its runs at each size; every run is a dot; both axes are log.

    Args:
        runs: a row per run: ``group``, ``size``, ``metric_value`` (above 0).
        metric: what ``metric_value`` is.
        scale: what the size counts: ``scale factor``.
    """
    logs = runs.assign(metric_value=np.log(runs["metric_value"].astype(float)))
    means = np.exp(logs.groupby(["group", "size"], sort=False)["metric_value"].mean()).reset_index()
    names = list(dict.fromkeys(runs["group"]))
    fig = figure(f"{scale} (log)", f"{metric.heading}, log")
    for index, name in enumerate(names[:MAX_LINES]):
        look, of_it = series(index), means[means["group"] == name].sort_values("size")
        each = runs[runs["group"] == name]
        fig.add_scatter(
            x=plain(each["size"]), y=plain(each["metric_value"]), mode="markers", showlegend=False, hoverinfo="y",
            marker={"color": look["color"], "size": 5, "opacity": 0.5}, legendgroup=str(name),
        )  # fmt: skip
        fig.add_scatter(
            x=plain(of_it["size"]), y=plain(of_it["metric_value"]), mode="lines+markers", name=str(name),
            line={"color": look["color"], "dash": look["dash"], "width": 2}, legendgroup=str(name),
            marker={"symbol": look["symbol"], "size": 8},
            hovertemplate=f"{scale} %{{x}}: {hover(metric, runs['metric_value'])}<extra>%{{fullData.name}}</extra>",
        )  # fmt: skip
    sizes = sorted(set(runs["size"]))
    fig.update_xaxes(**{**log_axis(sizes), "tickvals": sizes, "ticktext": [f"{one:,g}" for one in sizes]})
    fig.update_yaxes(**log_axis(runs["metric_value"]))
    words = [*(_growth(str(name), means[means["group"] == name], metric, scale) for name in names[:MAX_LINES])]
    words += ["Lines are geometric means, dots runs.", left_out(min(len(names), MAX_LINES), len(names))]
    question = f"How does {metric.name} change with the {scale}?"
    return Chart("scale", question, fig, " ".join(filter(None, words)), means.rename(columns={"size": scale}))


def _growth(name: str, means: pd.DataFrame, metric: Metric, scale: str) -> str:
    """How the metric changes from the smallest to the largest size, and with which power of it; empty at one size."""
    first, last = (means.sort_values("size").iloc[position] for position in (0, -1))
    if first["size"] == last["size"]:
        return ""
    larger, change = last["size"] / first["size"], last["metric_value"] / first["metric_value"]
    power = math.log(change) / math.log(larger)
    result = "takes {} the time" if metric.better is Better.LOWER else f"has {{}} the {metric.name}"
    return f"{name}: {_times(larger)} the {scale} {result.format(_times(change))} (power {power:.2f})."


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 100 else f"{ratio:.3g} times"


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
