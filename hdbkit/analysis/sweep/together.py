"""Several figures of the same runs: verdicts on them that hold together, and throughput against latency.

The noise of all figures is judged together (``block_model.judged_variances``). The error rate of one look is divided
by the number of figures (Bonferroni), and within each by Dunnett's intervals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hdbkit.analysis.run.records import mean_times_s
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.block_model import BlockModel, usable
from hdbkit.analysis.statistics.variances import judged_variances
from hdbkit.analysis.sweep.observations import sliced
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Measure, Metric
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Latencies, TimedOperation


@dataclass(frozen=True)
class Figure:
    """A figure of each run: ``values`` are in the order of the runs, NaN where it is not known."""

    names: Mapping[str, str]
    metric: Metric
    values: Sequence[float]


def judged_together(
    runs: pd.DataFrame, figures: Sequence[Figure], smallest_effect: float = 0.02, level: float = CONFIDENCE
) -> pd.DataFrame:
    """The verdicts on each figure: the columns of ``verdicts.judge``, after those of ``Figure.names``.

    ``runs``, ``smallest_effect`` and ``level`` as for ``judge``. Empty without figures.
    """
    at = 1 - (1 - level) / max(len(figures), 1)
    of_figures = [runs.assign(metric_value=pd.Series(one.values, runs.index, dtype="float64")) for one in figures]
    fitted = [BlockModel.fitted(values, one.metric) for values, one in zip(of_figures, figures, strict=True)]
    models = _moderated(fitted, of_figures)
    parts = []
    for figure, values, model in zip(figures, of_figures, models, strict=True):
        judged = judge(values, figure.metric, 0, smallest_effect, at, model=model)
        parts.append(pd.concat([pd.DataFrame(dict(figure.names), judged.index), judged], axis=1))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _moderated(models: Sequence[BlockModel], of_figures: Sequence[pd.DataFrame]) -> list[BlockModel]:
    """The models of all figures, each with the noise that is judged over all of them."""
    found = list(models)
    noisy = [position for position, one in enumerate(models) if one.df > 0 and one.noise > 0]
    if not noisy:
        return found
    residuals = np.zeros((len(of_figures[0]), len(noisy)))
    for column, position in enumerate(noisy):
        rows = of_figures[position].index.get_indexer(usable(of_figures[position]).index)
        residuals[rows, column] = models[position].residuals
    own, df = np.array([[models[position].noise ** 2, models[position].df] for position in noisy]).T
    for position, more, worth in zip(noisy, *_factors(own, df, residuals), strict=True):
        one = models[position]
        variances, cell_df = one.variances * more, one.cell_df * worth
        found[position] = replace(one, variances=variances, cell_df=cell_df, df=round(one.df * worth))
    return found


def _factors(own: Floats, df: Floats, residuals: Floats) -> tuple[list[float], list[float]]:
    """How many times its own the variance of each figure is judged to be, and its degrees of freedom."""
    variances, judged = judged_variances(own, df, residuals)
    return (variances / own).tolist(), (judged / df).tolist()


# Verdicts on each operation of a metric that is a mean over operations, from the runs of a sweep.
#
# The mean time of an operation in a run is one number, as its metric is. The verdicts of all operations hold
# together.


def operation_verdicts(
    runs: pd.DataFrame,
    manifests: Sequence[Manifest],
    metric: Metric,
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
) -> pd.DataFrame:
    """The verdict on each operation of the metric.

    Args:
        runs: one row per run, as ``results.experiment_folder.runs_frame`` gives it.
        manifests: those of the finished runs.
        metric: the metric of the runs.
        smallest_effect, level: as for ``verdicts.judge``.

    Returns:
        The columns of ``verdicts.judge`` (``metric_value`` in s) after ``operation``; empty if the metric is no mean
        over operations, or configurations alternate within runs.
    """
    if not metric.by_operation or sliced(runs):
        return pd.DataFrame()
    times = mean_times_s(manifests)
    figures = [
        Figure({"operation": name}, metric.of_operation(name), times[name].reindex(runs["run_id"]).tolist())
        for name in map(str, times)
    ]
    return judged_together(runs, figures, smallest_effect, level)


# Verdicts on percentiles of the latency, by operation, from the runs of a sweep.
#
# A percentile of a run is one number, as its throughput is; the intervals come from the differences between runs,
# never from the operations within one. All comparisons of all operations and percentiles hold together
# (``together``).
#
# In an open loop latencies are response times. Those of a closed loop compare configurations. They are not what users
# of an open system would see: while the server is slow, fewer operations begin, and those that would have waited are
# missing (coordinated omission).

PERCENTILES = {"p95": 0.95, "p99": 0.99}


def latency_verdicts(
    runs: pd.DataFrame, manifests: Sequence[Manifest], smallest_effect: float = 0.02, level: float = CONFIDENCE
) -> pd.DataFrame:
    """The verdict on each percentile that every finished run supports (``quantiles.BEYOND``), of each operation.

    Args:
        runs: one row per run, or per run and configuration, as ``results.experiment_folder.runs_frame`` gives it.
        manifests: those of the finished runs.
        smallest_effect, level: as for ``verdicts.judge``.

    Returns:
        The columns of ``verdicts.judge`` (``metric_value`` in ms) with ``operation`` and ``percentile`` before them;
        empty without such an operation.
    """
    known = {manifest.run_id: manifest for manifest in manifests}
    keys = list(zip(runs["run_id"], runs["configuration"], strict=True))
    found = {key: operations_of(known[key[0]], key[1]) for key in keys if key[0] in known}
    asked = _measured(list(found.values()))
    figures = [
        Figure(
            {"operation": name, "percentile": percentile},
            latency_metric(name, percentile),
            [_ms(found[key][name], percentile) if key in found else math.nan for key in keys],
        )
        for name, percentile in asked
    ]
    return judged_together(runs, figures, smallest_effect, level)


def operations_of(manifest: Manifest, configuration: int) -> Mapping[str, TimedOperation]:
    """The figures of each operation of a run, of a configuration where several alternate.

    Latencies are response times in an open loop, else service times.
    """
    result = manifest.result
    if result is None:
        return {}
    if result.slices:
        each = {one.configuration: one.operations for one in result.slices.configurations}
        return each.get(configuration, {})
    if not manifest.is_open:
        return result.operations
    return {
        name: TimedOperation(count=line.count, **dict(line.response or Latencies()))
        for name, line in result.operations.items()
    }


def _ms(line: TimedOperation, percentile: str) -> float:
    return (line.at(percentile) or 0) / 1000


def latency_metric(operation: str, percentile: str) -> Metric:
    """A percentile of the latency of an operation as a metric, in ms; lower is better."""
    level = PERCENTILES[percentile]
    return Metric(
        name=f"{percentile} of {operation}",
        title=f"{100 * level:g} % quantile of the latency of {operation}",
        unit="ms",
        measure=Measure.QUANTILE,
        operations=(operation,),
        quantile=level,
    )


def _measured(results: Sequence[Mapping[str, TimedOperation]]) -> list[tuple[str, str]]:
    """The operations and percentiles that are known of all runs, in their order."""
    return [
        (name, percentile)
        for name in (results[0] if results else ())
        for percentile in PERCENTILES
        if all(name in one and one[name].at(percentile) for one in results)
    ]


# Throughput against latency: which configurations no other beats in both.


def throughput_and_latency(
    runs: pd.DataFrame, labels: pd.Series[str], manifests: Sequence[Manifest], metric: Metric
) -> pd.DataFrame:
    """A row for each configuration and count of users: label, virtual_users, runs, metric_value, p95_ms, efficient.

    Both figures are means over the runs; the latency is that of the operation that the workload names first. A row
    is efficient where no other has at least its throughput at a lower latency, or more at the same. Empty where the
    metric is no rate, or no run has a latency.

    Args:
        runs: one row per run and configuration, as ``results.experiment_folder.runs_frame`` gives it.
        labels: the labels of the configurations.
        manifests: those of the finished runs.
        metric: theirs.
    """
    known = {manifest.run_id: manifest for manifest in manifests}
    columns = ["label", "virtual_users", "runs", "metric_value", "p95_ms", "efficient"]
    if metric.measure is not Measure.RATE:
        return pd.DataFrame(columns=columns)
    latencies = [
        line.p95_us if line else None
        for run_id, configuration in zip(runs["run_id"], runs["configuration"], strict=True)
        for line in [
            operations_of(known[run_id], configuration).get(known[run_id].headline) if run_id in known else None
        ]
    ]
    measured = runs.assign(p95_ms=pd.Series(latencies, index=runs.index, dtype=float) / 1000)
    measured = measured.dropna(subset=["p95_ms"]).assign(label=measured["configuration"].map(labels))
    found = measured.groupby(["label", "virtual_users"], sort=False, as_index=False).agg(
        runs=("run_id", "size"), metric_value=("metric_value", "mean"), p95_ms=("p95_ms", "mean")
    )
    return found.assign(efficient=efficient(found["metric_value"], found["p95_ms"]))[columns]


def efficient(throughput: pd.Series[float], latency: pd.Series[float]) -> list[bool]:
    """Whether no other point has at least the throughput and at most the latency, and one of both better."""
    points = list(zip(throughput.tolist(), latency.tolist(), strict=True))
    return [not any(t >= rate and w <= wait and (t, w) != (rate, wait) for t, w in points) for rate, wait in points]
