"""A run along its time, from its first second on: throughput, and the marks that explain its dips."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit.analysis.run.records import operations_of, table
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest


def throughput(folder: RunFolder, manifest: Manifest, step_s: int = 1) -> pd.DataFrame:
    """Columns second, nopm, failed: the counted transaction a minute and failures a second, over the whole run.

    Each row stands for ``step_s`` seconds from ``second`` on; a last, incomplete step is left out. These are
    the clients' counts: they show the course of a run, its result is the schema's.
    """
    step_us = step_s * 1_000_000
    step = f"(t_end_us // {step_us})::INTEGER"
    counted = manifest.operations.index(manifest.headline)
    with operations_of(folder) as rows:
        found = rows.aggregate(
            f"{step} AS step, max(t_end_us)::BIGINT AS last_us, "
            f"count(*) FILTER (operation = {counted} AND outcome = {Outcome.COMMITTED.value})::BIGINT AS orders, "
            f"count(*) FILTER (outcome = {Outcome.FAILED.value})::BIGINT AS failed",
            step,
        ).fetchnumpy()
    steps = int(found["last_us"].max()) // step_us if len(found["step"]) else 0
    orders, failed = np.zeros(steps + 1), np.zeros(steps + 1)
    orders[found["step"]], failed[found["step"]] = found["orders"], found["failed"]
    seconds = np.arange(steps) * step_s
    return pd.DataFrame(
        {"second": seconds, "metric_value": orders[:steps] * 60 / step_s, "failed": failed[:steps] / step_s}
    )


def committed_by_second(folder: RunFolder, manifest: Manifest) -> pd.Series[int] | None:
    """The counted transaction's commits by second of the run, from the small table of seconds; None without one."""
    seconds = table(folder, "seconds")
    if seconds is None:
        return None
    counted = seconds[seconds["operation"] == manifest.operations.index(manifest.headline)]
    return counted.groupby("second")["committed"].sum()


def marks_s(folder: RunFolder, name: str) -> list[float]:
    """When a sample first showed that a counter had grown, from the run's start on, in seconds since then."""
    counters = table(folder, "counters")
    if counters is None:
        return []
    total = counters[counters["name"] == name].set_index("t_returned_us")["value"].sort_index()
    return [float(at) / 1e6 for at in total.index[total.diff() > 0] if at > 0]
