"""Whether the throughput of a run stayed the same over the kept window.

Seconds of one run are correlated (caches, checkpoints), so the drift between the halves of the window is judged as
that of a first-order autoregressive series: its variance follows from the correlation of neighbouring seconds (Zwiers
and von Storch 1995, J. Climate 8, 336-351). That correlation is itself an estimate, too small in short windows;
its bias is corrected (Kendall 1954, Biometrika 41, 403-404; more for the trend that is removed), and the interval
uses a value above it by a part of its standard error. The verdict shows whether the window can be averaged; it does
not predict the result of another run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

MIN_SECONDS = 10
MAX_DRIFT = 0.05
_MAX_CORRELATION = 0.95
_ABOVE = 0.75
"""So many standard errors above its estimate the correlation is taken."""


@dataclass(frozen=True)
class Drift:
    """The second half against the first, as a relative change with its 95 % interval."""

    change: float
    low: float
    high: float

    @property
    def steady(self) -> bool | None:
        """Whether the drift is at most ``MAX_DRIFT``; None if the interval holds both smaller and larger ones."""
        if self.low >= -MAX_DRIFT and self.high <= MAX_DRIFT:
            return True
        return False if self.low > MAX_DRIFT or self.high < -MAX_DRIFT else None


def drift(per_second: npt.NDArray[np.float64], confidence: float = 0.95) -> Drift | None:
    """The drift between the halves of a series of whole seconds; None where it is too short or all zero."""
    n = len(per_second)
    if n < MIN_SECONDS or not per_second.any():
        return None
    half, level = n // 2, float(per_second.mean())
    halves = per_second[:half], per_second[-half:]
    change = float(halves[1].mean() - halves[0].mean()) / level
    residuals = _without_trend(np.array([one - one.mean() for one in halves]) / level)
    squares = float((residuals**2).sum())
    correlation = _correlation(residuals)
    of_half, of_both = (_mean_variance(correlation, count) for count in (half, 2 * half))
    variance = squares / ((2 * half - 1) * (1 - of_half))
    error = np.sqrt(variance * 4 * (of_half - of_both))
    df = max(n * (1 - correlation) / (1 + correlation) - 2, 1.0)
    width = float(scipy.special.stdtrit(df, (1 + confidence) / 2)) * float(error)
    return Drift(change, change - width, change + width)


def _without_trend(residuals: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The residuals of both halves, (2, seconds), without the slope that they share: a drift is no noise."""
    time = np.arange(residuals.shape[1]) - (residuals.shape[1] - 1) / 2
    slope = (residuals @ time).sum() / (2 * time @ time)
    found: npt.NDArray[np.float64] = residuals - slope * time
    return found


def _correlation(residuals: npt.NDArray[np.float64]) -> float:
    """The correlation of neighbouring seconds, from the residuals of both halves, (2, seconds)."""
    half = residuals.shape[1]
    squares = float((residuals**2).sum())
    plain = float((residuals[:, 1:] * residuals[:, :-1]).sum()) / squares if squares else 0.0
    estimate = min(max(plain + (1.5 + 4 * max(plain, 0.0)) / half, 0.0), _MAX_CORRELATION)
    above: float = estimate + _ABOVE * np.sqrt((1 - estimate**2) / (2 * half))
    return min(above, _MAX_CORRELATION)


def _mean_variance(correlation: float, count: int) -> float:
    """The variance of the mean of so many seconds, as a multiple of that of one."""
    lags = np.arange(1, count)
    terms: npt.NDArray[np.float64] = (1 - lags / count) * np.power(correlation, lags)
    return (1 + 2 * float(terms.sum())) / count
