"""The fastest configurations measured once more, in fresh blocks that had no part in choosing them.

What is chosen as the fastest of many owes a part of its lead to chance, the more configurations the larger (the
winner's curse). Blocks run after the choice are free of it, so the reported estimate is theirs alone, with the
first beside it. Which of them is the best is said by the fresh blocks too. Their intervals hold together over all
configurations that were run again, and with the verdicts of the sweep, whose looks left a share of the error rate
(``sequential.Spending.left``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Of, Ratio, Verdict


def winners(
    first: Sequence[Ratio],
    runs: pd.DataFrame,
    metric: Metric,
    smallest_effect: float = 0.02,
    level: float = CONFIDENCE,
) -> list[Ratio]:
    """The verdict of the fresh blocks on each configuration that was run again, the fastest in them first.

    Args:
        first: the verdicts by which they were chosen (``verdicts.judge``).
        runs: the runs of the fresh blocks, with those of the baseline (configuration 0) in the same blocks.
        metric, smallest_effect, level: as for ``verdicts.judge``.
    """
    chosen = {(ratio.configuration, ratio.virtual_users): ratio for ratio in first}
    fresh = [
        ratio.model_copy(update={"of": Of.WINNER, "first": chosen.get((ratio.configuration, ratio.virtual_users))})
        for ratio in judge(runs, metric, 0, smallest_effect, level)
        if ratio.verdict is not Verdict.BASELINE
    ]
    logs: dict[int | None, list[float]] = {}
    for ratio in fresh:
        logs.setdefault(ratio.configuration, []).append(math.log(ratio.ratio) if ratio.ratio else math.nan)
    lead = {configuration: _mean(each) for configuration, each in logs.items()}
    return sorted(fresh, key=lambda ratio: (-lead[ratio.configuration], ratio.virtual_users or 0))


def _mean(values: Sequence[float]) -> float:
    """The mean of those that are known; the least number where none is."""
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else -math.inf
