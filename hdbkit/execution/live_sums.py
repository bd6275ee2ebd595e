"""Counts and latencies of a moment, small enough to be sent: what the live view knows of clients here and elsewhere.

Latencies are counted in buckets that are 2 % wide, so live quantiles are exact to 1 %; those of the result are exact.
With several load hosts the supervisor adds up what they report, a line per second in a file of the run folder, which
watchers read.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.files import JsonLines, opened_file
from hdbkit.later import numpy as np
from hdbkit.results.columns import Outcome
from hdbkit.results.manifest import Manifest
from hdbkit.results.spool import Records

_QUANTILES = (0.5, 0.95, 0.99)
_PER_E = 50
"""Buckets while a latency grows by the factor e."""
_FILE = "live.ndjson"


class Sums:
    """What was completed: by operation the numbers committed, kept, failed and retried, and the latencies."""

    def __init__(self) -> None:
        self._by_operation: dict[int, Counter[str]] = {}

    def add(self, records: Records, is_paced: bool) -> None:
        """Add records of a spool."""
        latency_us = (records["end_ns"] - records["scheduled_ns" if is_paced else "start_ns"]) / 1000
        buckets = np.rint(_PER_E * np.log(np.maximum(latency_us, 1))).astype(int)
        # np.unique without counts imports numpy.ma, which takes 5 MB of the command line
        for code in np.unique(records["operation"], return_counts=True)[0]:
            own = records["operation"] == code
            kept = own & (records["outcome"] != Outcome.FAILED)
            found = self._by_operation.setdefault(int(code), Counter())
            found["committed"] += int((own & (records["outcome"] == Outcome.COMMITTED)).sum())
            found["failed"] += int((own & ~kept).sum())
            found["retries"] += int(records["retries"][own].sum())
            numbers, counts = np.unique(buckets[kept], return_counts=True)
            found.update({str(number): int(n) for number, n in zip(numbers, counts, strict=True)})

    def include(self, sent: Mapping[str, Mapping[str, int]]) -> None:
        """Add sums as they were sent."""
        for code, found in sent.items():
            self._by_operation.setdefault(int(code), Counter()).update(found)

    @property
    def sent(self) -> dict[str, dict[str, int]]:
        """The sums as they are sent."""
        return {str(code): dict(found) for code, found in self._by_operation.items()}

    def figures(self, manifest: Manifest, seconds: float) -> dict[str, Any]:
        """Rates and quantiles of this many seconds, as fields of a tick."""
        counted = {manifest.operations.index(name) for name in manifest.of_metric}
        committed = sum(found["committed"] for code, found in self._by_operation.items() if code in counted)
        latencies = {code: _latencies(found) for code, found in self._by_operation.items()}
        by_name = {manifest.operations[code]: _quantiles(found) for code, found in latencies.items() if found}
        p50_us, p95_us, p99_us = ({name: each[i] for name, each in by_name.items()} for i in range(3))
        return {
            "metric_value": committed * manifest.metric.rate.per_s / seconds,
            "operations_per_s": sum(sum(found.values()) for found in latencies.values()) / seconds,
            "p50_us": p50_us,
            "p95_us": p95_us,
            "p99_us": p99_us,
            "failed": sum(found["failed"] for found in self._by_operation.values()),
            "retries": sum(found["retries"] for found in self._by_operation.values()),
        }


def _latencies(found: Mapping[str, int]) -> dict[int, int]:
    return {int(name): n for name, n in found.items() if name.isdigit()}


def _quantiles(latencies: Mapping[int, int]) -> list[float]:
    numbers = sorted(latencies)
    reached = np.cumsum([latencies[number] for number in numbers])
    places = np.searchsorted(reached, np.array(_QUANTILES) * reached[-1])
    return [math.exp(numbers[min(int(place), len(numbers) - 1)] / _PER_E) for place in places]


class LiveLines:
    """The supervisor's end: a line per second."""

    def __init__(self, spools: Path) -> None:
        self._lines = JsonLines(spools / _FILE)

    def add(self, at_ns: int, sums: Sums, cpu_s: float, errors: str = "") -> None:
        """Write what the hosts reported; ``cpu_s`` is the CPU time of their clients since the line before."""
        worked = any(found.get("committed") for found in sums.sent.values())
        self._lines.try_to_add({"at_ns": at_ns, "sums": sums.sent, "cpu_s": cpu_s, "worked": worked, "error": errors})


class LiveTail:
    """The watcher's end: what the newest lines contain; the same again until there is a new one."""

    def __init__(self, spools: Path) -> None:
        self._path, self._offset, self._read_ns = spools / _FILE, 0, 0
        self.sums, self.seconds, self.cpu_s, self.worked_ns, self.error = Sums(), 1.0, math.nan, 0, ""

    def read(self, since_ns: int) -> None:
        """Read the new lines; at the first time only those since ``since_ns``."""
        fresh = [line for line in self._new_lines() if line["at_ns"] >= since_ns or self._read_ns]
        if not fresh:
            return
        self.seconds = max((fresh[-1]["at_ns"] - (self._read_ns or fresh[0]["at_ns"] - 1_000_000_000)) / 1e9, 1e-6)
        self._read_ns, self.sums = fresh[-1]["at_ns"], Sums()
        for line in fresh:
            self.sums.include(line["sums"])
        self.cpu_s = sum(line["cpu_s"] for line in fresh)
        self.error = next((line["error"] for line in reversed(fresh) if line["error"]), "")
        self.worked_ns = max([self.worked_ns, *(line["at_ns"] for line in fresh if line["worked"])])

    def _new_lines(self) -> list[dict[str, Any]]:
        found = []
        with suppress(FileNotFoundError), os.fdopen(opened_file(self._path), "rb") as file:
            file.seek(self._offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                self._offset += len(raw)
                found.append(json.loads(raw))
        return found
