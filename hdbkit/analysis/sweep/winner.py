"""The fastest configurations measured once more, in fresh blocks that had no part in choosing them.

What is chosen as the fastest of many owes a part of its lead to chance, the more configurations the larger (the
winner's curse). Blocks run after the choice are free of it, so the reported estimate is theirs alone, with the first
beside it. The intervals of the fresh blocks hold together over all configurations that were run again.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.wording import change
from hdbkit.config.metric import Metric
from hdbkit.text import many


def winners(
    first: pd.DataFrame, runs: pd.DataFrame, metric: Metric, smallest_effect: float = 0.02, confidence: float = 0.95
) -> pd.DataFrame:
    """The verdict of the fresh blocks on each configuration that was run again, in the order of the first choice.

    Args:
        first: the verdicts by which they were chosen (``verdicts.judge``).
        runs: the runs of the fresh blocks, with those of the baseline (configuration 0) in the same blocks.
        metric, smallest_effect, confidence: as for ``verdicts.judge``.

    Returns:
        The columns of ``verdicts.judge`` without the baseline's rows, ``first_ratio``, ``first_low`` and
        ``first_high``; ``sentence`` has both.
    """
    judged = judge(runs, metric, 0, smallest_effect, confidence)
    judged = judged[judged["verdict"] != "baseline"]
    keys = ["configuration", "virtual_users"]
    names = {name: f"first_{name}" for name in ("ratio", "low", "high")}
    both = judged.merge(first[[*keys, *names]].rename(columns=names), on=keys, how="left")
    lead = np.log(both["first_ratio"]).groupby(both["configuration"]).transform("mean")
    both = both.assign(lead=lead).sort_values(["lead", "virtual_users"], ascending=[False, True])
    both["sentence"] = [
        f"{text}; {change(chosen, metric)} in the blocks by which it was chosen"
        for text, chosen in zip(both["sentence"], both["first_ratio"], strict=True)
    ]
    return both.drop(columns="lead").reset_index(drop=True)


def winner_answer(found: pd.DataFrame, blocks: int) -> str:
    """The result of the fresh blocks for the fastest, where it was fastest, in one sentence; empty without them."""
    if found.empty:
        return ""
    of_the_fastest = found[found["configuration"] == found["configuration"].iloc[0]]
    best = of_the_fastest.sort_values("first_ratio").iloc[-1]
    return f"In {many(blocks, 'fresh block')} that were not used for the choice: {best['sentence']}."
