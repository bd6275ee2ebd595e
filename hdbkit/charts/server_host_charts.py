"""What the database's host did along a run, as its agent reported: processors, disks, network.

Frames are those of :mod:`hdbkit.analysis.run.server_host`; ``use`` is what its ``server_host_use`` found in the
window, None where that is not known.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go

from hdbkit.analysis.run.records import Window
from hdbkit.analysis.run.server_host import (
    CPU_WORDS,
    busy_pct,
    cpu_course,
    disks_course,
    network_course,
    of_load_host,
    server_host_use,
)
from hdbkit.charts.chart import Chart
from hdbkit.charts.style import MAX_COLOURED, PATTERNS, SERIES, colour, figure, series, shade_rampup
from hdbkit.results.run_result import ServerHostUse
from hdbkit.text import number, size_text

_STACKED = tuple(part for part in CPU_WORDS if part != "idle")
"""The parts of the CPU time that are stacked."""
_HATCHED = {"fillmode": "overlay", "solidity": 0.2}
_UNKNOWN = "No data for the window: the agent did not answer."


def server_host_charts(samples: pd.DataFrame | None, window: Window) -> list[Chart]:
    """The charts of the table ``server_host`` of a run that its readings allow; none without it."""
    if samples is None or samples["t_us"].nunique() < 2:
        return []
    use = server_host_use(samples, window)
    cpu, disks, network = cpu_course(samples), disks_course(samples), network_course(samples)
    charts = [processors(cpu, window, use)] if len(cpu) else []
    charts += [busy_disks(disks, window, use)] if len(disks.columns) > 1 else []
    return charts + ([network_rates(network, window, use)] if len(network.columns) > 1 else [])


def load_host_charts(host: pd.DataFrame | None, window: Window) -> list[Chart]:
    """The processors of the load host; none where it was sampled less than twice."""
    if host is None or len(host) < 2:
        return []
    samples = of_load_host(host)
    course, use = cpu_course(samples), server_host_use(samples, window)
    made = processors(course, window, use) if len(course) else None
    return [replace(made, key="host_cpu", question="What did the load host's processors do?")] if made else []


def processors(course: pd.DataFrame, window: Window, use: ServerHostUse | None) -> Chart:
    """The CPU time of the host by its parts, stacked."""
    fig = figure("seconds since the start", "share of all cores' time (%)")
    shade_rampup(fig, window.start_us / 1e6, name_at="top left", over=True)
    for index, part in enumerate(one for one in _STACKED if one in course):
        ink = colour(SERIES[index])
        fig.add_scatter(
            x=course["second"].round(2).tolist(), y=course[part].round(2).tolist(), mode="lines", stackgroup="cpu",
            name=CPU_WORDS[part], line={"color": ink, "width": 1}, fillcolor=ink, opacity=0.75,
            fillpattern={"shape": PATTERNS[index], "fgcolor": colour("shade"), **_HATCHED},
            hovertemplate="%{x:.0f} s: %{y:.1f} %<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    fig.update_yaxes(range=[0, 103], ticksuffix=" %")
    return Chart("server_cpu", "What did the database host's processors do?", fig, _cpu_words(use), course.round(2))


def busy_disks(course: pd.DataFrame, window: Window, use: ServerHostUse | None) -> Chart:
    """How much of the time each disk was busy."""
    fig = figure("seconds since the start", "time in which the disk was busy (%)", showlegend=True)
    shade_rampup(fig, window.start_us / 1e6, name_at="top left")
    _lines(fig, course, "%{x:.0f} s: %{y:.1f} %")
    fig.update_yaxes(range=[0, 103], ticksuffix=" %")
    figures = [
        f"{name} was busy {one['busy_pct']:.0f} % of the time, with {one.get('reads_per_s', 0):,.0f} reads and "
        f"{one.get('writes_per_s', 0):,.0f} writes per second ({_megabytes(one.get('read_bytes_per_s', 0))} read, "
        f"{_megabytes(one.get('write_bytes_per_s', 0))} written)"
        for name, one in (use.disks.items() if use else ())
        if "busy_pct" in one
    ]
    words = _inside(figures, "no disk was busy", use)
    if any(one.get("busy_pct", 0) > 0 for one in (use.disks.values() if use else ())):
        words += " A disk that serves several requests at once may do more even at 100 %."
    return Chart("server_disks", "How busy were the database host's disks?", fig, words, course.round(2))


def network_rates(course: pd.DataFrame, window: Window, use: ServerHostUse | None) -> Chart:
    """What each network interface sent and received."""
    fig = figure("seconds since the start", "MB per second", showlegend=True)
    shade_rampup(fig, window.start_us / 1e6, name_at="top left")
    _lines(fig, course, "%{x:.0f} s: %{y:.3g} MB/s")
    fig.update_yaxes(rangemode="tozero")
    figures = [
        f"{name} sent {_megabytes(one.get('sent_bytes_per_s', 0))} and received "
        f"{_megabytes(one.get('received_bytes_per_s', 0))}"
        for name, one in (use.networks.items() if use else ())
    ]
    words = _inside(figures, "its networks were idle", use)
    question = "How much did the database host's network carry?"
    return Chart("server_network", question, fig, words, course.round(4))


def _lines(fig: go.Figure, course: pd.DataFrame, hover: str) -> None:
    for index, name in enumerate(course.columns[1 : 1 + MAX_COLOURED]):
        look = series(index)
        fig.add_scatter(
            x=course["second"].round(2).tolist(), mode="lines", name=name,
            y=[None if pd.isna(one) else round(float(one), 4) for one in course[name]],
            line={"color": look["color"], "dash": look["dash"], "width": 2},
            hovertemplate=f"{hover}<extra>%{{fullData.name}}</extra>",
        )  # fmt: skip


def _cpu_words(use: ServerHostUse | None) -> str:
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
    return words


def _inside(figures: list[str], nothing: str, use: ServerHostUse | None) -> str:
    return f"In the window {'; '.join(figures) or nothing}." if use else _UNKNOWN


def _megabytes(rate: float) -> str:
    return f"{number(rate / 1e6, 3)} MB/s"
