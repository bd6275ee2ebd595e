"""Whether a rate drifted over the window: the second half over the first, with an interval that knows of waves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hdbkit.analysis.statistics.autocorrelation import correlation, residuals_of
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.later import numpy as np
from hdbkit.later import scipy

if TYPE_CHECKING:
    import numpy.typing as npt

MIN_SECONDS = 10
MAX_DRIFT = 0.05
_STANDARD_ERRORS = 0.5
"""Standard errors added to the estimated correlation."""


@dataclass(frozen=True)
class Drift:
    """The second half over the first, less 1, with its 95 % interval.

    Seconds of one run are correlated (caches, checkpoints), so the drift between the halves of the window is judged
    as that of a first-order autoregressive series: its variance follows from the correlation of neighbouring seconds
    (Zwiers and von Storch 1995, J. Climate 8, 336-351; ``autocorrelation``). The interval is that of the difference
    of both halves over their mean, stated as the second half over the first. The verdict shows whether the window can
    be averaged; it does not predict the result of another run.
    """

    change: float
    low: float
    high: float

    @property
    def steady(self) -> bool | None:
        """Whether the drift is at most ``MAX_DRIFT``; None if the interval holds both smaller and larger ones."""
        if self.low >= -MAX_DRIFT and self.high <= MAX_DRIFT:
            return True
        return False if self.low > MAX_DRIFT or self.high < -MAX_DRIFT else None


def drift(per_second: npt.NDArray[np.float64]) -> Drift | None:
    """The drift between the halves of a series of whole seconds; None where it is too short or all zero."""
    n = len(per_second)
    if n < MIN_SECONDS or not per_second.any():
        return None
    half = n // 2
    halves = per_second[:half], per_second[-half:]
    level = float(np.mean(halves))
    change = float(halves[1].mean() - halves[0].mean()) / level
    squares = sum(float(part @ part) for part in residuals_of(*halves)) / level**2
    between = correlation(*halves, _STANDARD_ERRORS)
    of_half, of_both = (_mean_variance(between, count) for count in (half, 2 * half))
    variance = squares / ((2 * half - 1) * (1 - of_half))
    error = np.sqrt(variance * 4 * (of_half - of_both))
    df = max(n * (1 - between) / (1 + between) - 2, 1.0)
    width = float(scipy.special.stdtrit(df, (1 + CONFIDENCE) / 2)) * float(error)
    return Drift(*map(_of_the_first, (change, change - width, change + width)))


def _of_the_first(difference: float) -> float:
    """The change from the first half to the second, of their difference as a multiple of their mean."""
    return max(2 * difference / (2 - difference), -1.0) if difference < 2 else math.inf


def _mean_variance(between: float, count: int) -> float:
    """The variance of the mean of ``count`` seconds, as a multiple of that of one."""
    lags = np.arange(1, count)
    terms: npt.NDArray[np.float64] = (1 - lags / count) * np.power(between, lags)
    return (1 + 2 * float(terms.sum())) / count
