"""Ends a run early: checks the window a few times, from the records in the spools.

A run is bound to what its plan's ``limits`` say. Each limit is a mean over equal parts of the window that may not be
too low; when even the upper end of its running interval is, the rest of the window would change nothing. The rate
that a search requires is in the unit of the metric; only a rate can have one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from hdbkit.analysis.statistics.batch_means import PARTS, looks, upper_bound
from hdbkit.later import numpy as np
from hdbkit.plan import RunLimits, RunPlan
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
        self._looks = looks(self._window_s) if window_s and is_here and plan.limits != RunLimits() else []
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
