"""What the load host or the database's host did along a run: processors, threads, interrupts, disks, network.

Frames are those of :mod:`hdbkit.analysis.run.host_activity`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hdbkit.analysis.run.host import CPU_WORDS
from hdbkit.analysis.run.host_activity import (
    INTERRUPTS,
    busy_pct,
    cores_course,
    cpu_course,
    disks_course,
    host_use,
    interrupts_course,
    network_course,
    threads_course,
)
from hdbkit.analysis.run.records import Window
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import (
    MAX_COLOURED,
    PATTERNS,
    SERIES,
    add_line,
    along_run,
    colour,
    figure,
    log_axis,
    shade_rampup,
)
from hdbkit.later import graph_objects as go
from hdbkit.later import pandas as pd
from hdbkit.results.run_result import HostUse
from hdbkit.text import number, size_text

_STACKED = tuple(part for part in CPU_WORDS if part != "idle")
"""The parts of the CPU time that are stacked."""
_HATCHED = {"fillmode": "overlay", "solidity": 0.2}
_UNKNOWN = "No data for the window."
_STEPS = 120
"""Steps of time of the map of cores."""
_BUSY_PCT, _APART_PCT = 90.0, 20.0
"""Cores are drawn where one of them was this busy while another was less busy by so much."""
_MIN_BUSY_PCT, _MIN_MB_PER_S = 5.0, 0.1
"""Disks and networks are drawn where one of them reaches that."""
_SOFT_DRAWN = 3
"""The kinds of soft interrupts that are drawn: the most frequent."""


@dataclass(frozen=True)
class _Host:
    """A host that is drawn: the beginning of the keys of its charts, its name, and what it did in the window."""

    key: str
    name: str
    window: Window
    use: HostUse | None
    """None where that is not known."""


def host_charts(host: pd.DataFrame | None, window: Window, key: str, name: str) -> list[Chart]:
    """The charts of a host that its readings allow, and in which there is something to see; none without two."""
    if host is None or len(host) < 2:
        return []
    of = _Host(key, name, window, host_use(host, window))
    disks, network = disks_course(host), network_course(host)
    charts = _processor_charts(host, of)
    charts += [busy_disks(disks, of)] if _reaches(disks, _MIN_BUSY_PCT) else []
    return charts + ([network_rates(network, of)] if _reaches(network, _MIN_MB_PER_S) else [])


def _reaches(course: pd.DataFrame, least: float) -> bool:
    """Whether some device did as much at some time."""
    return bool((course.drop(columns="second") >= least).any().any())


def _processor_charts(host: pd.DataFrame, of: _Host) -> list[Chart]:
    """What a host's processors did; cores where one was busy and others were not, threads where some waited."""
    cpu, cores = cpu_course(host), cores_course(host)
    threads, interrupts = threads_course(host), interrupts_course(host)
    number_of_cores = max(len(cores.columns) - 1, 1)
    charts = [processors(cpu, of)] if len(cpu) else []
    if len(cores) and _is_uneven(cores, of.window):
        charts.append(busy_cores(cores, of))
    if "threads_running" in threads and threads["threads_running"].max() > number_of_cores:
        charts.append(run_queue(threads, number_of_cores, of))
    return charts + ([switches(interrupts, of)] if len(interrupts.columns) > 1 else [])


def _is_uneven(course: pd.DataFrame, window: Window) -> bool:
    cores = course[course["second"].between(window.start_us / 1e6, window.end_us / 1e6)].drop(columns="second")
    most, least = cores.max(axis=1), cores.min(axis=1)
    return bool(((most >= _BUSY_PCT) & (most - least >= _APART_PCT)).any())


