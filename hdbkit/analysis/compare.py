"""Two groups of runs against each other: the ratio of their throughputs with its interval.

For runs that were not randomized together (a release against the one before it). Welch's interval on the log scale
with the Welch-Satterthwaite degrees of freedom; the unit of replication is a run, so one run a side has no interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from hdbkit.analysis.wording import Interval, sentence


@dataclass(frozen=True)
class Ratio:
    """New over base: ``ratio``, its interval (NaN without replication), verdict and sentence."""

    ratio: float
    low: float
    high: float
    verdict: str
    sentence: str


def ratio_of(
    base: Sequence[float], new: Sequence[float], smallest_effect: float = 0.02, confidence: float = 0.95
) -> Ratio:
    """The ratio of the geometric means of ``new`` and ``base`` (throughputs of runs, any unit)."""
    logs = [np.log(np.asarray(side, dtype=float)) for side in (new, base)]
    estimate = float(logs[0].mean() - logs[1].mean())
    half = _half_width(logs, confidence)
    if math.isnan(half):
        text = f"new is {math.exp(estimate):.3f} times base: undecided: at least 2 runs a side tell noise from change"
        return Ratio(math.exp(estimate), math.nan, math.nan, "undecided", text)
    interval = Interval(math.exp(estimate), math.exp(estimate - half), math.exp(estimate + half))
    text = sentence("new", "base", interval, smallest_effect, confidence)
    return Ratio(interval.ratio, interval.low, interval.high, interval.verdict(smallest_effect), text)


def _half_width(logs: Sequence[npt.NDArray[np.float64]], confidence: float) -> float:
    if min(len(side) for side in logs) < 2:
        return math.nan
    parts = [float(side.var(ddof=1)) / len(side) for side in logs]
    total = sum(parts)
    if total == 0:
        return 0.0
    df = total**2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, logs, strict=True))
    return float(stdtrit(df, (1 + confidence) / 2)) * math.sqrt(total)
