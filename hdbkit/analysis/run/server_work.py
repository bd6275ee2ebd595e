"""What the server did in the window, by its own counters: log, pages, locks; per operation and in all.

Engines count different things under names of their own. A figure is there where the engine counts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hdbkit.analysis.run.counters import END, START
from hdbkit.later import pandas as pd
from hdbkit.readings import ENDS, LAG
from hdbkit.results.run_result import FullPageRates, Lag, RunResult

WAITING = "waiting_locks"
"""The gauge that counts sessions which wait for a lock of another."""
_RATES_FROM = 0.25
"""The share of the window, at its beginning and at its end, that a rate is taken over."""
_READ = (("blks_read",), ("pages_read",))
_REQUESTED = (("blks_hit", "blks_read"), ("page_requests",))
PAGES, SCANNED, READ = "pages requested", "rows read by full scans", "pages read from files"
SPILLED = "temporary files (bytes)"
_WAITED = {"lock": "locks", "log": "the log", "disk": "files", "latch": "latches"}
WORK: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "log written (bytes)": (("wal_bytes",), ("log_bytes",)),
    "log records": (("wal_records",),),
    "full-page images in the log": (("wal_fpi",),),
    PAGES: _REQUESTED,
    SCANNED: (("scanned_rows",),),
    READ: _READ,
    "pages evicted from the cache": (("evictions",),),
    "writes to files": (("file_writes",), ("pages_flushed",)),
    "of these by the sessions themselves": (("client_writes",),),
    "waits for row locks": (("row_lock_waits",),),
    "time waited for row locks (ms)": (("row_lock_time_ms",),),
    **{f"time waited for {what} (ms)": ((f"waited_{name}_ms",),) for name, what in _WAITED.items()},
    "log switches": (("log_switches",),),
    "time waited for log switches (ms)": (("waited_log_switches_ms",),),
    "deadlocks": (("deadlocks",),),
    SPILLED: (("temp_bytes",),),
    "checkpoints": (("checkpoints",),),
    "automatic vacuums": (("autovacuums",),),
}
"""Each figure with the counters that make it, summed: the first of the alternatives that the engine keeps."""
OF_STATEMENTS: Mapping[str, str] = {
    "calls": "executions", "time_ms": "time (ms)", "rows": "rows", "rows_read": "rows read", "pages": "pages",
    "pages_from_files": "pages read from files", "log_bytes": "bytes of log", "cpu_user_ms": "user CPU (ms)",
    "cpu_system_ms": "system CPU (ms)", "disk_read_bytes": "bytes read from disks",
    "disk_written_bytes": "bytes written to disks",
}  # fmt: skip
"""What is counted of each statement, in words."""


@dataclass(frozen=True)
class _Work:
    """Something that the server counted: how much in the window, and per operation (None: none was completed)."""

    what: str
    total: float
    each: float | None


def server_work_of(result: RunResult) -> list[_Work]:
    """What the server of a result did, in the order of ``WORK``; empty where it was not read."""
    counted, completed = result.counters, result.completed
    found = ((what, _total(counted, names)) for what, names in WORK.items())
    return [
        _Work(what, total, total / completed if completed else None) for what, total in found if total is not None
    ]


def found_in_cache_pct(result: RunResult) -> float | None:
    """The share of requested pages that the server's own cache had, in percent."""
    asked, read = _total(result.counters, _REQUESTED), _total(result.counters, _READ)
    return 100 * (1 - read / asked) if asked and read is not None else None


def _total(counted: Mapping[str, float], alternatives: tuple[tuple[str, ...], ...]) -> float | None:
    return next((sum(counted[one] for one in names) for names in alternatives if set(names) <= set(counted)), None)


def mean_waiting(counters: pd.DataFrame | None) -> float | None:
    """The mean number of sessions that waited for a lock in the samples of the window; None if not sampled."""
    seen = _inside(counters, WAITING)
    return float(seen.mean()) if len(seen) else None


def replication_lag(counters: pd.DataFrame | None) -> Lag | None:
    """The mean and the maximum of a standby's lag in the samples of the window, in seconds; None if not sampled."""
    seen = _inside(counters, LAG)
    return Lag(mean=float(seen.mean()), max=float(seen.max())) if len(seen) else None


def full_page_rates(counters: pd.DataFrame | None) -> FullPageRates | None:
    """Full-page images per operation in the first and in the last quarter of the window, or a little more of it.

    None where the server counts none, or was read too seldom.
    """
    images = _inside(counters, "wal_fpi")
    if len(images) < 3:
        return None
    done = sum((_inside(counters, name) for name in ENDS), pd.Series(0.0, images.index))
    if len(done) != len(images):
        return None
    first_us, last_us = images.index[0], images.index[-1]
    quarter_us = _RATES_FROM * (last_us - first_us)
    near = images.index[images.index >= first_us + quarter_us][0]
    far = images.index[images.index <= last_us - quarter_us][-1]
    rates = {}
    for name, begin, end in (("first", first_us, near), ("last", far, last_us)):
        operations = float(done[end] - done[begin])
        if operations <= 0:
            return None
        rates[name] = float(images[end] - images[begin]) / operations
    return FullPageRates(**rates)


def _inside(counters: pd.DataFrame | None, name: str) -> pd.Series[float]:
    """A counter's values from edge to edge of the window, by the time of the answer; empty without both edges.

    The edges are those of all counters: a gauge is missing at an edge at which it was not known yet.
    """
    empty = pd.Series(dtype=float)
    rows = None if counters is None else counters[counters["name"] == name]
    if counters is None or rows is None or rows.empty:
        return empty
    start, end = (counters.loc[counters["edge"] == edge, "t_returned_us"] for edge in (START, END))
    if not len(start) or not len(end):
        return empty
    values: pd.Series[float] = rows.set_index("t_returned_us").sort_index().loc[start.min() : end.max(), "value"]
    return values
