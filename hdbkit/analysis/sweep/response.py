"""What charts of settings show: the response to a setting, and throughput against latency."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from hdbkit.analysis.sweep.together import operations_of
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Measure, Metric
from hdbkit.config.quantities import quantity
from hdbkit.results.manifest import Manifest

MIN_VALUES = 3
"""Values that a setting needs for a curve."""


def numeric(values: pd.Series[str]) -> pd.Series[float] | None:
    """The amounts of a setting's values; None where one is no number or size, or there are fewer than three."""
    amounts = [quantity(str(one)) for one in values]
    if any(one is None for one in amounts):
        return None
    known = pd.Series([float(one.amount) for one in amounts if one is not None], index=values.index)
    return known if known.nunique() >= MIN_VALUES else None


def response_to(runs: pd.DataFrame, setting: str) -> pd.DataFrame:
    """A row for each value of a setting, in the order of its amount: value, amount, runs, metric_value, low, high.

    The geometric mean over all runs with this value, at all values of the other settings alike. What differs between
    blocks and the other settings is taken out before the interval is computed, so that it contains the noise of runs
    alone; each interval holds by itself. ``low`` and ``high`` are NaN where no degrees of freedom are left.

    Args:
        runs: usable runs of one count of virtual users, as ``results.experiment_folder.runs_frame`` gives them.
        setting: a numeric one (:func:`numeric`).
    """
    logs = pd.Series(np.log(runs["metric_value"].to_numpy(dtype=float)), index=runs.index)
    values, blocks = runs[setting].astype(str), runs["block"]
    cells = logs.groupby(runs["configuration"]).transform("mean")
    within = logs - cells
    residuals = within - within.groupby(blocks).transform("mean")
    df = len(runs) - runs["configuration"].nunique() - (blocks.nunique() - 1)
    deviation = float(np.sqrt((residuals**2).sum() / df)) if df > 0 else float("nan")
    t = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, df)) if df > 0 else float("nan")
    found = logs.groupby(values, sort=False).agg(["size", "mean"]).rename(columns={"size": "runs"})
    half = t * deviation / np.sqrt(found["runs"])
    table = pd.DataFrame(
        {
            "value": found.index,
            "amount": [float(one.amount) for name in found.index if (one := quantity(str(name))) is not None],
            "runs": found["runs"].to_numpy(),
            "metric_value": np.exp(found["mean"]).to_numpy(),
            "low": np.exp(found["mean"] - half).to_numpy(),
            "high": np.exp(found["mean"] + half).to_numpy(),
        }
    )
    return table.sort_values("amount", ignore_index=True)


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
