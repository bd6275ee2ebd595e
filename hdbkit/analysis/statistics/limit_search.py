"""The highest level at which a response stays within a limit: a search, then blocks of trials, then an interval.

A trial at a level (a rate, above 0) returns its excess: the logarithm of response over limit, 0 or less where the
limit holds. The mean excess must not fall with the level; single trials may. What is sought is the level at which a
trial that nothing disturbs is at the limit: disturbed trials widen the interval, and the mean of all trials may be
beyond the limit at its lower end.

The search brackets the limit by factors of two and bisects the bracket. Each block then has one trial at each of the
same levels around that place, in a random order. The trials of the search are not used further: they were chosen by
their own results.

The interval ends at levels that were tried. Upwards from the lowest level, each level's mean excess over the blocks
is tested against 0 (Student's t, one-sided, 2.5 %) until one is not below it; the last that is, is the lower end. The
upper end is found downwards from the highest level in the same way. Such a sequence keeps its error rate (Maurer,
Hothorn and Lehmacher 1995), so both ends together have a confidence of at least 95 %, whatever the shape of the
curve. The estimate is where the isotonic regression of the means (Ayer et al. 1955) crosses 0.

An interval is about the time of the blocks alone where the search arrived at a place that the blocks exclude, or the
blocks differ at the same levels, or have a trend (tests of ranks, at 10 %: Friedman 1937, Page 1963). Sources:
``docs/methods.md``.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import NamedTuple

from hdbkit.analysis.statistics import Floats
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy
from hdbkit.run_order import in_turn

MAX_EXCESS = math.log(10)
"""A trial counts as at most ten times or a tenth of the limit, so that no single one outweighs all others."""
MIN_SEARCH_BLOCKS = 2
_BISECTED = 1.05
"""The bisection ends when the ends of the bracket are at most this factor apart."""
_NEAR, _FAR = 1.03, 1.08
_FACTORS = (1 / _FAR, 1 / _NEAR, _NEAR, _FAR)
"""How far the levels of a block are from the middle of the bracket."""
_CHANGED_P = 0.02
"""The probability below which blocks that differ, or have a trend, are not taken for chance."""
_MAX_WIDER = 4
"""How often the levels reach twice as far (on the log scale), at most, to exclude what is undecided."""

Block = Mapping[float, float]
"""The excess at each level."""


class Trial(NamedTuple):
    """A trial to be made; ``block`` is 0 during the search."""

    block: int
    level: float


class RateEstimate(NamedTuple):
    """The highest level within the limit, and its 95 % interval; 0 or infinity where an end is unknown.

    ``changed``: the response changed in the course of the search, so the interval is about the time of its blocks.
    """

    level: float
    low: float
    high: float
    changed: bool = False


class LimitNotFound(Exception):
    """Up to the last ``level`` that was tried, or down to it, the limit always held, or never."""

    def __init__(self, level: float, within: bool) -> None:
        super().__init__(level, within)
        self.level, self.within = level, within


def search_limit(
    first: float, blocks: int, seed: int, bounds: tuple[float, float]
) -> Generator[Trial, float, Sequence[Block]]:
    """The trials of a search one by one; send the excess of each; returns the blocks, for ``estimate_rate``.

    The same excesses give the same trials, so an interrupted search continues by sending what is known.

    Args:
        first: the level of the first trial.
        blocks: the number of blocks, at least ``MIN_SEARCH_BLOCKS``.
        seed: of the order within the blocks.
        bounds: the lowest and the highest level that the search tries.

    Raises:
        LimitNotFound: the limit is not between the bounds.
    """
    low, high = yield from _bracket(min(max(_rounded(first), bounds[0]), bounds[1]), bounds)
    while high > _BISECTED * low:
        middle = _rounded(math.sqrt(low * high))
        low, high = (low, middle) if (yield Trial(0, middle)) > 0 else (middle, high)
    centre = math.sqrt(low * high)
    levels = [_rounded(centre * factor) for factor in _FACTORS]
    found: list[dict[float, float]] = [{} for _ in range(blocks)]
    for number in range(blocks):
        for _, level in sorted(zip(in_turn(len(levels), seed, number + 1), levels, strict=True)):
            found[number][level] = yield Trial(number + 1, level)
    for wider in range(1, _MAX_WIDER + 1):
        known = estimate_rate(found)
        factor = _FAR ** (2**wider)
        ends = [(known.low == 0, centre / factor), (known.high == math.inf, centre * factor)]
        for level in [_rounded(end) for unknown, end in ends if unknown]:
            for number in range(blocks):
                found[number][level] = yield Trial(number + 1, level)
    return found


def _bracket(level: float, bounds: tuple[float, float]) -> Generator[Trial, float, tuple[float, float]]:
    """Two levels, at most a factor of two apart: within the limit and beyond it."""
    within = (yield Trial(0, level)) <= 0
    while True:
        last, level = level, min(2 * level, bounds[1]) if within else max(level / 2, bounds[0])
        if level == last:
            raise LimitNotFound(level, within)
        if ((yield Trial(0, level)) <= 0) is not within:
            return (last, level) if within else (level, last)


def estimate_rate(blocks: Sequence[Block]) -> RateEstimate:
    """The estimate with its interval, from at least ``MIN_SEARCH_BLOCKS`` blocks with the same levels."""
    levels = sorted(blocks[0])
    excesses = np.clip([[one[level] for level in levels] for one in blocks], -MAX_EXCESS, MAX_EXCESS)
    means, errors = excesses.mean(axis=0), excesses.std(axis=0, ddof=1) / math.sqrt(len(blocks))
    margin = scipy.special.stdtrit(len(blocks) - 1, 0.975) * errors
    low, high = interval(levels, means - margin, means + margin)
    searched = math.exp(np.log(list(blocks[0])[: len(_FACTORS)]).mean())
    wide = scipy.special.stdtrit(len(blocks) - 1, 1 - _CHANGED_P / 4) * errors
    least, most = interval(levels, means - wide, means + wide)
    changed = not least <= searched <= most or _changing(excesses)
    return RateEstimate(_crossing(levels, means), low, high, changed)


def _changing(excesses: Floats) -> bool:
    """Whether blocks differ at the same levels beyond chance, or have a trend; ``excesses`` are (blocks, levels)."""
    blocks = len(excesses)
    ranks = pd.DataFrame(excesses).rank().to_numpy() - (blocks + 1) / 2
    variance = float((ranks**2).sum()) / (blocks - 1)
    if not variance:
        return False
    of_blocks, place = ranks.sum(axis=1), np.arange(blocks) - (blocks - 1) / 2
    differ = scipy.special.chdtrc(blocks - 1, (of_blocks**2).sum() / variance)
    trend = 2 * scipy.special.ndtr(-abs(place @ of_blocks) / math.sqrt(variance * (place**2).sum()))
    return bool(min(differ, trend) < _CHANGED_P)


def interval(levels: Sequence[float], lower: Floats, upper: Floats) -> tuple[float, float]:
    """The last level shown to be within the limit, as are all lower ones, and the first beyond it, as are all higher.

    ``lower`` and ``upper`` bound the mean excess at each level, with 97.5 % confidence each; ``levels`` ascend. 0 or
    infinity: no level is shown to be.
    """
    low = _last(zip(levels, upper < 0, strict=True), 0.0)
    return low, _last(reversed([*zip(levels, lower > 0, strict=True)]), math.inf)


def _last(sequence: Iterable[tuple[float, bool]], none: float) -> float:
    """The last level ahead of the first that is undecided."""
    for level, decided in sequence:
        if not decided:
            break
        none = level
    return none


def _crossing(levels: Sequence[float], means: Floats) -> float:
    """Where the isotonic regression crosses 0, over the logarithm of the level; an end if it does not."""
    fitted = scipy.optimize.isotonic_regression(means).x
    beyond = int(np.searchsorted(fitted, 0.0, "right"))
    ends = slice(max(beyond - 1, 0), beyond + 1)
    return math.exp(float(np.interp(0.0, fitted[ends], np.log(levels[ends]))))


def _rounded(level: float) -> float:
    return float(f"{level:.4g}")
