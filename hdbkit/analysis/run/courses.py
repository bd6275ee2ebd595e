"""What a sweep's runs keep beside their result: the course of each over its seconds, and its exact latencies.

Read from ``seconds.parquet`` and from the manifests, never from single operations, so that a hundred runs of any
length take about a second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hdbkit.analysis.run.quantiles import QUANTILES
from hdbkit.analysis.run.records import window_of
from hdbkit.analysis.run.timeline import committed_by_second
from hdbkit.errors import DamagedResult
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import TimedOperation

_MAX_STEPS = 120
"""Points of a course; longer runs have steps of more than a second."""
OUTLINE = 30
"""Points of a course that is drawn as wide as a word."""
COURSE_COLUMNS = ("run_id", "second", "rate", "inside")


def readable(folders: Sequence[RunFolder]) -> list[tuple[RunFolder, Manifest]]:
    """Each folder with its manifest; damaged ones are passed over."""
    found = []
    for folder in folders:
        try:
            found.append((folder, folder.read()))
        except DamagedResult:
            continue
    return found


def courses(runs: Sequence[tuple[RunFolder, Manifest]]) -> pd.DataFrame:
    """``metric.rate`` of each run up to the end of its window: run_id, second, rate, inside (of the window).

    All runs have the same steps; ``second`` is the first of a step, and one that is cut by the window's start is not
    inside. A run that kept no seconds, or has no whole step in its window, is left out.
    """
    known = [(folder, manifest) for folder, manifest in runs if _has_window(manifest)]
    longest_s = max((window_of(manifest).end_us / 1e6 for _, manifest in known), default=0.0)
    step_s = max(1, math.ceil(longest_s / _MAX_STEPS))
    parts = [part for folder, manifest in known if (part := _course(folder, manifest, step_s)) is not None]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(COURSE_COLUMNS))


def outline(folder: RunFolder) -> list[float]:
    """The course of a run's window in at most ``OUTLINE`` steps, for a drawing of a few pixels; empty: unknown."""
    course = courses(readable([folder]))
    rates = course.loc[course["inside"].astype(bool), "rate"].to_numpy(dtype=float)
    return [float(part.mean()) for part in np.array_split(rates, min(OUTLINE, len(rates)))] if len(rates) else []


def _has_window(manifest: Manifest) -> bool:
    try:
        window_of(manifest)
    except DamagedResult:
        return False
    return True


def _course(folder: RunFolder, manifest: Manifest, step_s: int) -> pd.DataFrame | None:
    window = window_of(manifest)
    steps = int(window.end_us / 1e6 + 0.05) // step_s  # a window ends some milliseconds early; that second is whole
    try:
        by_second = committed_by_second(folder, manifest)
    except DamagedResult:
        return None
    first = [step * step_s for step in range(steps)]
    inside = [second * 1_000_000 >= window.start_us - 50_000 for second in first]
    if by_second is None or not any(inside):
        return None
    seconds = by_second.reindex(range(steps * step_s), fill_value=0).to_numpy().reshape(steps, step_s)
    rate = seconds.sum(axis=1) * manifest.metric.rate.per_s / step_s
    return pd.DataFrame({"run_id": manifest.run_id, "second": first, "rate": rate, "inside": inside})


def latencies(manifests: Sequence[Manifest]) -> pd.DataFrame:
    """The exact service times of each run and operation: run_id, operation, p50_us ... p999_us (NaN: unknown).

    Where configurations alternate within runs, of each configuration, with ``configuration``.
    """
    names = [f"{name}_us" for name in QUANTILES]
    rows = [
        {"run_id": manifest.run_id, **keys, "operation": operation, **{name: getattr(line, name) for name in names}}
        for manifest in manifests
        for keys, operations in _operations(manifest)
        for operation, line in operations.items()
        if line.p50_us is not None
    ]
    found = pd.DataFrame(rows, columns=["run_id", *_places(manifests), "operation", *names])
    return found.astype(dict.fromkeys(names, float))


def _operations(manifest: Manifest) -> list[tuple[dict[str, int], Mapping[str, TimedOperation]]]:
    """The figures of operations of a run, or of each of its configurations."""
    if manifest.result is None:
        return []
    if slices := manifest.result.slices:
        return [({"configuration": one.configuration}, one.operations) for one in slices.configurations]
    return [({}, manifest.result.operations)]


def _places(manifests: Sequence[Manifest]) -> list[str]:
    return ["configuration"] if any(one.result and one.result.slices for one in manifests) else []
