"""Two groups of runs against each other, operation by operation, where the metric is a mean over operations.

Each ratio is made as that of the metric (``sides``). The intervals of all operations hold together: the error rate is
divided by their number (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.run.executions import mean_times_s
from hdbkit.config.metric import Metric
from hdbkit.results.manifest import Manifest

COLUMNS = ("operation", "base", "new", "ratio", "low", "high", "verdict", "sentence")


def compared_by_operation(
    runs: pd.DataFrame,
    manifests: Sequence[Manifest],
    metric: Metric,
    smallest_effect: float = 0.02,
    confidence: float = 0.95,
    command: str = "",
) -> pd.DataFrame:
    """The comparison of each operation.

    Args:
        runs: a row per run, as ``sessions.runs_of`` returns them.
        manifests: those of the runs.
        metric: that of the runs.
        smallest_effect: the smallest relevant relative difference.
        confidence: the probability that all intervals hold.
        command: as for ``sides.compared``.

    Returns:
        A row per operation: ``operation``, ``base`` and ``new`` (s, geometric means of runs), ``ratio`` of scores,
        ``low`` and ``high`` (simultaneous; NaN where nothing is replicated), ``verdict``, ``sentence``. Empty if the
        metric is no mean over operations.
    """
    times = mean_times_s(manifests) if metric.by_operation else pd.DataFrame()
    level = 1 - (1 - confidence) / max(len(times.columns), 1)
    rows = []
    for name in times:
        of_operation = metric.of_operation(str(name))
        known = runs.assign(metric_value=runs["run_id"].map(times[name])).dropna(subset=["metric_value"])
        means = np.exp(np.log(known["metric_value"]).groupby(known["side"]).mean())
        head = {"operation": name, BASE: means.get(BASE, math.nan), NEW: means.get(NEW, math.nan)}
        rows.append(head | _ratio(known, of_operation, smallest_effect, confidence, level, command))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _ratio(
    runs: pd.DataFrame, metric: Metric, smallest_effect: float, confidence: float, level: float, command: str
) -> dict[str, Any]:
    lacking = [side for side in (BASE, NEW) if side not in set(runs["side"])]
    if lacking:
        why = f"undecided: no run of {' or '.join(lacking)} completed {metric.name}"
        return {"ratio": math.nan, "low": math.nan, "high": math.nan, "verdict": "undecided", "sentence": why}
    return vars(compared(runs, metric, smallest_effect, confidence, command, level).ratio)
