"""Whether the throughput of a run stayed the same over the kept window.

Seconds of one run are correlated (caches, checkpoints), so the drift between its halves is judged by an interval from
a moving-block bootstrap, never as if seconds were independent. It shows whether the window can be
averaged; it does not predict the result of another run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MIN_SECONDS = 10
MAX_DRIFT = 0.05
_RESAMPLES = 2000


@dataclass(frozen=True)
class Drift:
    """The second half against the first, as a relative change with its 95 % interval."""

    change: float
    low: float
    high: float

    @property
    def steady(self) -> bool:
        """Not a drift that is both certain and larger than ``MAX_DRIFT``."""
        return self.low <= 0 <= self.high or abs(self.change) <= MAX_DRIFT


def drift(per_second: npt.NDArray[np.float64]) -> Drift | None:
    """The drift between the halves of a series of whole seconds; None where it is too short or all zero."""
    n = len(per_second)
    if n < MIN_SECONDS or not per_second.any():
        return None
    half = n // 2
    first, second = per_second[:half], per_second[-half:]
    level = float(per_second.mean())
    change = (float(second.mean()) - float(first.mean())) / level
    draw = np.random.default_rng(n)
    resampled = (_means(second - second.mean(), draw) - _means(first - first.mean(), draw)) / level
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Drift(change, change + float(low), change + float(high))


def _means(residuals: npt.NDArray[np.float64], draw: np.random.Generator) -> npt.NDArray[np.float64]:
    """Means of series put together from blocks of neighbouring seconds; the last second's neighbour is the first."""
    n = len(residuals)
    length = max(1, round(n ** (1 / 3)))
    starts = draw.integers(0, n, size=(_RESAMPLES, -(-n // length)))
    picked = residuals[(starts[:, :, None] + np.arange(length)).reshape(_RESAMPLES, -1)[:, :n] % n]
    means: npt.NDArray[np.float64] = picked.mean(axis=1)
    return means
