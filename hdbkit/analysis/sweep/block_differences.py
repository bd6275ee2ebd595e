"""Each configuration against the baseline by the differences within blocks, of which each is one value.

For intervals that hold at every number of blocks (``statistics.sequential.Anytime``). Only blocks with a run of both
count. Unlike in the block model, noise is not pooled over configurations and a drift within blocks is not estimated,
so a configuration with noise of its own, a missing run and a drift across blocks change no other comparison.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from hdbkit.analysis.statistics.block_model import Cell, after_runs, usable
from hdbkit.analysis.statistics.carry_over import EffectEstimate
from hdbkit.analysis.statistics.two_samples import Sample
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd


def block_differences(
    runs: pd.DataFrame, metric: Metric, cells: Collection[Cell], baseline: int
) -> dict[Cell, EffectEstimate]:
    """The mean difference of log scores of each cell, which needs two blocks.

    Args:
        runs: a row per run, as ``verdicts.judge`` takes them.
        metric: what ``metric_value`` is.
        cells: virtual users and configuration of each comparison.
        baseline: the configuration that all are compared with.
    """
    done, after = usable(runs), after_runs(runs)
    scores = np.log(metric.score(done["metric_value"].astype(float)))
    measured = done.assign(score=scores, after=after.reindex(done.index))
    of_blocks = {
        cell: rows.groupby("block")[["score", "after"]].mean()
        for cell, rows in measured.groupby(["virtual_users", "configuration"])
    }
    estimates = {}
    for users, configuration in cells:
        apart = (of_blocks[users, configuration] - of_blocks[users, baseline]).dropna(subset=["score"])
        if len(apart) >= 2:
            values, beside = (apart[[name]].to_numpy(dtype=np.float64) for name in ("score", "after"))
            sample = Sample.of(values)
            again = Sample.of(values, beside) if len(after) else None
            estimates[users, configuration] = replace(sample, again=again).estimate
    return estimates
