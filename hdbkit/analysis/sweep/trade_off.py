"""Throughput against latency: which configurations no other beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hdbkit.analysis.sweep.latencies import timed_operations
from hdbkit.config.metric import Measure, Metric
from hdbkit.later import pandas as pd
from hdbkit.results.manifest import Manifest


def throughput_and_latency(
    runs: pd.DataFrame, labels: Mapping[int, str], manifests: Sequence[Manifest], metric: Metric
) -> pd.DataFrame:
    """A row for each configuration and count of users: label, virtual_users, runs, metric_value, p95_ms, efficient.

    Both figures are means over the runs; the latency is that of the operation that the workload names first. A row
    is efficient where no other has at least its throughput at a lower latency, or more at the same. Empty where the
    metric is no rate, or no run has a latency.

    Args:
        runs: one row per run and configuration, as ``results.experiment_runs.runs_frame`` gives it.
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
            timed_operations(known[run_id], configuration).get(known[run_id].headline) if run_id in known else None
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
