"""The fastest configurations measured once more, in fresh blocks that had no part in choosing them.

What is chosen as the fastest of many owes a part of its lead to chance, the more configurations the larger (the
winner's curse). Blocks run after the choice are free of it, so the reported estimate is theirs alone, with the first
beside it. Which of them is the best is said by the fresh blocks too. Their intervals hold together over all
configurations that were run again, and with the verdicts of the sweep, whose looks left a share of the error rate
(``sequential.Spending.left``).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Metric
from hdbkit.text import many


def winners(
    first: pd.DataFrame,
    runs: pd.DataFrame,
    metric: Metric,
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
) -> pd.DataFrame:
    """The verdict of the fresh blocks on each configuration that was run again, the fastest in them first.

    Args:
        first: the verdicts by which they were chosen (``verdicts.judge``).
        runs: the runs of the fresh blocks, with those of the baseline (configuration 0) in the same blocks.
        metric, smallest_effect, level: as for ``verdicts.judge``.

    Returns:
        The columns of ``verdicts.judge`` without the baseline's rows, ``first_ratio``, ``first_low`` and
        ``first_high``.
    """
    judged = judge(runs, metric, 0, smallest_effect, level)
    judged = judged[judged["verdict"] != "baseline"]
    keys = ["configuration", "virtual_users"]
    names = {name: f"first_{name}" for name in ("ratio", "low", "high")}
    both = judged.merge(first[[*keys, *names]].rename(columns=names), on=keys, how="left")
    lead = pd.Series(np.log(both["ratio"].astype(float)), both.index).groupby(both["configuration"]).transform("mean")
    both = both.assign(lead=lead).sort_values(["lead", "virtual_users"], ascending=[False, True])
    return both.drop(columns="lead").reset_index(drop=True)


def winner_answer(found: pd.DataFrame, blocks: int) -> str:
    """What the fresh blocks say of the best, at the count of users where it is best, in one sentence.

    Empty without fresh blocks. Several configurations are named where the blocks do not tell them apart.
    """
    if found.empty:
        return ""
    best = found.sort_values("ratio").iloc[-1]
    near = found[(found["virtual_users"] == best["virtual_users"]) & found["may_be_best"]]
    among = f"the best is one of {'; '.join(near['label'])}: " if len(near) > 1 else ""
    return f"In {many(blocks, 'fresh block')} that were not used for the choice: {among}{best['sentence']}."
