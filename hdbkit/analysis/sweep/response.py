"""What charts of settings show: the response to a setting, blocks, throughput against latency, work of the server."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy

from hdbkit.analysis.run.records import table
from hdbkit.analysis.run.server_work import WORK, work_of
from hdbkit.analysis.sweep.together import operations_of
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Measure, Metric
from hdbkit.config.quantities import quantity
from hdbkit.results.folder import RunFolder
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


def pairs_by_block(runs: pd.DataFrame, baseline: int, other: int, metric: Metric) -> pd.DataFrame:
    """A row for each block with runs of both configurations: block, base, new, run_id of each, and the change.

    ``change`` is that of the metric (0.1: 10 % more); ``better`` whether the other configuration is better there.
    """
    sides = {
        name: runs[runs["configuration"] == one].drop_duplicates("block").set_index("block")
        for name, one in (("base", baseline), ("new", other))
    }
    both = sides["base"].index.intersection(sides["new"].index).sort_values()
    base, new = (sides[name].loc[both, "metric_value"].astype(float) for name in ("base", "new"))
    better = metric.score(new).to_numpy() > metric.score(base).to_numpy()
    return pd.DataFrame(
        {
            "block": both,
            "base": base.to_numpy(),
            "new": new.to_numpy(),
            "base_run": sides["base"].loc[both, "run_id"].to_numpy(),
            "new_run": sides["new"].loc[both, "run_id"].to_numpy(),
            "change": (new / base - 1).to_numpy(),
            "better": better,
        }
    )


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


# What the servers of two runs did differently, along the time of both, by the servers' own counters.

MARKED = ("checkpoints", "automatic vacuums")
"""Figures of ``WORK`` that are marks on the time rather than rates."""
_MIN_SAMPLES = 3


def work_apart(base: Manifest, new: Manifest) -> list[str]:
    """The figures of ``WORK`` per operation that differ most between two results, the most different first."""
    each = [{one.what: one.each for one in work_of(manifest.measured) if one.each} for manifest in (base, new)]
    both = [name for name in each[0] if name in each[1] and name not in MARKED]
    apart = {name: abs(math.log((each[1][name] or 1) / (each[0][name] or 1))) for name in both}
    return sorted(both, key=lambda name: -apart[name])[:1]


def work_course(folder: RunFolder, what: str) -> pd.DataFrame:
    """Columns second and per_s: how fast a figure of ``WORK`` grew between each two samples; empty without samples.

    ``second`` is the middle between the samples, from the run's start on.
    """
    empty = pd.DataFrame({"second": pd.Series(dtype=float), "per_s": pd.Series(dtype=float)})
    counters = table(folder, "counters")
    if counters is None:
        return empty
    known = set(counters["name"])
    names = next((one for one in WORK[what] if set(one) <= known), None)
    if names is None:
        return empty
    rows = counters[counters["name"].isin(names)]
    total = rows.groupby("t_returned_us")["value"].agg(["sum", "size"]).sort_index()
    total = total[total["size"] == len(names)]
    if len(total) < _MIN_SAMPLES:
        return empty
    at = total.index.to_series() / 1e6
    length = at.diff()
    found = pd.DataFrame({"second": at - length / 2, "per_s": total["sum"].diff() / length})
    return found[(length > 0) & (found["second"] >= 0) & (found["per_s"] >= 0)].round(4).reset_index(drop=True)
