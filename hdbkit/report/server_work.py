"""What the server did, and how the data grew, as tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hdbkit.analysis.run.host import CPU_WORDS
from hdbkit.analysis.run.host_activity import INTERRUPTS, busy_pct
from hdbkit.analysis.run.records import table, window_of
from hdbkit.analysis.run.server_work import OF_STATEMENTS, found_in_cache_pct, server_work_of
from hdbkit.analysis.run.timeline import statements_by_step
from hdbkit.analysis.sweep.warnings import data_by_block
from hdbkit.later import pandas as pd
from hdbkit.report.tables import UNKNOWN, CourseCell, Table, cell, course_step_s, frame_table
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import HostUse, RunResult
from hdbkit.text import number, size_text

TITLE = "What the server did"
_MEMORY = {
    "memory_used_bytes": "memory in use",
    "memory_cached_bytes": "memory that holds files",
    "swap_used_bytes": "swap in use",
}
_OF_THREADS = {
    "pressure_pct": "some task waited for a core (% of the time)",
    "io_pressure_pct": "some task waited for a disk (% of the time)",
    "memory_pressure_pct": "some task waited for memory (% of the time)",
    "threads_running": "threads that ran or were ready to run",
    "threads_blocked": "threads that waited for a disk",
    "tcp_sockets": "TCP connections",
    "tcp_time_wait_sockets": "TCP connections in TIME_WAIT",
    "numa_other_pct": "new pages of another memory node (%)",
    "reading_ms_per_s": "CPU time of reading these figures (ms per second)",
}
_OF_DEVICES = {
    "busy_pct": "busy (% of the time)",
    "reads_per_s": "reads per second",
    "writes_per_s": "writes per second",
    "read_bytes_per_s": "bytes read per second",
    "write_bytes_per_s": "bytes written per second",
    "requests": "requests at a time",
    "request_ms": "ms per request",
    "sent_bytes_per_s": "bytes sent per second",
    "received_bytes_per_s": "bytes received per second",
}
_STATEMENTS, STATEMENTS_STEP_S = 20, 10
"""Statements that are listed, and how often the server is asked for their totals."""
_COMPARED = (
    *("log written (bytes)", "full-page images in the log", "pages read from files", "writes to files"),
    *("time waited for row locks (ms)", "deadlocks"),
)
"""What a sweep compares."""


def server_work(manifest: Manifest) -> list[Table]:
    """What the server did in the window, per operation and in all; none where it counts only its commits."""
    result = manifest.measured
    rows = [
        [one.what, UNKNOWN if one.each is None else number(one.each), number(one.total)]
        for one in server_work_of(result)
    ]
    for what, share in (
        ("found in the server's cache (%)", found_in_cache_pct(result)),
        ("sessions that wait for a lock, on average", result.waiting_locks),
    ):
        rows += [[what, "", number(share)]] if share is not None else []
    if lag := result.replication_lag_s:
        rows.append(["replication lag, mean and maximum (s)", "", f"{number(lag.mean)}, {number(lag.max)}"])
    data = result.data
    if data and data.bytes_before:
        rows.append(["size of the data before the run", "", size_text(data.bytes_before)])
        after = data.bytes_after
        rows += [["size of the data after it", "", size_text(after)]] if after else []
    head = ["by its own counters", f"per {manifest.noun}", "in the window"]
    return [Table(TITLE, head, rows, [False, True, True])] if rows else []


def statements_work(folder: RunFolder, manifest: Manifest) -> list[Table]:
    """What each statement did in the window, those that took the most time; none where the server keeps no counts."""
    rows, done = table(folder, "statements"), manifest.measured.completed
    if rows is None or rows.empty or not done:
        return []
    most = rows.nlargest(_STATEMENTS, "time_ms")
    names = [name for name in OF_STATEMENTS if most[name].notna().any()]
    words = {name: f"{OF_STATEMENTS[name]} per {manifest.noun}" for name in names}
    found = frame_table((most[names] / done).rename(columns=words).assign(statement=most["text"]), "Statements")
    step_s = max(course_step_s(window_of(manifest).end_us), STATEMENTS_STEP_S)
    grown = statements_by_step(folder, manifest, step_s, names)
    series = [grown.get(one, [[]] * (len(names) + 1)) for one in most["statement"]]
    course = CourseCell(step_s, series, [(at, at + 1, 0, 1.0) for at in range(len(names))])
    return [replace(found, course=course if grown else None)]


def hosts_work(result: RunResult) -> list[Table]:
    """What the load host did in the window, and the database's host as its agent reported."""
    hosts = {"load host": result.load_host, "database's host": result.server_host}
    found = {host: _of_host(use) for host, use in hosts.items() if use}
    head, numeric = ["mean over the window", "value"], [False, True]
    return [Table(f"What the {host} did", head, rows, numeric) for host, rows in found.items()]


