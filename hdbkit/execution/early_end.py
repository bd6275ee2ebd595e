"""Ends a run early: checks the window a few times, from the records in the spools.

A run is bound to what its plan's ``limits`` say. Each limit is a mean over equal parts of the window that may not be
too low; when even the upper end of its running interval is, the rest of the window would change nothing. The rate
that a search requires is in the unit of the metric; only a rate can have one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from hdbkit.plan import Limits, RunPlan
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.spool import Records, SpoolTails, is_committed
from hdbkit.text import share

_P95 = 0.05
"""The share of operations that are slower than the 95 % quantile."""


class EarlyEnd:
    """Checks of a window of ``window_s`` (None: unknown, so there are no checks), opened at ``opened_ns``.

    ``reason`` states why the run ends.
    """

    def __init__(
        self, folder: RunFolder, plan: RunPlan, manifest: Manifest, opened_ns: int, window_s: float | None
    ) -> None:
        self.reason = ""
        self._limits, self._window_s = plan.limits, window_s or math.inf
        is_here = plan.load.cluster is None  # the spools of other load hosts are not read before the end
        self._looks = looks(self._window_s) if window_s and is_here and plan.limits != Limits() else []
        self._metric, self._headline = manifest.metric, manifest.headline
        self._code = manifest.operations.index(manifest.headline)
        self._of_metric = [manifest.operations.index(name) for name in manifest.of_metric]
        self._since = "scheduled_ns" if plan.load.is_open else "start_ns"
        self._opened_ns, self._part_ns = opened_ns, self._window_s * 1e9 / PARTS
        self._spools = SpoolTails(folder.spools)
        self._counted, self._finished, self._failed, self._calls, self._slow = np.zeros((5, PARTS))

    def due(self) -> bool:
        """Whether the run ends now; reads the spools only if a check is due."""
        now_ns = time.monotonic_ns()
        if not self._looks or now_ns < self._opened_ns + self._part_ns * self._looks[0]:
            return False
        parts = self._looks.pop(0)
        for records in self._spools.new(self._opened_ns):
            self._count(records)
        broken = next(self._broken(parts), "")
        if broken:
            self.reason = f"ended early after {parts * self._window_s / PARTS:.3g} s, {broken}"
        return bool(broken)

    def close(self) -> None:
        """Close the spools."""
        self._spools.close()

    def _count(self, records: Records) -> None:
        """Add records to the parts in which they ended."""
        records = records[records["end_ns"] >= self._opened_ns]
        part = ((records["end_ns"] - self._opened_ns) / self._part_ns).astype(int)
        failed = records["outcome"] == Outcome.FAILED
        called = (records["operation"] == self._code) & ~failed
        slower = records["end_ns"] - records[self._since] > 1e6 * (self._limits.abort.latency_p95_ms or 0)
        for series, chosen in (
            (self._counted, is_committed(self._of_metric, records)),
            (self._finished, ~failed),
            (self._failed, failed),
            (self._calls, called),
            (self._slow, called & slower),
        ):
            np.add(series, np.bincount(part[chosen], minlength=PARTS)[:PARTS], out=series)

    def _broken(self, parts: int) -> Iterator[str]:
        """The limits that are broken with a confidence of ``LEVEL``, as phrases."""
        required, rules = self._limits.required, self._limits.abort
        if required is not None:
            value = upper_bound(self._counted[:parts]) * self._metric.per_s * 1e9 / self._part_ns
            if value < required.min_value:
                yield f"at most {share(round(value / required.best_value, 2))} of the fastest so far"
        if rules.failed_share is not None:
            done = self._finished + self._failed
            if upper_bound((rules.failed_share * done - self._failed)[:parts], done[:parts]) < 0:
                yield f"with more than {share(rules.failed_share)} of its operations failed"
        slack = _P95 * self._calls - self._slow
        if rules.latency_p95_ms is not None and upper_bound(slack[:parts], self._calls[:parts]) < 0:
            yield f"with a 95 % quantile of {self._headline} above {rules.latency_p95_ms:g} ms"


# Tests whether a run can still meet its limits, by an interval over the part of the window measured so far.
#
# The interval is made of batch means (Law and Carson, 1979): what has passed is cut into ten equal stretches, whose
# means count as ten independent values, so that seconds that hang together (a stall, a write-back) widen it instead
# of being taken for many. Its upper end is the larger of two: that of all stretches, and that of the later half;
# where the later half is above the first, as while a cache fills, the rise is assumed to continue to the end of the
# window.
#
# A window is looked at a fixed few times, since every look is one more chance to err: at ``LEVEL`` each, all looks of
# a run that is just good enough end it in at most ``len(LOOKS) * (1 - LEVEL)`` = 0.7 % of cases. That holds while
# what hangs together lasts a few hundredths of the window. Slower waves are taken for differences: simulated, with a
# correlation of 0.6, 0.8, 0.95 between parts, a run that is just good enough ends in 0.3, 1.8, 15 % of cases; one
# that is better by the margin that a search leaves (``search.MARGIN``) in 0, 0, 1.1 %.

Floats = NDArray[np.float64]

PARTS = 100
"""Equal parts of a window, in which its events are counted."""
LOOKS = tuple(range(20, 81, 10))
"""The numbers of parts after which a run is checked: not in the first fifth, nor when little can be saved."""
MIN_S = 2.0
"""A shorter stretch may lie wholly within one stall of a server."""
LEVEL = 0.999
"""Of one look's interval, one-sided."""
_STRETCHES = 10


def looks(window_s: float) -> list[int]:
    """The ``LOOKS`` of a window of this many seconds that are late enough; none in a very short one."""
    return [parts for parts in LOOKS if parts * window_s / PARTS >= MIN_S]


def upper_bound(parts: Floats, of: Floats | None = None) -> float:
    """The upper end of the interval for the mean over the window, from its first parts: as many as a look has.

    With ``of``, for the sum of the parts as a share of that of ``of`` (a ratio of two means); infinite without any.
    """
    whole = np.ones(len(parts)) if of is None else of
    values, weights = (one.reshape(_STRETCHES, -1).sum(axis=1) for one in (parts, whole))
    half = _STRETCHES // 2
    first, _ = _interval(values[:half], weights[:half])
    later, highest = _interval(values[half:], weights[half:])
    rise = max(later - first, 0.0)
    ahead = max(PARTS - 1.5 * len(parts), 0.0) / len(parts)  # from the middle of the later half to the window's
    return max(_interval(values, weights)[1], highest + rise * ahead)


def _interval(values: Floats, weights: Floats) -> tuple[float, float]:
    """The ratio of two sums, and the upper end of its interval; 0 and infinite where nothing is to divide by."""
    total = float(weights.sum())
    if not total:
        return 0.0, math.inf
    ratio = float(values.sum()) / total
    error = float((values - ratio * weights).std(ddof=1)) * math.sqrt(len(values)) / total
    return ratio, ratio + float(scipy.special.stdtrit(len(values) - 1, LEVEL)) * error
