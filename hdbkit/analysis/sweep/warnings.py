"""Warnings of a sweep (failures, an outlying block, drift), and the next step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import scipy

from hdbkit.analysis.statistics.block_model import BlockModel, usable
from hdbkit.analysis.statistics.power import POWER
from hdbkit.analysis.wording import percent, share
from hdbkit.config.metric import Metric

_OUTLYING = 0.05
_SURPRISING = 3.0
_DRIFT_P = 0.01
_DRIFT = 0.02
_MAX_BLOCKS = 100
"""More blocks than these are not suggested: what would need them is too small for the noise."""


def sweep_warnings(runs: pd.DataFrame, metric: Metric) -> list[str]:
    """Reasons to doubt the result of a sweep, one phrase each; empty when nothing was found."""
    found = []
    unfinished = int((runs["status"] == "failed").sum())
    if unfinished:
        found.append(f"{unfinished} of {len(runs)} runs failed and {'is' if unfinished == 1 else 'are'} not counted")
    for name, count in failed_checks(runs).items():
        found.append(f"{count} of {len(runs)} runs failed the check '{name}'")
    model = BlockModel.fitted(runs, metric)
    if model.df < 1:
        return found
    centred = _centred(usable(runs), metric)
    return found + _outlying_blocks(centred, metric, model.noise) + _drift(centred, metric)


def failed_checks(runs: pd.DataFrame) -> dict[str, int]:
    """The number of runs of a sweep that failed each check, most frequent first; without checks that none failed."""
    return dict(Counter(name for names in runs["checks_failed"] for name in names).most_common())


def warnings_text(found: Sequence[str]) -> str:
    """Warnings as the screen shows them; empty when there are none."""
    return "\n".join(["Warnings:", *(f"* {one}" for one in found)]) if found else ""


def next_step(verdicts: pd.DataFrame, with_blocks: Callable[[int], str]) -> str:
    """The command that settles what is undecided; empty when nothing is, or when it would take too many blocks.

    ``with_blocks`` returns the command line for a total number of blocks.
    """
    needed = verdicts["blocks_needed"].dropna()
    within = needed[needed <= _MAX_BLOCKS]
    if within.empty:
        return ""
    open_ = int((verdicts["verdict"] == "undecided").sum())
    which = "what is" if len(within) == open_ else f"{len(within)} of the {open_} comparisons that are"
    return f"to decide {which} undecided, with a probability of {share(POWER)}: {with_blocks(int(within.max()))}"


def _centred(done: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The runs with ``deviation``: log score less the mean of their configuration and virtual users."""
    logs = np.log(metric.score(done["metric_value"]))
    means = logs.groupby([done["virtual_users"], done["configuration"]]).transform("mean")
    return done.assign(deviation=logs - means)


def _outlying_blocks(centred: pd.DataFrame, metric: Metric, noise: float) -> list[str]:
    blocks = centred.groupby("block")["deviation"].agg(["mean", "count"])
    found = []
    for block, mean, count in blocks.itertuples():
        away = mean - blocks["mean"].median()
        apart = float(np.expm1(away))
        if abs(apart) > _OUTLYING and abs(away) > _SURPRISING * noise / np.sqrt(count):
            far = percent(1 + apart, metric)
            found.append(
                f"{metric.name} of block {block} differs by {far} from the median of the {len(blocks)} blocks"
            )
    return found


def _drift(centred: pd.DataFrame, metric: Metric) -> list[str]:
    if len(centred) < 6 or centred["deviation"].nunique() == 1:
        return []
    line = scipy.stats.linregress(centred["number"], centred["deviation"])
    total = float(np.expm1(line.slope * (centred["number"].max() - centred["number"].min())))
    if line.pvalue > _DRIFT_P or abs(total) < _DRIFT:
        return []
    return [f"{metric.name} drifts by {percent(1 + total, metric)} from the first run to the last"]
