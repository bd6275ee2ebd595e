"""Tails of two distributions, for the checks after each run: importing ``scipy.special`` would take 0.4 s."""

from __future__ import annotations

import math

import numpy as np

_REACH = 40
"""Standard deviations around the mean beyond which a count has no weight."""


def chi_square_tail(x: float, df: int) -> float:
    """The probability of a value above ``x`` (Abramowitz and Stegun 1964, 26.4.4 and 26.4.5)."""
    if x <= 0:
        return 1.0
    half, odd = x / 2, df % 2
    terms = (odd / 2 + index for index in range(df // 2))
    start = math.erfc(math.sqrt(half)) if odd else 0.0
    return start + sum(math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in terms)


def binomial_range(n: int, share: float, tail: float) -> tuple[int, int]:
    """The least counts of ``n`` whose cumulative probabilities reach ``tail`` and 1 - ``tail``."""
    reach = _REACH * (1 + math.sqrt(n * share * (1 - share)))
    low, high = max(0, math.floor(n * share - reach)), min(n, math.ceil(n * share + reach))
    counts = np.arange(low, high + 1)
    steps = np.log((n - counts[1:] + 1) / counts[1:] * (share / (1 - share)))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    reached = np.cumsum(weights) / weights.sum()
    return int(counts[np.searchsorted(reached, tail)]), int(counts[np.searchsorted(reached, 1 - tail)])
