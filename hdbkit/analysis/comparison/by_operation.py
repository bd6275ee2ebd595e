"""Two groups of runs against each other, operation by operation, where the metric is a mean over operations.

What is replicated is the same as for the metric (``sides``). The noise of all operations is judged together
(``statistics.moderation``), so that few blocks suffice. The intervals of all operations hold together: the error rate
is divided by their number (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.replication import BASE, NEW, replication
from hdbkit.analysis.comparison.sides import Compared, judged_ratio, over_counts, scored
from hdbkit.analysis.run.executions import mean_times_s
from hdbkit.analysis.statistics.moderation import judged_variances
from hdbkit.analysis.statistics.two_samples import Floats, Sample, half_widths
from hdbkit.config.metric import Metric
from hdbkit.results.manifest import Manifest

COLUMNS = ("operation", "base", "new", "ratio", "low", "high", "verdict", "sentence")
_UNKNOWN = {"ratio": math.nan, "low": math.nan, "high": math.nan, "verdict": "undecided"}


def compared_by_operation(
    runs: pd.DataFrame, manifests: Sequence[Manifest], metric: Metric, overall: Compared, confidence: float = 0.95
) -> pd.DataFrame:
    """The comparison of each operation.

    Args:
        runs: a row per run, as ``sessions.runs_of`` returns them.
        manifests: those of the runs.
        metric: that of the runs.
        overall: the comparison of the metric.
        confidence: the probability that all intervals hold.

    Returns:
        A row per operation: ``operation``, ``base`` and ``new`` (s, geometric means of runs), ``ratio`` of scores,
        ``low`` and ``high`` (simultaneous; NaN where nothing is replicated), ``verdict``, ``sentence``. Empty if the
        metric is no mean over operations.
    """
    times = mean_times_s(manifests) if metric.by_operation else pd.DataFrame()
    metrics = {str(name): metric.of_operation(str(name)) for name in times}
    values = {name: runs.assign(metric_value=runs["run_id"].map(times[name])) for name in metrics}
    known = {name: found.dropna(subset=["metric_value"]) for name, found in values.items()}
    both = {name: scored(found, metrics[name]) for name, found in known.items() if {BASE, NEW} <= set(found["side"])}
    samples = _moderated({name: over_counts(replication(found)) for name, found in both.items()})
    level = 1 - (1 - confidence) / max(len(times.columns), 1)
    rows = []
    for name, found in known.items():
        means = np.exp(np.log(found["metric_value"]).groupby(found["side"]).mean())
        head = {"operation": name, BASE: means.get(BASE, math.nan), NEW: means.get(NEW, math.nan)}
        if name in both:
            plain = both[name].groupby("side")["score"].mean()
            estimate, half = _contrast(samples[name], float(plain[NEW] - plain[BASE]), level)
            judge = partial(judged_ratio, metrics[name], overall.advice, overall.smallest_effect, confidence)
            rows.append(head | vars(judge(overall.design.words, NEW, estimate, half)))
        else:
            lacking = " or ".join(side for side in (BASE, NEW) if side not in set(found["side"]))
            why = f"undecided: no run of {lacking} completed {name}"
            rows.append(head | _UNKNOWN | {"sentence": why})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _contrast(samples: Sequence[Sample], plain: float, level: float) -> tuple[float, float]:
    """New - base, and the half width of its interval: NaN where only the means of runs are known."""
    if not samples:
        return plain, math.nan
    estimate = float(samples[0].means[0] - (samples[1].means[0] if len(samples) > 1 else 0))
    return (plain if math.isnan(estimate) else estimate), float(half_widths(samples, level)[0])


def _moderated(units: dict[str, list[Floats]]) -> dict[str, list[Sample]]:
    """The samples of each operation, with variances that are judged over all operations of the same side."""
    made = {name: [Sample.of(values) for values in sides] for name, sides in units.items()}
    for side in range(max(map(len, made.values()), default=0)):
        here = [name for name, found in made.items() if len(found) > side and found[side].df > 0]
        if not here:
            continue
        own, df = (np.array([getattr(made[name][side], what) for name in here]) for what in ("variance", "df"))
        variances, judged = judged_variances(own, df, _residuals([units[name][side] for name in here]))
        for name, variance, freedom in zip(here, variances.tolist(), judged.tolist(), strict=True):
            made[name][side] = replace(made[name][side], variance=variance, df=freedom)
    return made


def _residuals(values: Sequence[Floats]) -> Floats:
    """What the units of each operation differ from their mean, (units, operations); 0 where there are fewer."""
    found = np.zeros((max(map(len, values)), len(values)))
    for place, one in enumerate(values):
        found[: len(one), place] = one[:, 0] - one.mean()
    return found