def _of_host(use: HostUse) -> list[list[str]]:
    rows = [[f"CPU: {CPU_WORDS[part]} (%)", number(share)] for part, share in (use.cpu_pct or {}).items()]
    known = {name: getattr(use, name) for name in (*_OF_THREADS, *_MEMORY)}
    rows += [[what, number(known[name])] for name, what in _OF_THREADS.items() if known[name] is not None]
    rows += [
        [f"{what} per second", number(use.per_s[name])] for name, what in INTERRUPTS.items() if use.per_s.get(name)
    ]
    rows += [[what, size_text(known[name])] for name, what in _MEMORY.items() if known[name] is not None]
    for device, figures in {**use.disks, **use.networks}.items():
        rows += [[f"{device}: {_OF_DEVICES[name]}", number(value)] for name, value in figures.items()]
    return rows


def work_by_configuration(manifests: Sequence[Manifest], labels: Mapping[int, str]) -> list[Table]:
    """What the server did per operation in each configuration and count of virtual users: means over its runs.

    None where configurations alternate within runs, since counters are those of whole runs.
    """
    of_one = [one for one in manifests if one.plan.experiment and not one.plan.slices]
    rows = [_of_run(manifest, labels) for manifest in of_one]
    frame = pd.DataFrame(rows)
    known = [name for name in frame.columns[3:] if frame[name].notna().any()]
    if not known:
        return []
    keys = ["order", "configuration", "virtual users"]
    means = frame.groupby(keys, sort=True)[known].mean().reset_index().drop(columns="order")
    return [frame_table(means, f"{TITLE}, per {manifests[0].noun}")]


def _of_run(manifest: Manifest, labels: Mapping[int, str]) -> dict[str, Any]:
    result, planned = manifest.measured, manifest.plan.experiment
    assert planned is not None
    each = {one.what: one.each for one in server_work_of(result)}
    return {
        "order": planned.configuration,
        "configuration": labels.get(planned.configuration, UNKNOWN),
        "virtual users": manifest.plan.load.virtual_users,
        **{what: each.get(what) for what in _COMPARED},
        "found in the server's cache (%)": found_in_cache_pct(result),
        **_host_columns(result.server_host),
    }


def _host_columns(use: HostUse | None) -> dict[str, float | None]:
    """How busy the database's host was, as an agent reported."""
    shares = use and use.cpu_pct
    disks = [disk["busy_pct"] for disk in use.disks.values() if "busy_pct" in disk] if use else []
    return {
        "CPU of its host (% busy)": busy_pct(shares) if shares else None,
        "busiest disk (% of the time)": max(disks, default=None),
    }


def growth_table(manifests: Sequence[Manifest]) -> list[Table]:
    """The size of the data that each block of a sweep began and ended with, and the growth of its schema's count."""
    rows = [
        [
            cell(row["block"]),
            _known(size_text, row["bytes_before"]),
            _known(size_text, row["bytes_after"]),
            _known(cell, row["counted_after"] - row["counted_before"]),
        ]
        for row in data_by_block(manifests).to_dict("records")
    ]
    head = ["block", "data before its first run", "data after its last run", "growth of the schema's count"]
    return [Table("Growth of the data", head, rows, [True] * 4)] if rows else []


def _known(text: Any, value: float) -> str:
    return UNKNOWN if pd.isna(value) else str(text(value))
