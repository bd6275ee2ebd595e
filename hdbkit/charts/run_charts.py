"""The charts of one run: throughput and latency over time, latency by operation, errors; the database's host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hdbkit.analysis.run import quantiles
from hdbkit.analysis.run.events import events
from hdbkit.analysis.run.failures import RETRIES, failures, samples
from hdbkit.analysis.run.faults import course_of_faults
from hdbkit.analysis.run.host_activity import of_load_host, of_server
from hdbkit.analysis.run.latency_tail import shares_ms, shares_text, slow_end
from hdbkit.analysis.run.outages import outages_text
from hdbkit.analysis.run.quantiles import BANDS_PER_DECADE, BEYOND, latency_bands
from hdbkit.analysis.run.records import Window, executions, table, window_of
from hdbkit.analysis.run.schedule import busy_sessions, lateness, lateness_by_second
from hdbkit.analysis.run.timeline import gauge, throughput
from hdbkit.analysis.run.waits import sessions_over_time
from hdbkit.charts.chart import Chart
from hdbkit.charts.fault_charts import faults_over_time
from hdbkit.charts.host_charts import host_charts
from hdbkit.charts.intervals import plain
from hdbkit.charts.operation_charts import profile
from hdbkit.charts.schedule_charts import busy_over_time, lateness_over_time, schedule_charts
from hdbkit.charts.slice_charts import slices_of_run
from hdbkit.charts.step_charts import latency_over_throughput
from hdbkit.charts.style import (
    PATTERNS,
    SERIES,
    add_line,
    along_run,
    axis_title,
    colour,
    figure,
    hover,
    log_axis,
    shade_rampup,
)
from hdbkit.charts.value_charts import detail_chart
from hdbkit.charts.wait_charts import waits_over_time
from hdbkit.config.metric import DetailChart, Measure, Metric
from hdbkit.later import graph_objects as go
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.readings import LAG
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Outage
from hdbkit.text import many, number

_HATCHED = {"fillmode": "overlay", "solidity": 0.25, "fgopacity": 1}


_USERS = DetailChart(
    key="virtual_users",
    question="Did every virtual user complete the same amount of work?",
    column="virtual_user",
    axis="virtual user",
)
MARGIN_PX = 90
"""Room for the longest labels, so that the axes of time begin below each other."""
_MAX_POINTS = 400
"""Points of a line; a longer run is drawn in steps of more than a second."""


def run_charts(folder: RunFolder, manifest: Manifest) -> list[Chart]:
    """Every chart of a run, those over time one below the other with one axis and the run's events.

    Raises ``DamagedResult`` if there is no measured window.
    """
    charts, seen = _run_charts(folder, manifest), events(folder, manifest)
    over_time = [one.mark(seen) for one in charts if one.is_over_time]
    for one in over_time:
        one.figure.update_xaxes(range=[0, window_of(manifest).end_us / 1e6]).update_layout(margin_l=MARGIN_PX)
    others = [one for one in charts if not one.is_over_time]
    return [*others, *over_time] if manifest.one_by_one else [*over_time, *others]


def _run_charts(folder: RunFolder, manifest: Manifest) -> list[Chart]:
    window, result = window_of(manifest), manifest.measured
    step_s = max(1, math.ceil(window.end_us / 1e6 / _MAX_POINTS))
    course = throughput(folder, manifest, step_s)
    failed = failures(folder, step_s)
    throughput_chart = throughput_over_time(
        course, window, manifest.metric, result.metric_value, result.outages, manifest.noun
    )
    if manifest.one_by_one:
        charts = [*_times(folder, manifest), *([throughput_chart] if len(course) > 1 else [])]
    else:
        latencies = _latencies(folder, manifest, window, step_s) if manifest.operations else []
        charts = [throughput_chart, *latencies]
    if result.steps:
        charts.insert(1, latency_over_throughput(result.steps, manifest.headline, manifest.noun))
    course_of_waits = sessions_over_time(folder, step_s)
    if course_of_waits is not None and result.waits:
        cores = manifest.host.cores if manifest.server.on_this_host else 0
        charts.append(waits_over_time(course_of_waits, cores or 0, window, result.waits, manifest.noun))
    charts += host_charts(of_load_host(folder), window, "host", "load host")
    charts += host_charts(of_server(folder), window, "server", "database host")
    charts[1:1] = _of_schedule(folder, manifest, window, step_s)
    slices = table(folder, "slices")
    if slices is not None and len(slices):
        charts.insert(1, slices_of_run(slices, manifest))
    if result.faults:
        charts.insert(0, faults_over_time(manifest, course_of_faults(folder), window))
    if len(failed):
        charts.append(errors_by_class(failed, samples(folder), window, step_s))
    lag = gauge(folder, LAG)
    if len(lag):
        charts.append(lag_over_time(lag, window))
    details = [detail_chart(folder, window, one, manifest.noun) for one in [*manifest.detail_charts, _USERS]]
    charts += [chart for chart in details if chart]
    return charts


def _of_schedule(folder: RunFolder, manifest: Manifest, window: Window, step_s: int) -> list[Chart]:
    """What an open loop offered and reached, lateness, and busy sessions; none of users that never pause or wait."""
    schedule, found = table(folder, "schedule"), manifest.measured.schedule
    charts, load = [], manifest.plan.load
    if schedule is not None and len(schedule) and found:
        charts = schedule_charts(schedule, found, window, manifest.noun, step_s)
    elif load.keying_and_thinking:
        _, late = lateness(folder, window)
        steps = lateness_by_second(folder, step_s).sort_index()
        charts = [lateness_over_time(steps, late, window, manifest.noun)]
    if manifest.paced or load.steps or len(load.clients[0]) > 1:
        busy = busy_sessions(folder, window, step_s)
        charts.append(busy_over_time(busy, window, load.sessions, manifest.noun))
    return charts


def _times(folder: RunFolder, manifest: Manifest) -> list[Chart]:
    """How long each operation took; none where nothing was completed."""
    done = executions(folder, manifest).query("outcome != 'failed'")
    times = done.assign(group=manifest.plan.target.kind, seconds=done["elapsed_s"])
    return [profile(times, manifest.noun, manifest.noun)] if len(times) else []


def _latencies(folder: RunFolder, manifest: Manifest, window: Window, step_s: int) -> list[Chart]:
    """The latency over time of the headline's operation, and that of each operation.

    Where operations have a scheduled start, response time comes first.
    """
    charts = []
    times = ("response", "service") if manifest.paced else ("service",)
    first = times[0]
    for time in times:
        latency = quantiles.TIME_COLUMNS[time]
        latencies = quantiles.by_second(folder, Window(0, window.end_us), step_s, latency)
        of_headline = latencies[latencies["operation"] == manifest.operations.index(manifest.headline)]
        histogram = quantiles.counts(folder, window, latency)
        done = histogram[histogram["outcome"] != Outcome.FAILED.value]
        heat_s = max(1, math.ceil(window.end_us / 1e6 / _MAX_STEPS))
        bands = latency_bands(
            folder, Window(0, window.end_us), manifest.operations.index(manifest.headline), heat_s, latency
        )
        heat = [latency_heat(bands, window, manifest.headline, heat_s, time)] if len(bands) and time == first else []
        charts += [
            latency_over_time(of_headline, window, manifest.headline, time),
            *heat,
            _latency_by_operation(done, manifest.operations, manifest.noun, time),
        ]
    return charts


def throughput_over_time(
    course: pd.DataFrame,
    window: Window,
    metric: Metric,
    value: float | None,
    outages: Sequence[Outage] = (),
    noun: str = "operation",
) -> Chart:
    """``metric.rate`` along the run; ``course`` as ``timeline.throughput`` gives it, ``value`` the run's result.

    ``outages`` are as ``outages.outages`` gives them.
    """
    start_s, end_s, rate = window.start_us / 1e6, window.end_us / 1e6, metric.rate
    result = value if metric.measure is Measure.RATE else None
    fig = along_run(start_s, axis_title(rate), showlegend=False)
    last_s = float(course["second"].max()) if len(course) else end_s
    if last_s > end_s:
        fig.add_vrect(end_s, last_s, fillcolor=colour("shade"), line_width=0, layer="below")
    for outage in outages:
        until_s = last_s if outage.end_s is None else outage.end_s
        fig.add_vrect(
            outage.start_s, until_s, fillcolor=colour("series-2"), opacity=0.15, line_width=0, layer="below",
            annotation_text="outage", annotation_position="top left", annotation_font_color=colour("ink"),
        )  # fmt: skip
    fig.add_scatter(
        x=course["second"].tolist(), y=plain(course["rate"]), mode="lines", name=rate.name,
        line={"color": colour("series-1"), "width": 2},
        hovertemplate=f"%{{x}} s: {hover(rate, course['rate'])}<extra></extra>",
    )  # fmt: skip
    if result is not None:
        line = {"color": colour("series-2"), "width": 1.5, "dash": "dash"}
        fig.add_scatter(
            x=[start_s, end_s], y=[result, result], mode="lines", line=line, name="result", hoverinfo="name+y"
        )
    fig.update_yaxes(rangemode="tozero")
    words = _throughput_words(course, window, metric, result)
    words += f" {outages_text(outages, noun)}" if outages else ""
    return Chart("throughput", "Was the throughput steady over the run?", fig, words, course)


def _throughput_words(course: pd.DataFrame, window: Window, metric: Metric, result: float | None) -> str:
    """The range of the throughput in the window, and the result."""
    start_s, end_s, rate = window.start_us / 1e6, window.end_us / 1e6, metric.rate
    inside = course[(course["second"] >= start_s) & (course["second"] < math.floor(end_s))]["rate"]
    words = "No whole second lies in the window."
    if len(inside):
        words = (
            f"In the window of {window.duration_s:.1f} s the throughput was between {rate.number(inside.min())} "
            f"and {rate.text(inside.max())}, with a median of {rate.number(inside.median())}."
        )
    if result is None:
        return words
    by = ", by the schema's own count" if metric.counter else ""
    return f"{words} The dashed line is the result, {metric.text(result)}{by}."


def latency_over_time(seconds: pd.DataFrame, window: Window, operation: str, time: str = "service") -> Chart:
    """Exact p50, p95 and p99 of one operation along the run; ``seconds`` as ``quantiles.by_second`` gives.

    ``time`` is that of the figures, one of ``quantiles.TIME_COLUMNS``.
    """
    fig = along_run(window.start_us / 1e6, f"{time} time of {operation} (ms, log)")
    known = [name for name in ("p50", "p95", "p99") if seconds[f"{name}_us"].notna().any()]
    for index, name in enumerate(known):
        ms = plain((seconds[f"{name}_us"] / 1000).round(4))
        add_line(fig, index, seconds["second"].tolist(), ms, name, f"%{{x}} s: {name} %{{y:.3g}} ms<extra></extra>")
    fig.update_yaxes(**log_axis(value for line in fig.data for value in line.y if value is not None))
    words = "Nothing was completed in the window."
    inside = seconds[seconds["second"] * 1_000_000 >= window.start_us]
    if len(inside):
        worst = inside.iloc[int(inside["max_us"].argmax())]
        longest = f"{number(worst['max_us'] / 1000, 3)} ms, in second {int(worst['second'])} of the run"
        shown = inside[f"{'p95' if 'p95' in known else 'p50'}_us"].dropna() / 1000
        words = f"The longest {time} time of {operation} was {longest}."
        if len(shown):
            words = (
                f"The {str(shown.name).removesuffix('_us')} of the {time} time of {operation} per second was "
                f"between {number(shown.min(), 3)} and {number(shown.max(), 3)} ms in the window; the longest "
                f"took {longest}. A quantile is drawn for seconds with {BEYOND} operations beyond it."
            )
    table = seconds.drop(columns="operation").reset_index(drop=True)
    what = "latency" if time == "service" else f"{time} time"
    key = f"{'latency' if time == 'service' else time}_over_time"
    return Chart(key, f"Did the {what} of {operation} stay constant?", fig, words, table)


def lag_over_time(samples: pd.DataFrame, window: Window) -> Chart:
    """How far a standby was behind, along the run; ``samples`` as ``timeline.gauge`` gives them."""
    fig = along_run(window.start_us / 1e6, "replication lag (s)", showlegend=False)
    fig.add_scatter(
        x=samples["second"].round(2).tolist(), y=samples["value"].tolist(), mode="lines+markers", name="lag",
        line={"color": colour("series-1"), "width": 2}, hovertemplate="%{x} s: %{y:.3g} s<extra></extra>",
    )  # fmt: skip
    fig.update_yaxes(rangemode="tozero")
    words = (
        f"In {many(len(samples), 'sample')} the standby was {number(samples['value'].mean(), 3)} s behind on "
        f"average, and {number(samples['value'].max(), 3)} s at most."
    )
    return Chart("replication_lag", "How far was the standby behind?", fig, words, samples)


def _latency_by_operation(histogram: pd.DataFrame, operations: list[str], noun: str, time: str = "service") -> Chart:
    """Latency at each share of the operations, the slow end stretched; ``histogram`` as of ``quantiles.counts``.

    ``time`` is that of the figures, one of ``quantiles.TIME_COLUMNS``.
    """
    seen = {
        name: rows.groupby("latency_us")["n"].sum()
        for index, name in enumerate(operations)
        if len(rows := histogram[histogram["operation"] == index])
    }
    fig = quantile_lines(seen, time)
    lines: list[dict[str, Any]] = [
        {"operation": name, "n": int(one.sum()), **shares_ms(one)} for name, one in seen.items()
    ]
    words = "; ".join(f"{line['operation']} {shares_text(line)}" for line in lines)
    table = pd.DataFrame(lines)
    key, asked = "latency", f"How long did each {noun} take?"
    if time == "response":
        key, asked = "response", f"How long did users wait for each {noun}?"
    return Chart(key, asked, fig, f"{words or 'Nothing was completed'}.", table)


def quantile_lines(seen: Mapping[str, pd.Series[int]], time: str = "service") -> go.Figure:
    """A line per name, the latency at each share; ``seen`` is how often each latency (us, sorted) was seen."""
    fig = figure("share of operations (slow end stretched)", f"{time} time (ms, log)")
    longest = max((int(one.sum()) for one in seen.values()), default=1)
    for index, (name, one) in enumerate(seen.items()):
        points = slow_end(one)
        slower, ms = points["slower"].round(3).tolist(), (points["latency_us"] / 1000).tolist()
        shares = [f"{100 * (1 - 1 / ratio):.6g} %" for ratio in points["slower"]]
        hover_text = "%{text} within %{y:.3g} ms<extra>%{fullData.name}</extra>"
        add_line(fig, index, slower, ms, name, hover_text, text=shares)
    ticks = [2.0, *(10.0**i for i in range(1, math.ceil(math.log10(longest)) + 1))]
    fig.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{100 * (1 - 1 / tick):.10g} %" for tick in ticks])
    return fig.update_yaxes(**log_axis(value for line in fig.data for value in line.y))


def errors_by_class(failed: pd.DataFrame, kinds: pd.DataFrame, window: Window, step_s: int = 1) -> Chart:
    """Errors per second by class, stacked; ``failed`` and ``kinds`` as ``failures.failures`` gives them."""
    fig = along_run(window.start_us / 1e6, "errors per second", barmode="stack", showlegend=True, name_at="top left")
    totals = failed.groupby("error_class")["count"].sum().sort_values(ascending=False)
    for index, name in enumerate(totals.index):
        rows = failed[failed["error_class"] == name]
        pattern = {"shape": PATTERNS[index % len(PATTERNS)], "fgcolor": colour("shade"), **_HATCHED}
        fig.add_bar(
            x=rows["second"].tolist(), y=(rows["count"] / step_s).tolist(), name=name, offset=0, width=step_s,
            marker={"color": colour(SERIES[index % len(SERIES)]), "pattern": pattern, "line": {"width": 0}},
            hovertemplate="%{x} s: %{y:,.3g} per second<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    fig.update_yaxes(rangemode="tozero")
    counts = ", ".join(f"{name} {count:,}" for name, count in totals.items())
    words = f"Over the whole run, by class: {counts}. "
    words += f'"{RETRIES}" counts each retry. ' if RETRIES in totals else ""
    words += "The table has a sample of each message." if len(kinds) else "No messages were recorded."
    return Chart(
        "errors", "Which errors occurred, and when?", fig, words, kinds if len(kinds) else totals.reset_index()
    )


_MAX_STEPS = 120
"""Steps of time that are drawn; a longer run is drawn in longer steps."""


def latency_heat(bands: pd.DataFrame, window: Window, operation: str, step_s: int, time: str = "service") -> Chart:
    """The share of the operations in each band of latency, at each time.

    Args:
        bands: as ``quantiles.latency_bands`` gives them, not empty.
        window: the measured one; the ramp-up before it is shaded.
        operation: the operation's name.
        step_s: the length of a step in seconds.
        time: ``service`` or ``response``.
    """
    fig = figure("seconds since the start", f"{time} time of {operation} (ms, log)")
    steps = range(int(bands["second"].min()), int(bands["second"].max()) + step_s, step_s)
    rows = range(int(bands["band"].min()), int(bands["band"].max()) + 1)
    cells = bands.pivot_table(index="band", columns="second", values="share").reindex(index=rows, columns=steps)
    ends = [float(f"{10 ** (one / BANDS_PER_DECADE) / 1000:.4g}") for one in (*rows, rows[-1] + 1)]
    shares = [[None if np.isnan(one) else round(float(one), 4) for one in row] for row in cells.to_numpy()]
    fig.add_heatmap(
        z=shares, x=[*steps, steps[-1] + step_s], y=ends, showscale=False, hoverongaps=False,
        colorscale=[[0, colour("heat-low")], [1, colour("heat-high")]],
        hovertemplate="%{x} s: %{z:.1%} took about %{y:,.3r} ms<extra></extra>",
    )  # fmt: skip
    shade_rampup(fig, window.start_us / 1e6, over=True)
    fig.update_yaxes(**log_axis(ends))
    by_band = bands.groupby("band", as_index=False)["n"].sum()
    at = int(by_band.loc[by_band["n"].to_numpy().argmax(), "band"]) - rows[0]
    slow = bands[bands["band"] == rows[-1]]
    low, high, slow_low, slow_high = (number(end, 3) for end in (ends[at], ends[at + 1], ends[-2], ends[-1]))
    words = (
        f"The most common latency of {operation} is {low} to {high} ms; the slowest band, {slow_low} to {slow_high} "
        f"ms, was reached in {slow['second'].nunique()} of {len(steps)} steps of {step_s} s. The stronger the colour "
        "of a cell, the larger its share of the operations of its time."
    )
    table = bands.drop(columns="band").round({"low_ms": 4, "share": 4})
    return Chart("latency_heat", f"When was {operation} slow, and how many of them?", fig, words, table)
