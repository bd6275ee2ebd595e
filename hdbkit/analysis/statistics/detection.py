"""What a sweep can find: the probability that it calls a configuration with a given effect different.

The calculation follows the verdicts: Dunnett's critical value over all comparisons at what the last look spends,
the degrees of freedom of the block model, and its variances of configurations (``block_model``). Effects are in
standard deviations of a run, so one calculation serves every noise. Variances are drawn from their chi-squared
distributions, and the probability given them is normal: the power of a t test, averaged over what the verdict knows
of the noise. Earlier looks of the sweep add little and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.block_model import MIN_DF_FOR_DRIFT, of_noisy, rounded_lambda
from hdbkit.analysis.statistics.carry_over import TIMES_AS_MANY
from hdbkit.analysis.statistics.dunnett import critical_value
from hdbkit.analysis.statistics.power import POWER, noise_interval
from hdbkit.analysis.statistics.variances import moderated
from hdbkit.later import numpy as np
from hdbkit.later import scipy

_DRAWS = 300


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
    baseline_runs: int = 1
    """In each block."""

    @property
    def lost(self) -> float:
        """How many times as large the variance of a difference is as the blocks would make it."""
        return TIMES_AS_MANY if self.comparisons == 1 else 1.0


@dataclass(frozen=True)
class PooledNoise:
    """The standard deviation of a run on the log scale: an estimate and its range."""

    estimate: float
    low: float
    high: float


def pooled_noise(noises: Sequence[float], df: Sequence[float]) -> PooledNoise | None:
    """The noise of several sources with their degrees of freedom; None without any.

    The range is the 80 % interval of the pooled estimate, and all sources within it: noise differs from day to day.
    """
    total = sum(df)
    if not total:
        return None
    estimate = float(np.sqrt(np.average(np.square(noises), weights=df)))
    low, high = noise_interval(estimate, total)
    return PooledNoise(estimate, min(low, *noises, estimate), max(high, *noises, estimate))


def detection(design: Design, effects: Floats) -> Floats:
    """The probability that a configuration is called different in the right direction.

    Args:
        design: the planned sweep.
        effects: its true differences on the log scale, in standard deviations of a run.
    """
    half_widths = _half_widths(design)
    error = np.sqrt((1 / design.baseline_runs + 1) / design.blocks * design.lost)
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
    size, strata, times = design.comparisons + 1, design.counts * design.blocks, design.baseline_runs
    in_block = design.comparisons + times
    df = strata * (in_block - 1) - design.counts * design.comparisons
    df -= size == 2  # the column of the second model, which decides
    df -= df >= MIN_DF_FOR_DRIFT
    df = max(df, 1)
    cells = size * design.counts
    runs = np.where(np.arange(cells) % size == 0, times, 1)
    cell_df = runs * (design.blocks - (design.blocks - 1) / in_block) - 1
    cell_df *= df / cell_df.sum()
    draw = np.random.default_rng(1)
    errors, dfs, lambdas = [], [], []
    drawn = draw.chisquare(cell_df, (_DRAWS, cells)) / cell_df
    if size == 2:  # both have the same residuals, of opposite signs
        drawn[:, 1::2] = drawn[:, ::2]
    for own in drawn:
        pooled = float(np.average(own, weights=cell_df))
        variances, judged_df = moderated(own, cell_df, pooled, df)
        variances, judged_df = of_noisy(variances, judged_df, own, cell_df, pooled, df)
        parts = variances[:2] / runs[:2] / design.blocks * design.lost
        errors.append(np.sqrt(parts.sum()))
        dfs.append(min(float(parts.sum() ** 2 / (parts**2 / judged_df[:2]).sum()), df))
        lambdas.append(np.sqrt(variances[0] / (variances[0] + times * variances[1:size].max())))
    common = rounded_lambda(float(np.median(lambdas)))
    family = [[common] * design.comparisons] * design.counts
    critical = [critical_value(family, one, design.level) for one in dfs]
    half_widths: Floats = np.array(critical) * np.array(errors)
    return half_widths
