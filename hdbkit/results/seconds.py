"""Counts and latency histograms by second and operation, accumulated in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hdbkit.later import numpy as np
from hdbkit.results.columns import LATENCY_BUCKETS_US, Outcome
from hdbkit.results.spool import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BUCKETS = len(LATENCY_BUCKETS_US) + 1
_SUMMED = ("committed", "rolled_back", "failed", "retries", "latency_us_sum")


class Seconds:
    """Accumulates the table ``seconds``. Memory grows with the number of seconds, not of operations."""

    def __init__(self, operations: int) -> None:
        self._operations = operations
        self._sums = np.zeros((0, len(_SUMMED)), np.int64)
        self._histogram = np.zeros((0, _BUCKETS), np.int64)

    def add(self, records: Records, start_ns: int) -> None:
        """Add records; ``start_ns`` is the run's start on the monotonic clock."""
        second = np.maximum(records["end_ns"] - start_ns, 0) // 1_000_000_000
        row = (second * self._operations + records["operation"]).astype(np.int64)
        self._reach(int(row.max()) + 1)
        latency_us = (records["end_ns"] - records["start_ns"]) // 1000
        for column, weight in enumerate(self._weights(records, latency_us)):
            self._sums[:, column] += np.bincount(row, weight, len(self._sums)).astype(np.int64)
        bucket = np.searchsorted(LATENCY_BUCKETS_US, latency_us)
        cells = np.bincount(row * _BUCKETS + bucket, minlength=self._histogram.size)
        self._histogram += cells.reshape(self._histogram.shape)

    @staticmethod
    def _weights(records: Records, latency_us: NDArray[np.int64]) -> list[NDArray[Any]]:
        outcome = records["outcome"]
        by_outcome = [outcome == o for o in (Outcome.COMMITTED, Outcome.ROLLED_BACK_BY_DESIGN, Outcome.FAILED)]
        return [*by_outcome, records["retries"], latency_us]

    def _reach(self, rows: int) -> None:
        missing = -(-rows // self._operations) * self._operations - len(self._sums)
        if missing > 0:
            self._sums = np.vstack([self._sums, np.zeros((missing, len(_SUMMED)), np.int64)])
            self._histogram = np.vstack([self._histogram, np.zeros((missing, _BUCKETS), np.int64)])

    def columns(self) -> dict[str, Any]:
        """The table as columns, without rows that have no operations."""
        kept = np.flatnonzero(self._sums[:, :3].sum(axis=1))
        columns: dict[str, Any] = {"second": kept // self._operations, "operation": kept % self._operations}
        columns |= {name: self._sums[kept, i] for i, name in enumerate(_SUMMED)}
        columns["histogram"] = self._histogram[kept].tolist()
        return columns
