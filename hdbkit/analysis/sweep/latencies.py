"""Verdicts on percentiles of the latency, by operation, from the runs of a sweep.

A percentile of a run is one number, as its throughput is; the intervals come from the differences between runs,
never from the operations within one. All comparisons of all operations and percentiles hold together
(``together``).

In an open loop latencies are response times. Those of a closed loop compare configurations. They are not what users
of an open system would see: while the server is slow, fewer operations begin, and those that would have waited are
missing (coordinated omission).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hdbkit.analysis.sweep.together import RunFigure, judged_together
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Measure, Metric
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Of, Ratio
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Latencies, TimedOperation

PERCENTILES = {"p95": 0.95, "p99": 0.99}


def latency_verdicts(
    runs: pd.DataFrame, manifests: Sequence[Manifest], smallest_effect: float = 0.02, level: float = CONFIDENCE
) -> list[Ratio]:
    """The verdict on each percentile, in ms, that every finished run supports (``quantiles.BEYOND``).

    Args:
        runs: one row per run, or per run and configuration, as ``results.experiment_runs.runs_frame`` gives it.
        manifests: those of the finished runs.
        smallest_effect, level: as for ``verdicts.judge``.
    """
    of_run = {manifest.run_id: manifest for manifest in manifests}
    keys = list(zip(runs["run_id"], runs["configuration"], strict=True))
    measured = {key: timed_operations(of_run[key[0]], key[1]) for key in keys if key[0] in of_run}
    figures = [
        RunFigure(
            Of.QUANTILE,
            name,
            latency_metric(name, percentile),
            [_ms(measured[key][name], percentile) if key in measured else math.nan for key in keys],
            percentile,
        )
        for name, percentile in _measured(list(measured.values()))
    ]
    return judged_together(runs, figures, smallest_effect, level)


def timed_operations(manifest: Manifest, configuration: int) -> Mapping[str, TimedOperation]:
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
