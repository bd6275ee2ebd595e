"""What makes the result of a sweep doubtful (failures, an outlying block, drift), and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import scipy

from hdbkit.analysis.statistics.block_model import BlockModel, usable
from hdbkit.analysis.wording import share

_OUTLYING = 0.05
_SURPRISING = 3.0
_DRIFT_P = 0.01
_DRIFT = 0.02
_MOST_BLOCKS = 100
"""More blocks than these are not advised: what would need them is too small for the noise."""


def doubts(runs: pd.DataFrame) -> list[str]:
    """What makes the result of a sweep unstable, one phrase each; empty when nothing was found."""
    found = []
    unfinished = int((runs["status"] == "failed").sum())
    if unfinished:
        found.append(f"{unfinished} of {len(runs)} runs failed and {'is' if unfinished == 1 else 'are'} not counted")
    for name, count in failed_checks(runs).items():
        found.append(f"{count} of {len(runs)} runs failed the check '{name}'")
    model = BlockModel.fitted(runs)
    if model.df < 1:
        return found
    centred = _centred(usable(runs))
    return found + _outlying_blocks(centred, model.noise) + _drift(centred)


def failed_checks(runs: pd.DataFrame) -> dict[str, int]:
    """How many runs of a sweep failed each check; only those that some run failed, the most frequent first."""
    return dict(Counter(name for names in runs["checks_failed"] for name in names).most_common())


def warning(found: Sequence[str]) -> str:
    """Doubts as the screen shows them; empty when there are none."""
    return "\n".join(["the result may be unstable:", *(f"* {one}" for one in found)]) if found else ""


def next_step(verdicts: pd.DataFrame, with_blocks: Callable[[int], str]) -> str:
    """What to type to decide what is undecided; empty when all is, or when it would take too many blocks.

    ``with_blocks`` gives the command line for so many blocks in all.
    """
    needed = verdicts["blocks_needed"].dropna()
    within = needed[needed <= _MOST_BLOCKS]
    if within.empty:
        return ""
    open_ = int((verdicts["verdict"] == "undecided").sum())
    which = "what is" if len(within) == open_ else f"{len(within)} of the {open_} comparisons that are"
    return f"to decide {which} undecided: {with_blocks(int(within.max()))}"


def _centred(done: pd.DataFrame) -> pd.DataFrame:
    """The runs with ``deviation``: log NOPM less the mean of their configuration and virtual users."""
    logs = np.log(done["metric_value"])
    means = logs.groupby([done["virtual_users"], done["configuration"]]).transform("mean")
    return done.assign(deviation=logs - means)


def _outlying_blocks(centred: pd.DataFrame, noise: float) -> list[str]:
    blocks = centred.groupby("block")["deviation"].agg(["mean", "count"])
    found = []
    for block, mean, count in blocks.itertuples():
        away = mean - blocks["mean"].median()
        apart = float(np.expm1(away))
        if abs(apart) > _OUTLYING and abs(away) > _SURPRISING * noise / np.sqrt(count):
            side = "below" if apart < 0 else "above"
            found.append(f"throughput of block {block} is {share(abs(apart))} {side} the median of the {len(blocks)}")
    return found


def _drift(centred: pd.DataFrame) -> list[str]:
    if len(centred) < 6 or centred["deviation"].nunique() == 1:
        return []
    line = scipy.stats.linregress(centred["number"], centred["deviation"])
    total = float(np.expm1(line.slope * (centred["number"].max() - centred["number"].min())))
    if line.pvalue > _DRIFT_P or abs(total) < _DRIFT:
        return []
    return [f"throughput {'rises' if total > 0 else 'falls'} by {share(abs(total))} from the first run to the last"]
