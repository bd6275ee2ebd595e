"""The verdicts of a sweep that is looked at several times: each comparison is judged at the look that decides it.

Once a look has found a configuration different from the baseline, or equivalent to it, later blocks need not run it.
Its interval stays that of this look. All intervals of all looks hold together (``statistics.sequential``), whichever
of them is shown, so a sweep may choose by its own results which configurations continue. Two things keep that true:
later looks are as strict as if every comparison were still open (a smaller family would forget that the close ones
remain because of their results), and a comparison is between runs of the same blocks, since the baseline runs in
each. Repeated confidence intervals for several treatments that are dropped: Jennison and Turnbull 2000, Group
Sequential Methods, chapter 16.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from hdbkit.analysis.statistics.block_model import Cell
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Ratio
from hdbkit.text import many

_OF_THE_LOOK = ("ratio", "low", "high", "verdict", "equivalent", "needed")
"""The fields of a decided comparison that are those of the look that decided it."""


def verdicts(
    runs: pd.DataFrame,
    metric: Metric,
    level: Callable[[int], float],
    decided_after: Mapping[Cell, int],
    smallest_effect: float = 0.02,
    anytime: Anytime | None = None,
) -> list[Ratio]:
    """The verdicts after the blocks that ``runs`` have, those that are decided from the look that decided them.

    Args:
        runs: one row per run, without fresh blocks, as ``results.experiment_runs.runs_frame`` gives it.
        metric: what ``metric_value`` is.
        level: of the intervals after a number of blocks (``sequential.Spending.level``).
        decided_after: the blocks after which each comparison was decided that is not run any more, by virtual users
            and configuration.
        smallest_effect, anytime: as for ``verdicts.judge``.
    """
    ended = runs.loc[runs["status"].isin(["done", "failed"]), "block"]
    present = int(ended.max()) if len(ended) else 0
    settled = decided_after.keys()
    now = judge(runs, metric, 0, smallest_effect, level(present), level, settled, anytime=anytime)
    decided_then: dict[Cell, Ratio] = {}
    for look in sorted(set(decided_after.values())):
        then = judge(
            runs[runs["block"] <= look], metric, 0, smallest_effect, level(look),
            settled=[cell for cell, after in decided_after.items() if after < look], anytime=anytime,
        )  # fmt: skip
        decided_then |= {_cell(ratio): ratio for ratio in then if decided_after.get(_cell(ratio)) == look}
    return [_of_its_look(ratio, decided_then.get(_cell(ratio)), decided_after) for ratio in now]


def _of_its_look(ratio: Ratio, then: Ratio | None, decided_after: Mapping[Cell, int]) -> Ratio:
    """A ratio as it was at the look that decided it, if one did."""
    if then is None:
        return ratio
    look = decided_after[_cell(ratio)]
    of_look = {name: getattr(then, name) for name in _OF_THE_LOOK}
    sentence = f"{then.sentence}; decided after {look} blocks"
    return ratio.model_copy(update={**of_look, "decided_after": look, "sentence": sentence})


def decided(ratios: Sequence[Ratio]) -> list[Cell]:
    """The comparisons that a look decides: virtual users and configuration, those of earlier looks among them."""
    return [_cell(ratio) for ratio in ratios if ratio.verdict.is_decided]


def decided_note(ratios: Sequence[Ratio]) -> list[str]:
    """What a reader must know about comparisons that were decided early, as one phrase; none without them."""
    after = Counter(ratio.decided_after for ratio in ratios if ratio.decided_after is not None)
    if not after:
        return []
    listed = ", ".join(f"{count} after {blocks} blocks" for blocks, count in sorted(after.items()))
    of_looks = "their intervals are those of these looks"
    return [f"{many(sum(after.values()), 'comparison')} decided early and not run again ({listed}): {of_looks}"]


def _cell(ratio: Ratio) -> Cell:
    assert ratio.virtual_users is not None
    assert ratio.configuration is not None
    return ratio.virtual_users, ratio.configuration
