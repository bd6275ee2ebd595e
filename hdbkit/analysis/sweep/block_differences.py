"""Each configuration against the baseline by the differences within blocks, of which each is one value.

For intervals that hold at every number of blocks (``statistics.sequential.Anytime``). Only blocks with a run of both
count. Unlike in the block model, noise is not pooled over configurations and a drift within blocks is not estimated,
so a configuration with noise of its own, a missing run and a drift across blocks change no other comparison.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from hdbkit.analysis.statistics.block_model import Cell, EffectEstimate
from hdbkit.config.metric import Metric


def block_differences(
    done: pd.DataFrame, metric: Metric, cells: Collection[Cell], baseline: int
) -> dict[Cell, EffectEstimate]:
    """The mean difference of log scores of each cell, which needs two blocks.

    Args:
        done: a row per run that counts (``block_model.usable``).
        metric: what ``metric_value`` is.
        cells: virtual users and configuration of each comparison.
        baseline: the configuration that all are compared with.
    """
    scores = np.log(metric.score(done["metric_value"].astype(float)))
    of_block = scores.groupby([done["virtual_users"], done["configuration"], done["block"]]).mean()
    estimates = {}
    for users, configuration in cells:
        apart = (of_block[users, configuration] - of_block[users, baseline]).dropna()
        if len(apart) >= 2:
            error = float(apart.std(ddof=1)) / len(apart) ** 0.5
            estimates[users, configuration] = EffectEstimate(float(apart.mean()), error, len(apart) - 1.0)
    return estimates
