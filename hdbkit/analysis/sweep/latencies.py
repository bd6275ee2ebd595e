"""Verdicts on percentiles of the latency, by operation, from the runs of a sweep.

A percentile of a run is one number, as its throughput is; the intervals come from the differences between runs, never
from the operations within one. All comparisons of all operations and percentiles hold together (``together``).

In an open loop latencies are response times. Those of a closed loop compare configurations. They are not what users
of an open system would see: while the server is slow, fewer operations begin, and those that would have waited are
missing (coordinated omission).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from hdbkit.analysis.sweep.together import Figure, judged_together
from hdbkit.config.metric import Measure, Metric
from hdbkit.results.manifest import Manifest

PERCENTILES = {"p95": 0.95, "p99": 0.99}
MIN_OPERATIONS = 200
"""Operations that each run needs, so that some lie beyond the percentile."""


def latency_verdicts(
    runs: pd.DataFrame,
    manifests: Sequence[Manifest],
    smallest_effect: float = 0.02,
    confidence: float = 0.95,
    level: float | None = None,
) -> pd.DataFrame:
    """The verdict on each percentile of each operation that every finished run executed often enough.

    Args:
        runs: one row per run, or per run and configuration, as ``results.sweep_folder.runs_frame`` gives it.
        manifests: those of the finished runs.
        smallest_effect, confidence, level: as for ``verdicts.judge``.

    Returns:
        The columns of ``verdicts.judge`` (``metric_value`` in ms) with ``operation`` and ``percentile`` before them;
        empty without such an operation.
    """
    known = {manifest.run_id: manifest for manifest in manifests}
    keys = list(zip(runs["run_id"], runs["configuration"], strict=True))
    found = {key: operations_of(known[key[0]], key[1]) for key in keys if key[0] in known}
    asked = [(name, percentile) for name in _measured(list(found.values())) for percentile in PERCENTILES]
    figures = [
        Figure(
            {"operation": name, "percentile": percentile},
            latency_metric(name, percentile),
            [found[key][name][f"{percentile}_us"] / 1000 if key in found else math.nan for key in keys],
        )
        for name, percentile in asked
    ]
    return judged_together(runs, figures, smallest_effect, confidence, level)


def operations_of(manifest: Manifest, configuration: int) -> Mapping[str, Any]:
    """The figures of each operation of a run, of a configuration where several alternate.

    Latencies are response times in an open loop, else service times.
    """
    slices = manifest.result.get("slices")
    if not slices:
        lines: Mapping[str, Any] = manifest.result.get("operations", {})
        return {name: {**line, **line["response"]} for name, line in lines.items()} if manifest.is_open else lines
    each = {one["configuration"]: one["operations"] for one in slices["configurations"]}
    return dict(each.get(configuration, {}))


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


def _measured(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The operations of which all runs completed enough, in their order."""
    names = results[0] if results else {}
    return [
        name
        for name in names
        if all((one.get(name, {}).get("count") or 0) >= MIN_OPERATIONS for one in results)
        and all(one[name].get(f"{percentile}_us") for one in results for percentile in PERCENTILES)
    ]
