"""How many blocks find a difference: the power of a comparison in complete blocks.

A comparison of two configurations after ``n`` blocks has the standard error ``noise * sqrt(2 / n)``. It is decided
with the probability ``POWER`` once the distance to what must be excluded is the critical value and Student's quantile
of that power away, in standard errors (Cohen 1988; Julious 2004 for equivalence). The noise is itself an estimate,
from ``df`` degrees of freedom, so the number of blocks is a range (Browne 1995). Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from hdbkit.analysis.statistics.block_model import MIN_DF_FOR_DRIFT, Floats, moderated, of_baseline, rounded_lambda
from hdbkit.analysis.statistics.dunnett import critical_value
from hdbkit.results.finding import Needed

POWER = 0.8
"""The probability of a decision at the number of blocks that is advised."""
MAX_BLOCKS = 1000
"""Beyond this many blocks no number is given."""
_NOISE_INTERVAL = 0.8
"""The confidence of the interval of the noise."""
_DRAWS = 300


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


# What a sweep can find: the probability that it calls a configuration with a given effect different.
#
# The calculation follows the verdicts: Dunnett's critical value over all comparisons at what the last look spends,
# the degrees of freedom of the block model, and its variances of configurations (``block_model``). Effects are in
# standard deviations of a run, so one calculation serves every noise. Variances are drawn from their chi-squared
# distributions, and the probability given them is normal: the power of a t test, averaged over what the verdict knows
# of the noise. Earlier looks of the sweep add little and are left out.


@dataclass(frozen=True)
class Design:
    """A planned sweep of complete blocks, as far as its verdicts depend on it.

    ``comparisons`` is the number of configurations besides the baseline, ``counts`` that of counts of virtual users,
    ``level`` that of the intervals at the end.
    """

    comparisons: int
    counts: int
    blocks: int
    level: float


@dataclass(frozen=True)
class Noise:
    """The standard deviation of a run on the log scale: an estimate and its range."""

    estimate: float
    low: float
    high: float


def pooled_noise(noises: Sequence[float], df: Sequence[float]) -> Noise | None:
    """The noise of several sources with their degrees of freedom; None without any.

    The range is the 80 % interval of the pooled estimate, and all sources within it: noise differs from day to day.
    """
    total = sum(df)
    if not total:
        return None
    estimate = float(np.sqrt(np.average(np.square(noises), weights=df)))
    low, high = noise_interval(estimate, total)
    return Noise(estimate, min(low, *noises, estimate), max(high, *noises, estimate))


def detection(design: Design, effects: Floats) -> Floats:
    """The probability that a configuration is called different in the right direction.

    Args:
        design: the planned sweep.
        effects: its true differences on the log scale, in standard deviations of a run.
    """
    half_widths = _half_widths(design)
    error = np.sqrt(2 / design.blocks)
    found: Floats = scipy.special.ndtr((np.abs(effects)[:, None] - half_widths) / error).mean(axis=1)
    return found


@lru_cache(maxsize=256)
def detectable(design: Design) -> float:
    """The effect that is found with the probability ``POWER``, on the log scale in standard deviations of a run."""
    most = float(_half_widths(design).max()) + 10.0

    def missing(effect: float) -> float:
        return float(detection(design, np.array([effect]))[0]) - POWER

    return float(scipy.optimize.brentq(missing, 0.0, most, xtol=1e-4))


@lru_cache(maxsize=256)
def _half_widths(design: Design) -> Floats:
    """Half widths of the interval of a comparison, one per draw of what the verdict knows of the noise."""
    size, strata = design.comparisons + 1, design.counts * design.blocks
    df = strata * design.comparisons - design.counts * design.comparisons
    df -= df >= MIN_DF_FOR_DRIFT
    cells = size * design.counts
    cell_df = np.full(cells, df / cells)
    draw = np.random.default_rng(1)
    errors, dfs, lambdas = [], [], []
    drawn = draw.chisquare(cell_df, (_DRAWS, cells)) / cell_df
    if size == 2:  # both have the same residuals, of opposite signs
        drawn[:, 1::2] = drawn[:, ::2]
    for own in drawn:
        variances, judged_df = moderated(own, cell_df, float(own.mean()), df)
        baseline = np.arange(cells) == 0
        variances, judged_df = of_baseline(variances, judged_df, baseline, own, cell_df, float(own.mean()), df)
        parts = variances[:2] / design.blocks
        errors.append(np.sqrt(parts.sum()))
        dfs.append(min(float(parts.sum() ** 2 / (parts**2 / judged_df[:2]).sum()), df))
        lambdas.append(np.sqrt(variances[0] / (variances[0] + variances[1:size].max())))
    common = rounded_lambda(float(np.median(lambdas)))
    family = [[common] * design.comparisons] * design.counts
    critical = [critical_value(family, one, design.level) for one in dfs]
    half_widths: Floats = np.array(critical) * np.array(errors)
    return half_widths
