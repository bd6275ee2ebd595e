"""Two groups of runs against each other, figure by figure: times of operations, and quantiles of latencies.

What is replicated is the same as for the metric (``sides``). The noise of all figures is judged together
(``statistics.moderation``), so that few blocks suffice. The intervals of all figures hold together: the error rate is
divided by their number (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from hdbkit.analysis.comparison.replication import BASE, NEW, Replication, replication
from hdbkit.analysis.comparison.sides import Compared, judged_ratio, over_counts, scored
from hdbkit.analysis.run.executions import mean_times_s
from hdbkit.analysis.statistics.moderation import judged_variances
from hdbkit.analysis.statistics.two_samples import Floats, Sample, half_widths
from hdbkit.config.metric import Measure, Metric
from hdbkit.results.manifest import Manifest

_COLUMNS = ("figure", "base", "new", "ratio", "low", "high", "verdict", "sentence")
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
    found = _compared_each(
        runs, times, {str(name): metric.of_operation(str(name)) for name in times}, overall, confidence
    )
    return found.rename(columns={"figure": "operation"})


def compared_quantiles(
    runs: pd.DataFrame, latencies_us: pd.DataFrame, overall: Compared, confidence: float = 0.95
) -> pd.DataFrame:
    """The comparison of quantiles of latencies, whose sampling error within a run is part of the noise of runs.

    Args:
        runs: a row per run, as ``sessions.runs_of`` returns them.
        latencies_us: by run id, a column for each quantile; NaN where a run has none.
        overall: the comparison of the metric.
        confidence: the probability that all intervals hold.

    Returns:
        By figure, the name of a column: ``low`` and ``high``, the relative change of the latency from base to new
        (simultaneous; -0.2: 20 % less; NaN where nothing is replicated).
    """
    known = latencies_us.where(latencies_us > 0)
    metrics = {
        str(name): Metric(name="latency", title=str(name), unit="us", measure=Measure.QUANTILE) for name in known
    }
    found = _compared_each(runs, known, metrics, overall, confidence).set_index("figure")
    return pd.DataFrame({"low": 1 / found["high"] - 1, "high": 1 / found["low"] - 1})


def _compared_each(
    runs: pd.DataFrame, figures: pd.DataFrame, metrics: Mapping[str, Metric], overall: Compared, confidence: float
) -> pd.DataFrame:
    """The comparison of each column of ``figures``, which are by run id."""
    values = {name: runs.assign(metric_value=runs["run_id"].map(figures[name])) for name in metrics}
    known = {name: found.dropna(subset=["metric_value"]) for name, found in values.items()}
    both = {name: scored(found, metrics[name]) for name, found in known.items() if {BASE, NEW} <= set(found["side"])}
    samples = _moderated({name: replication(found) for name, found in both.items()})
    level = 1 - (1 - confidence) / max(len(metrics), 1)
    rows = []
    for name, found in known.items():
        means = np.exp(np.log(found["metric_value"]).groupby(found["side"]).mean())
        head = {"figure": name, BASE: means.get(BASE, math.nan), NEW: means.get(NEW, math.nan)}
        if name in both:
            plain = both[name].groupby("side")["score"].mean()
            estimate, half = _contrast(samples[name], float(plain[NEW] - plain[BASE]), level)
            judge = partial(judged_ratio, metrics[name], overall.advice, overall.smallest_effect, confidence)
            rows.append(head | vars(judge(overall.design.words, NEW, estimate, half)))
        else:
            lacking = " or ".join(side for side in (BASE, NEW) if side not in set(found["side"]))
            why = f"undecided: no run of {lacking} completed {name}"
            rows.append(head | _UNKNOWN | {"sentence": why})
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _contrast(samples: Sequence[Sample], plain: float, level: float) -> tuple[float, float]:
    """New - base, and the half width of its interval: NaN where only the means of runs are known."""
    if not samples:
        return plain, math.nan
    estimate = float(samples[0].means[0] - (samples[1].means[0] if len(samples) > 1 else 0))
    return (plain if math.isnan(estimate) else estimate), float(half_widths(samples, level)[0])


def _moderated(designs: Mapping[str, Replication]) -> dict[str, list[Sample]]:
    """The samples of each operation, with variances that are judged over all operations of the same side."""
    units = {name: over_counts(design) for name, design in designs.items()}
    made = {name: [designs[name].sample(values) for values in sides] for name, sides in units.items()}
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
    for position, one in enumerate(values):
        found[: len(one), position] = one[:, 0] - one.mean()
    return found
