"""How many blocks find a difference: the power of a comparison in complete blocks.

A comparison of two configurations after ``n`` blocks has the standard error ``noise * sqrt(2 / n)``. It is decided
with the probability ``POWER`` once the distance to what must be excluded is the critical value and Student's quantile
of that power away, in standard errors (Cohen 1988; Julious 2004 for equivalence). The noise is itself an estimate,
from ``df`` degrees of freedom, so the number of blocks is a range (Browne 1995). Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hdbkit.later import numpy as np
from hdbkit.later import scipy
from hdbkit.results.finding import Needed

POWER = 0.8
"""The probability of a decision at the number of blocks that is advised."""
MAX_BLOCKS = 1000
"""Beyond this many blocks no number is given."""
_NOISE_INTERVAL = 0.8
"""The confidence of the interval of the noise."""


def least_found(half: float, error: float, df: float) -> float:
    """The smallest difference, on the log scale, that an interval excludes from zero with the probability ``POWER``.

    Args:
        half: the half width of the interval.
        error, df: the standard error that it is made of, and its degrees of freedom.
    """
    return half + float(scipy.special.stdtrit(df, POWER)) * error if df > 0 else float("nan")


class Critical(NamedTuple):
    """The critical values of a look, in standard errors: of a difference, and of equivalence; degrees of freedom."""

    differs: float
    alike: float
    df: float


def blocks_needed(
    estimate: float, limit: float, noise: float, df: float, present: int, later: Callable[[int], Critical]
) -> Needed:
    """The number of blocks that decides, with the range that the uncertainty of the noise leaves.

    Args:
        estimate: the difference found so far, on the log scale; taken as the true one.
        limit: the smallest difference that matters, above 0.
        noise, df: the standard deviation of one run, and the degrees of freedom that it is known from.
        present: the blocks that are done; more are needed.
        later: the critical values after a number of blocks.
    """
    least, most = noise_interval(noise, df)
    low, middle, high = (_at(estimate, limit, one, present, later) for one in (least, noise, most))
    return Needed(blocks=middle, low=low, high=high)


def noise_interval(noise: float, df: float) -> tuple[float, float]:
    """The 80 % interval of a standard deviation that is known from ``df`` degrees of freedom."""
    quantiles = [(1 + side * _NOISE_INTERVAL) / 2 for side in (1, -1)]
    low, high = (noise * float(np.sqrt(df / scipy.special.chdtri(df, 1 - one))) for one in quantiles)
    return low, high


def _at(estimate: float, limit: float, noise: float, present: int, later: Callable[[int], Critical]) -> int | None:
    """The least number of blocks that decides with ``POWER`` at this noise.

    Critical values are computed where the number of added blocks is a power of two, and interpolated between.
    """

    def decides(blocks: int, critical: Critical) -> bool:
        error, away = noise * np.sqrt(2 / blocks), abs(estimate)
        differs = away >= (critical.differs + scipy.special.stdtrit(critical.df, POWER)) * error
        both = scipy.special.stdtrit(critical.df, (1 + POWER) / 2)
        return bool(differs or limit - away >= (critical.alike + both) * error)

    added = 1
    while not decides(present + added, later(present + added)):
        added *= 2
        if present + added > MAX_BLOCKS:
            return None
    high, low = later(present + added), later(present + max(added // 2, 1))
    for more in range(added // 2 + 1, added):
        at = float(np.log2(2 * more / added))
        differs, alike = (one + (other - one) * at for one, other in zip(low[:2], high[:2], strict=True))
        if decides(present + more, Critical(differs, alike, high.df)):
            return present + more
    return present + added