def processors(course: pd.DataFrame, of: _Host) -> Chart:
    """The CPU time of the host by its parts, stacked."""
    fig = along_run(of.window.start_us / 1e6, "share of all cores' time (%)", name_at="top left", over=True)
    for index, part in enumerate(one for one in _STACKED if one in course):
        ink = colour(SERIES[index])
        fig.add_scatter(
            x=course["second"].round(2).tolist(), y=course[part].round(2).tolist(), mode="lines", stackgroup="cpu",
            name=CPU_WORDS[part], line={"color": ink, "width": 1}, fillcolor=ink, opacity=0.75,
            fillpattern={"shape": PATTERNS[index], "fgcolor": colour("shade"), **_HATCHED},
            hovertemplate="%{x:.0f} s: %{y:.1f} %<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    fig.update_yaxes(range=[0, 103], ticksuffix=" %")
    return Chart(
        f"{of.key}_cpu", f"What did the {of.name}'s processors do?", fig, _cpu_words(of.use), course.round(2)
    )


def busy_cores(course: pd.DataFrame, of: _Host) -> Chart:
    """How busy each core was at each time; the table has the means of the window."""
    step_s = max(1, math.ceil(float(course["second"].max()) / _STEPS))
    steps = course.groupby(course["second"] // step_s * step_s).mean().drop(columns="second")
    starts = range(int(steps.index.min()), int(steps.index.max()) + step_s, step_s)
    cells = steps.reindex(starts).T
    fig = figure("seconds since the start", "core", height=min(200 + 24 * len(cells), 520))
    fig.add_heatmap(
        z=[[None if pd.isna(one) else round(float(one)) for one in row] for row in cells.to_numpy()],
        x=[*starts, starts[-1] + step_s], y=[core - 0.5 for core in range(len(cells) + 1)], zmin=0, zmax=100,
        showscale=False, hoverongaps=False, colorscale=[[0, colour("heat-low")], [1, colour("heat-high")]],
        hovertemplate="%{x} s: core %{y} was %{z} % busy<extra></extra>",
    )  # fmt: skip
    shade_rampup(fig, of.window.start_us / 1e6, over=True)
    fig.update_yaxes(tickformat="d", **({"dtick": 1} if len(cells) <= 16 else {}))
    means = {"busy (%)": of.use.cores_busy_pct, "interrupts (%)": of.use.cores_interrupts_pct} if of.use else {}
    table = pd.DataFrame(means).rename_axis("core").reset_index()
    return Chart(f"{of.key}_cores", f"Is one core of the {of.name} the limit?", fig, _cores_words(of.use), table)


def run_queue(course: pd.DataFrame, cores: int, of: _Host) -> Chart:
    """The threads that ran or were ready to run at each reading, and those that waited for a disk."""
    names = {"threads_running": "running, or ready to run", "threads_blocked": "waiting for a disk"}
    drawn = course.rename(columns=names)
    fig = along_run(of.window.start_us / 1e6, "threads", showlegend=True, name_at="top left")
    _lines(fig, drawn, "%{x:.0f} s: %{y:,.0f}")
    fig.add_hline(cores, line_color=colour("muted"), line_dash="dash", annotation_text=f"{cores} cores")
    fig.update_yaxes(rangemode="tozero")
    inside = course[course["second"].between(of.window.start_us / 1e6, of.window.end_us / 1e6)]["threads_running"]
    words = _UNKNOWN
    if of.use and of.use.threads_running is not None and len(inside):
        more = 100 * float((inside > cores).mean())
        words = (
            f"In the window {number(of.use.threads_running, 2)} threads ran or were ready to run on average, on "
            f"{cores} cores; in {more:.0f} % of the readings there were more of them than cores, so some waited. "
            f"{number(of.use.threads_blocked or 0.0, 2)} waited for a disk."
        )
    return Chart(f"{of.key}_threads", f"Did threads wait for a core of the {of.name}?", fig, words, drawn.round(2))


def switches(course: pd.DataFrame, of: _Host) -> Chart:
    """Context switches and interrupts per second, and the most frequent kinds of soft interrupts."""
    soft = [name for name in course if str(name).startswith("soft_interrupts_")]
    most = course[soft].mean().sort_values(ascending=False, kind="stable")
    drawn = ["context_switches", "interrupts", *[name for name, rate in most.items() if rate > 0][:_SOFT_DRAWN]]
    fig = along_run(of.window.start_us / 1e6, "per second (log)", showlegend=True, name_at="top left")
    words = {name: INTERRUPTS[str(name)] for name in course if name != "second"}
    lines = course[["second", *(name for name in drawn if name in course)]]
    _lines(fig, lines.where(lines > 0).rename(columns=words), "%{x:.0f} s: %{y:,.0f} per second")
    fig.update_yaxes(**log_axis(y for line in fig.data for y in line.y if y))
    rates = of.use.per_s if of.use else {}
    listed = ", ".join(f"{INTERRUPTS[one]} {number(rates[one], 3)}" for one in INTERRUPTS if rates.get(one))
    text = f"Per second of the window: {listed}." if listed else _UNKNOWN
    question = f"How often did threads of the {of.name} switch, and what interrupted them?"
    return Chart(f"{of.key}_switches", question, fig, text, course.rename(columns=words).round(1))


def busy_disks(course: pd.DataFrame, of: _Host) -> Chart:
    """How much of the time each disk was busy."""
    fig = along_run(
        of.window.start_us / 1e6, "time in which the disk was busy (%)", showlegend=True, name_at="top left"
    )
    _lines(fig, course, "%{x:.0f} s: %{y:.1f} %")
    fig.update_yaxes(range=[0, 103], ticksuffix=" %")
    figures = [
        f"{name} was busy {one['busy_pct']:.0f} % of the time, with {one.get('reads_per_s', 0):,.0f} reads and "
        f"{one.get('writes_per_s', 0):,.0f} writes per second ({_megabytes(one.get('read_bytes_per_s', 0))} read, "
        f"{_megabytes(one.get('write_bytes_per_s', 0))} written), {number(one.get('requests', 0), 2)} at a time"
        for name, one in (of.use.disks.items() if of.use else ())
        if "busy_pct" in one
    ]
    words = _inside(figures, "no disk was busy", of.use)
    if any(one.get("busy_pct", 0) > 0 for one in (of.use.disks.values() if of.use else ())):
        words += " A disk that serves several requests at once may do more even at 100 %."
    return Chart(f"{of.key}_disks", f"How busy were the {of.name}'s disks?", fig, words, course.round(2))


def network_rates(course: pd.DataFrame, of: _Host) -> Chart:
    """What each network interface sent and received."""
    fig = along_run(of.window.start_us / 1e6, "MB per second", showlegend=True, name_at="top left")
    _lines(fig, course, "%{x:.0f} s: %{y:.3g} MB/s")
    fig.update_yaxes(rangemode="tozero")
    figures = [
        f"{name} sent {_megabytes(one.get('sent_bytes_per_s', 0))} and received "
        f"{_megabytes(one.get('received_bytes_per_s', 0))}"
        for name, one in (of.use.networks.items() if of.use else ())
    ]
    words = _inside(figures, "its networks were idle", of.use)
    question = f"How much did the {of.name}'s network carry?"
    return Chart(f"{of.key}_network", question, fig, words, course.round(4))


def _lines(fig: go.Figure, course: pd.DataFrame, hover: str) -> None:
    for index, name in enumerate(course.columns[1 : 1 + MAX_COLOURED]):
        y = [None if pd.isna(one) else round(float(one), 4) for one in course[name]]
        add_line(fig, index, course["second"].round(2).tolist(), y, name, f"{hover}<extra>%{{fullData.name}}</extra>")


def _cpu_words(use: HostUse | None) -> str:
    shares = use.cpu_pct if use else None
    if not use or not shares:
        return _UNKNOWN
    figures = ", ".join(f"{shares[part]:.1f} % {CPU_WORDS[part]}" for part in _STACKED if part in shares)
    words = f"In the window its processors were {busy_pct(shares):.0f} % busy: {figures}."
    if use.pressure_pct is not None:
        words += f" Some task waited for a core {use.pressure_pct:.0f} % of the time."
    if use.memory_used_bytes is not None:
        words += f" In memory {size_text(use.memory_used_bytes)} were in use"
        cached = f", and {size_text(use.memory_cached_bytes)} held files" if use.memory_cached_bytes else ""
        words += f"{cached}."
    if use.reading_ms_per_s is not None:
        words += f" Reading these figures took {number(use.reading_ms_per_s, 2)} ms of CPU time per second."
    return words


def _cores_words(use: HostUse | None) -> str:
    busy = use.cores_busy_pct if use else []
    if not use or not busy:
        return _UNKNOWN
    core = busy.index(max(busy))
    others = [one for at, one in enumerate(busy) if at != core]
    inside = use.cores_interrupts_pct[core] if len(use.cores_interrupts_pct) > core else 0.0
    return (
        f"In the window the busiest core, {core}, was {busy[core]:.0f} % busy ({inside:.0f} % with interrupts), and "
        f"the others {min(others):.0f} to {max(others):.0f} %. A stronger colour is a busier core."
    )


def _inside(figures: list[str], nothing: str, use: HostUse | None) -> str:
    return f"In the window {'; '.join(figures) or nothing}." if use else _UNKNOWN


def _megabytes(rate: float) -> str:
    return f"{number(rate / 1e6, 3)} MB/s"
