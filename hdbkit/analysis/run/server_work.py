"""What the server did in the window, by its own counters: log, pages, locks; per operation and in all.

Engines count different things under names of their own. A figure is there where the engine counts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.run.counters import END, START, is_set_back
from hdbkit.analysis.run.records import Window, table
from hdbkit.config import Load
from hdbkit.config.model import has_mark
from hdbkit.errors import DamagedResult
from hdbkit.readings import ENDS, LAG
from hdbkit.results.columns import LATENCY_BUCKETS_US
from hdbkit.results.folder import RunFolder, run_folders
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.run_result import FullPageRates, Lag, RunResult
from hdbkit.text import many, number

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
MIN_S = 10.0
"""The shortest run whose parts are compared."""
_PARTS = 5
_MIN_OPERATIONS = 10
"""The minimum number of operations in a part, for a median of their latencies."""
_LATENCY = "median latency of {} (ms)"
_SURE_OF_MEDIAN = 3.1
"""Standard errors from a median to the lower end of its interval: 0.1 % are below it."""
_EARLIER, _EARLIER_READ = 5, 50
"""At most this many earlier runs are compared, of at most so many that are read."""
_LEAST = {PAGES: (3.0, 20.0), SCANNED: (3.0, 100.0)}
_LEAST_MS = (4.0, 2.0)
"""A cost has jumped when it is at least this many times, and this much, above what it was."""
_OF_A_RUN_ALONE = frozenset(name for name, field in Load.model_fields.items() if has_mark(field, "of_a_run_alone"))
"""Options of a load that do not change what an operation costs the server, as long as no user waits for another."""
Costs = dict[str, float]
"""Costs by their names: the median latency of each operation, and what the server reads per operation."""


@dataclass(frozen=True)
class Work:
    """Something that the server counted: how much in the window, and per operation (None: none was completed)."""

    what: str
    total: float
    each: float | None


def work_of(result: RunResult) -> list[Work]:
    """What the server of a result did, in the order of ``WORK``; empty where it was not read."""
    counted, completed = result.counters, result.completed
    found = ((what, _total(counted, names)) for what, names in WORK.items())
    return [Work(what, total, total / completed if completed else None) for what, total in found if total is not None]


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


# Whether operations cost what they cost before: earlier in the run, and in earlier runs of the same configuration.
#
# A changed plan, a lost index or tables that have grown show as a jump: of one operation's latency, or of the pages
# and rows that the server reads per operation. Costs that fell are no jump.
#
# A busy host makes all operations slower. So a latency has jumped only if it is far above what the other operations
# make of the one before: their median ratio. Within a run the lower end of the interval of the median counts.


@dataclass(frozen=True)
class Jump:
    """A cost that is far above what it was, ``since``: within the run, or in earlier runs."""

    what: str
    before: float
    now: float
    since: str

    def __str__(self) -> str:
        return f"{self.what}: {number(self.now, 3)}, but {number(self.before, 3)} {self.since}"


def within(folder: RunFolder, manifest: Manifest, window: Window) -> list[Jump] | None:
    """The costs that are higher in the last part of the run than in an earlier one; None if it is too short.

    None also where users execute lists, whose parts consist of unlike operations.
    The run counts from when all users have started to the end of its window.
    """
    begin_us = max([phase.end_us or 0 for phase in manifest.phases if phase.name == "starts"], default=0)
    if manifest.one_by_one or window.end_us - begin_us < MIN_S * 1e6:
        return None
    edges_us = np.linspace(begin_us, window.end_us, _PARTS + 1)
    seconds, counters = table(folder, "seconds"), table(folder, "counters")
    costs = {} if seconds is None else _latencies(seconds, manifest.operations, edges_us / 1e6)
    costs |= {what: _per_operation(counters, WORK[what], edges_us) for what in _LEAST}
    found = ((what, [one for one in series[:-1] if one is not None], series[-1]) for what, series in costs.items())
    return jumps(
        {what: (min(before), now) for what, before, now in found if before and now is not None}, "earlier in the run"
    )


def against_earlier(folder: RunFolder, manifest: Manifest) -> tuple[list[Jump], int]:
    """The costs that are higher than in earlier runs, and with how many of these the run was compared."""
    now, earlier = _costs(manifest), list(islice(_earlier(folder, manifest), _EARLIER))
    before = {what: median(known) for what in now if (known := [costs[what] for costs in earlier if what in costs])}
    since = f"in {many(len(earlier), 'earlier run')}"
    return jumps({what: (before[what], now[what]) for what in before}, since), len(earlier)


def jumps(costs: Mapping[str, tuple[float, float]], since: str) -> list[Jump]:
    """The costs of which the second value is far above the first."""
    found = []
    ratios = {what: now / before for what, (before, now) in costs.items() if what not in _LEAST and before}
    for what, (before, now) in costs.items():
        times, more = _LEAST.get(what, _LEAST_MS)
        others = [ratio for other, ratio in ratios.items() if other != what]
        busy = max(median(others), 1.0) if others and what not in _LEAST else 1.0
        if now >= times * busy * before and now - busy * before >= more:
            found.append(Jump(what, before, now, since))
    return found


def _latencies(seconds: pd.DataFrame, operations: Sequence[str], edges_s: Any) -> dict[str, list[float | None]]:
    """The median latency of each operation in each part, in ms, to the precision of the histogram.

    That of the last part is the lower end of its interval.
    """
    upper_ms = np.array([*LATENCY_BUCKETS_US, 2 * LATENCY_BUCKETS_US[-1]]) / 1000
    part = np.searchsorted(edges_s, seconds["second"].to_numpy(dtype=float) + 0.5, "right") - 1
    found: dict[str, list[float | None]] = {}
    for code, name in enumerate(operations):
        medians: list[float | None] = []
        for index in range(_PARTS):
            rows = seconds["histogram"][(part == index) & (seconds["operation"] == code)]
            counts = np.sum(np.stack(rows.to_list()), axis=0) if len(rows) else np.zeros(1)
            enough = counts.sum() >= _MIN_OPERATIONS
            below = counts.sum() / 2 - (_SURE_OF_MEDIAN * counts.sum() ** 0.5 / 2 if index == _PARTS - 1 else 0)
            middle = int(np.searchsorted(np.cumsum(counts), max(below, 1)))
            medians.append(float(upper_ms[middle]) if enough else None)
        found[_LATENCY.format(name)] = medians
    return found


def _per_operation(
    counters: pd.DataFrame | None, alternatives: Sequence[Sequence[str]], edges_us: Any
) -> list[float | None]:
    """What the server counted in each part, per transaction that ended there; None where it is unknown."""
    unknown: list[float | None] = [None] * _PARTS
    if counters is None:
        return unknown
    names = next((names for names in alternatives if set(names) <= set(counters["name"])), None)
    ends = [name for name in ENDS if name in set(counters["name"])]
    if names is None or not ends or any(is_set_back(counters, name) for name in (*names, *ends)):
        return unknown
    done = totals(counters, ends, edges_us)
    read = totals(counters, names, edges_us)
    return [float(more / n) if n >= _MIN_OPERATIONS else None for more, n in zip(read, done, strict=True)]


def totals(counters: pd.DataFrame, names: Sequence[str], edges_us: Any) -> Any:
    """The growth of these counters together in each part, in a straight line between their samples."""
    at_edges = 0.0
    for name in names:
        rows = counters[counters["name"] == name].sort_values("t_returned_us")
        middle_us = (rows["t_sent_us"] + rows["t_returned_us"]) / 2
        at_edges = at_edges + np.interp(edges_us, middle_us, rows["value"])
    return np.diff(at_edges)


def _costs(manifest: Manifest) -> Costs:
    """The costs in the window of a run."""
    result = manifest.measured
    costs = {
        _LATENCY.format(name): line.p50_us / 1000
        for name, line in result.operations.items()
        if line.p50_us is not None and line.count >= _MIN_OPERATIONS
    }
    each = {one.what: one.each for one in work_of(result)}
    return costs | {what: cost for what in _LEAST if (cost := each.get(what)) is not None}


def _earlier(folder: RunFolder, manifest: Manifest) -> Iterator[Costs]:
    """The costs in earlier runs of the same configuration, newest first; latencies only of equally many users."""
    own = _configuration(manifest)
    ids = (one for one in run_folders(folder.path.parent) if one.run_id < folder.run_id)
    for one in islice(ids, _EARLIER_READ):
        try:
            other = one.read()
        except DamagedResult:
            continue
        if other.status is Status.DONE and other.result and _configuration(other) == own:
            same_users = _users(other) == _users(manifest)
            yield {what: cost for what, cost in _costs(other).items() if same_users or what in _LEAST}


def _configuration(manifest: Manifest) -> tuple[Any, ...]:
    """What must be equal in two runs for the same costs: server, schema, mix, load and settings."""
    plan, target = manifest.plan, manifest.plan.target
    address = (target.kind, target.host, target.port, target.database, target.options)
    load = plan.load.model_dump(exclude=set(_OF_A_RUN_ALONE))
    return address, plan.workload, manifest.mix, load, plan.experiment.settings if plan.experiment else {}


def _users(manifest: Manifest) -> tuple[int, int]:
    load = manifest.plan.load
    return load.sessions, len(load.clients[0])
