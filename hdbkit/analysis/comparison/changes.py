"""The changes of a comparison in one list: the metric, and each latency, with their intervals."""

from __future__ import annotations

import pandas as pd

from hdbkit.analysis.comparison.sides import Ratio
from hdbkit.config.metric import Better, Metric

_NAMES = {"p50_us": "p50", "p95_us": "p95", "p99_us": "p99"}


def changes(figures: pd.DataFrame, ratio: Ratio, metric: Metric) -> pd.DataFrame:
    """Columns figure, ratio, low, high, lower_is_better, judged: new over base, of figures that have an interval.

    ``judged`` is ``better`` or ``worse`` where the interval excludes 1, else ``not shown``. Empty where nothing is
    replicated.

    Args:
        figures: a row per figure with base, new, change, low, high, as ``api.Comparison.table`` has them.
        ratio: that of the metric's scores.
        metric: the metric of the runs.
    """
    lower = metric.better is Better.LOWER
    ends = [float(metric.from_score(one)) for one in (ratio.ratio, ratio.low, ratio.high)]
    rows = [(metric.name, ends[0], min(ends[1:]), max(ends[1:]), lower)]
    for name, row in figures.iterrows():
        operation, _, quantile = str(name).rpartition(" ")
        if quantile in _NAMES:
            rows.append((f"{operation} {_NAMES[quantile]}", 1 + row["change"], 1 + row["low"], 1 + row["high"], True))
    columns = ["figure", "ratio", "low", "high", "lower_is_better"]
    found = pd.DataFrame(rows, columns=columns).dropna(ignore_index=True)
    up, down = found["low"] > 1, found["high"] < 1
    better = (up & ~found["lower_is_better"]) | (down & found["lower_is_better"])
    judged = pd.Series("not shown", index=found.index).mask(up | down, "worse").mask(better, "better")
    return found.assign(judged=judged)
