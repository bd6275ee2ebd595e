"""The view of a run while it lasts: read from the spools, so that watching costs the clients nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from hdbkit.errors import DamagedResult
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.spool import Records, SpoolReader


@dataclass(frozen=True)
class Tick:
    """What happened since the last look. Rates are a minute (``nopm``) or a second."""

    status: Status
    elapsed_s: float
    nopm: float
    transactions_per_s: float
    counted: str
    """The transaction of which ``nopm`` counts."""
    p50_us: dict[str, float] = field(default_factory=dict)
    p95_us: dict[str, float] = field(default_factory=dict)
    p99_us: dict[str, float] = field(default_factory=dict)
    failed: int = 0
    retries: int = 0


class LiveView:
    """Looks at a running run; every ``tick`` reads what is new."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._readers: dict[str, SpoolReader] = {}
        self._looked_ns: int | None = None

    def tick(self) -> Tick:
        """What happened since the last look, or since the start."""
        manifest, now = self._folder.read(), time.monotonic_ns()
        start_ns = manifest.clock.start_monotonic_ns if manifest.clock else now
        since_ns = self._looked_ns or start_ns
        pieces = self._new_records()
        self._looked_ns = now
        seconds = max((now - since_ns) / 1e9, 1e-6)
        return _tick(manifest, pieces, max(now - start_ns, 0) / 1e9, seconds)

    def close(self) -> None:
        """Let go of the spools."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def _new_records(self) -> list[Records]:
        for path in self._folder.spools.glob("*.spool"):
            if path.name not in self._readers:
                try:
                    self._readers[path.name] = SpoolReader(path)
                except (DamagedResult, OSError):
                    continue
        return [piece for reader in self._readers.values() if (piece := reader.read()).size]


def _tick(manifest: Manifest, pieces: list[Records], elapsed_s: float, seconds: float) -> Tick:
    if not pieces:
        return Tick(manifest.status, elapsed_s, 0.0, 0.0, manifest.counted)
    records = np.concatenate(pieces)
    latency_us = (records["end_ns"] - records["start_ns"]) / 1000
    kept = records["outcome"] != Outcome.FAILED
    counted = manifest.transactions.index(manifest.counted)
    committed = (records["outcome"] == Outcome.COMMITTED) & (records["transaction"] == counted)
    quantiles: dict[float, dict[str, float]] = {0.5: {}, 0.95: {}, 0.99: {}}
    for code, name in enumerate(manifest.transactions):
        own = latency_us[kept & (records["transaction"] == code)]
        for q, found in quantiles.items():
            if own.size:
                found[name] = float(np.quantile(own, q))
    return Tick(
        manifest.status,
        elapsed_s,
        float(committed.sum()) * 60 / seconds,
        float(kept.sum()) / seconds,
        manifest.counted,
        quantiles[0.5],
        quantiles[0.95],
        quantiles[0.99],
        int((~kept).sum()),
        int(records["retries"].sum()),
    )
