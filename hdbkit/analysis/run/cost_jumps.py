"""Whether operations cost what they cost before: earlier in the run, and in earlier runs of the same configuration.

A changed plan, a lost index or tables that have grown show as a jump: of one operation's latency, or of the pages
and rows that the server reads per operation. Costs that fell are no jump.

A busy host makes all operations slower. So a latency has jumped only if it is far above what the other operations
make of the one before: their median ratio. Within a run the lower end of the interval of the median counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

from hdbkit.analysis.run.counters import is_set_back
from hdbkit.analysis.run.records import Window, table
from hdbkit.analysis.run.server_work import PAGES, SCANNED, WORK, server_work_of
from hdbkit.config import Load
from hdbkit.config.model import has_mark
from hdbkit.errors import DamagedResult
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.readings import ENDS
from hdbkit.results.columns import LATENCY_BUCKETS_US
from hdbkit.results.folder import RunFolder, run_folders
from hdbkit.results.manifest import Manifest, Status
from hdbkit.text import many, number

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
class Jump:
    """A cost that is far above what it was, ``since``: within the run, or in earlier runs."""

    what: str
    before: float
    now: float
    since: str

    def __str__(self) -> str:
        return f"{self.what}: {number(self.now, 3)}, but {number(self.before, 3)} {self.since}"


def jumps_within(folder: RunFolder, manifest: Manifest, window: Window) -> list[Jump] | None:
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
    each = {one.what: one.each for one in server_work_of(result)}
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
