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
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.statistics.block_model import Cell
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Metric
from hdbkit.text import many

_OF_THE_LOOK = (
    *("ratio", "low", "high", "verdict", "equivalent", "blocks_needed", "blocks_low", "blocks_high", "sentence"),
)
_DECIDED = ("faster", "slower", "equivalent")


def verdicts(
    runs: pd.DataFrame,
    metric: Metric,
    level: Callable[[int], float],
    decided_after: Mapping[Cell, int],
    smallest_effect: float = 0.02,
) -> pd.DataFrame:
    """The verdicts after the blocks that ``runs`` have, those that are decided from the look that decided them.

    Args:
        runs: one row per run, without fresh blocks, as ``results.experiment_folder.runs_frame`` gives it.
        metric: what ``metric_value`` is.
        level: of the intervals after a number of blocks (``sequential.Spending.level``).
        decided_after: the blocks after which each comparison was decided that is not run any more, by virtual users
            and configuration.
        smallest_effect: as for ``verdicts.judge``.

    Returns:
        The columns of ``verdicts.judge`` and ``decided_after`` (NA for a comparison that is still run).
    """
    ended = runs.loc[runs["status"].isin(["done", "failed"]), "block"]
    present = int(ended.max()) if len(ended) else 0
    found = judge(runs, metric, 0, smallest_effect, level(present), level, settled=decided_after.keys())
    found["decided_after"] = pd.NA
    for look in sorted(set(decided_after.values())):
        then = judge(
            runs[runs["block"] <= look], metric, 0, smallest_effect, level(look),
            settled=[cell for cell, after in decided_after.items() if after < look],
        )  # fmt: skip
        here = [decided_after.get(cell) == look for cell in _cells(found)]
        there = [decided_after.get(cell) == look for cell in _cells(then)]
        found.loc[here, list(_OF_THE_LOOK)] = then.loc[there, list(_OF_THE_LOOK)].to_numpy()
        found.loc[here, "decided_after"] = look
        found.loc[here, "sentence"] += f"; decided after {look} blocks"
    return found.astype({"decided_after": "Int64", **dict.fromkeys(("ratio", "low", "high"), "float64")})


def decided(found: pd.DataFrame) -> list[Cell]:
    """The comparisons that a look decides: virtual users and configuration, those of earlier looks among them."""
    return [cell for cell, verdict in zip(_cells(found), found["verdict"], strict=True) if verdict in _DECIDED]


def verdict_words(row: Mapping[Hashable, Any]) -> str:
    """The verdict of a row; with its look if later blocks did not run it: ``faster after 4 blocks``.

    One that is about these runs alone ends with ``in these runs``.
    """
    after = row.get("decided_after", pd.NA)
    here = " in these runs" if row.get("these_runs") and row["verdict"] in _DECIDED else ""
    return str(row["verdict"]) + ("" if pd.isna(after) else f" after {after} blocks") + here


def decided_note(found: pd.DataFrame) -> list[str]:
    """What a reader must know about comparisons that were decided early, as one phrase; none without them."""
    after = Counter(int(one) for one in found["decided_after"].dropna())
    if not after:
        return []
    listed = ", ".join(f"{count} after {blocks} blocks" for blocks, count in sorted(after.items()))
    of_looks = "their intervals are those of these looks"
    return [f"{many(sum(after.values()), 'comparison')} decided early and not run again ({listed}): {of_looks}"]


def _cells(found: pd.DataFrame) -> list[Cell]:
    return [(int(u), int(c)) for u, c in zip(found["virtual_users"], found["configuration"], strict=True)]


# The fastest configurations measured once more, in fresh blocks that had no part in choosing them.
#
# What is chosen as the fastest of many owes a part of its lead to chance, the more configurations the larger (the
# winner's curse). Blocks run after the choice are free of it, so the reported estimate is theirs alone, with the
# first beside it. Which of them is the best is said by the fresh blocks too. Their intervals hold together over all
# configurations that were run again, and with the verdicts of the sweep, whose looks left a share of the error rate
# (``sequential.Spending.left``).


def winners(
    first: pd.DataFrame, runs: pd.DataFrame, metric: Metric, smallest_effect: float = 0.02, level: float = CONFIDENCE
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
