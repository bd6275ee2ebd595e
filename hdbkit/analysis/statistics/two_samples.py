"""Means of independent units under one or several conditions, and the difference of two such samples.

The noise of a sample is pooled over its conditions (the counts of virtual users). A unit is measured under each of
them, so its values are correlated; the degrees of freedom of the pooled variance allow for that (Box 1954; estimated
as by Geisser and Greenhouse 1958, Ann. Math. Statist. 29, 885-891, which errs towards fewer).

Two samples have variances of their own and often very few units. The half width of a difference is the root of the
sum of both samples' squared half widths, which holds for any two variances (Banerjee 1960). Welch's degrees of
freedom, estimated from two units beside ten, are too many.

Units that follow each other in time are taken as a first-order autoregressive series: the variance of the difference
follows from the order of both samples' units (Bayley and Hammersley 1946), and is never reduced: in turn, correlation
makes a difference more exact. Differences of sides that were measured at the same time have no order to randomize:
their mean allows for the correlation of neighbouring ones. Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.autocorrelation import corrected, inflation
from hdbkit.analysis.statistics.carry_over import EffectEstimate
from hdbkit.analysis.statistics.dunnett import maximum_modulus
from hdbkit.later import numpy as np
from hdbkit.later import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STANDARD_ERRORS = 0.5
"""Standard errors added to the estimated correlation; from our own simulations, for correlations up to 0.7."""
_OF_A_SERIES = 1.1
"""The same of one series of differences; from our own simulations, for correlations up to 0.5."""
_CONSTANT = 1e-9
"""A column whose sum of squares is below this does not vary."""
_NO_NOISE = 1e-20
"""A variance of logarithms that is not above this is that of rounding."""


@dataclass(frozen=True)
class Sample:
    """The mean of each condition (NaN without a unit), the number of its units, and the variance of a unit.

    The variance, with its degrees of freedom, is NaN where no condition has two units.
    """

    means: Floats
    counts: Floats
    variance: float
    df: float
    again: Sample | None = None
    """The same means by a second model, which must agree (``carry_over``); its counts are effective ones."""

    @classmethod
    def of(cls, values: Floats, beside: Floats | None = None) -> Sample:
        """The sample of these values, (units, conditions), NaN where a unit was not measured under a condition.

        With a column ``beside`` each mean is that of units in which it is 0, by a regression on it.
        """
        known = ~np.isnan(values)
        counts = known.sum(axis=0).astype(np.float64)
        measured = np.where(counts, counts, np.nan)
        means = np.where(known, values, 0).sum(axis=0) / measured
        residuals, free = np.where(known, values - means, 0), counts - 1
        if beside is not None:
            middle = np.where(known, beside, 0).sum(axis=0) / measured
            away = np.where(known, beside - middle, 0)
            squares = (away**2).sum(axis=0)
            varies = squares > _CONSTANT
            slopes = (away * residuals).sum(axis=0) / np.where(varies, squares, np.inf)
            means, residuals, free = means - slopes * middle, residuals - away * slopes, free - varies
            counts = 1 / (1 / measured + middle**2 / np.where(varies, squares, np.inf))
        df = float(np.maximum(free, 0).sum())
        if df == 0:
            return cls(means, counts, float("nan"), 0.0)
        return cls(means, counts, float((residuals**2).sum()) / df, independent_df(residuals, df))

    @property
    def estimate(self) -> EffectEstimate:
        """The mean of its one condition, by each model."""
        error = float(np.sqrt(self.variance / self.counts[0]))
        again = None if self.again is None else self.again.estimate
        return EffectEstimate(float(self.means[0]), error, self.df, again)

    def judged(self, variance: float, df: float) -> Sample:
        """The sample with another variance and its degrees of freedom; those of a second model change alike.

        One without any noise of its own has nothing to change alike: its second model then has the same variance.
        """
        more, worth = (variance / self.variance, df / self.df) if self.variance > _NO_NOISE else (0.0, 1.0)
        again = self.again and replace(
            self.again, variance=self.again.variance * more or variance, df=self.again.df * worth
        )
        return replace(self, variance=variance, df=df, again=again)


@dataclass(frozen=True)
class Correlation:
    """What correlated units make of the variance of a difference and of its degrees of freedom: two factors."""

    variance: float = 1.0
    df: float = 1.0

    @classmethod
    def of_series(cls, values: Floats) -> Correlation:
        """What the correlation of neighbouring units adds to the error of a mean of (units, conditions)."""
        known = ~np.isnan(values)
        residuals = np.where(known, values - Sample.of(values).means, 0)
        squares, units = float((residuals**2).sum()), len(values)
        plain = float((residuals[1:] * residuals[:-1]).sum()) / squares if squares else 0.0
        return cls(*inflation(plain, units, units, 1, _OF_A_SERIES))

    def of(self, sample: Sample) -> Sample:
        """The sample with the variance and the degrees of freedom that allow for it."""
        if self.variance == 1:
            return sample
        return replace(sample, variance=sample.variance * self.variance, df=max(sample.df * self.df, 1.0))


def correlated(first: NDArray[np.bool_], values: Floats) -> Correlation:
    """What the correlation of neighbouring units adds to the error of the difference of two samples.

    Args:
        first: for each unit, in the order of time, whether it belongs to the first sample; both have two or more.
        values: of each unit under each condition, NaN where it was not measured.
    """
    residuals, weights, units = np.zeros_like(values), np.zeros(len(first)), len(first)
    for of_it, sign in ((first, 1), (~first, -1)):
        known = ~np.isnan(values[of_it])
        means = np.where(known, values[of_it], 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        residuals[of_it] = np.where(known, values[of_it] - means, 0)
        weights[of_it] = sign / of_it.sum()
    squares = float((residuals**2).sum())
    plain = float((residuals[1:] * residuals[:-1]).sum()) / squares if squares else 0.0
    rho = corrected(plain, units, _STANDARD_ERRORS)
    apart = abs(np.subtract.outer(np.arange(units), np.arange(units))).astype(np.float64)
    between: Floats = np.power(np.full_like(apart, rho), apart)
    added = float(weights @ between @ weights) / float(weights @ weights)
    added /= min(_left(between[np.ix_(of_it, of_it)]) for of_it in (first, ~first))
    return Correlation(added, (1 - rho**2) / (1 + rho**2)) if added > 1 else Correlation()


def _left(between: Floats) -> float:
    """The expected variance of a sample with these correlations, as a share of that of independent units."""
    units = len(between)
    return max((units - float(between.sum()) / units) / (units - 1), 1 / units)


def half_widths(samples: Sequence[Sample], confidence: float = 0.95) -> Floats:
    """The half width of each condition's interval, for a sample's means or the difference of two samples' means.

    The intervals hold together over all conditions. NaN without a variance or a value; 0 where there is no noise.

    Example:
        >>> same = Sample.of(np.array([[0.1], [0.2], [0.3]]))
        >>> half_widths([same]), half_widths([same, same])
        (array([0.24841377]), array([0.35131012]))
    """
    parts = np.array([one.variance / np.where(one.counts, one.counts, np.nan) for one in samples])
    total: Floats = parts.sum(axis=0)
    conditions = int((~np.isnan(total)).sum())
    if not conditions:
        return total
    own = np.array([maximum_modulus(conditions, one.df, confidence) for one in samples])
    found: Floats = np.sqrt((parts * own[:, None] ** 2).sum(axis=0))
    return found


def two_sided_p(samples: Sequence[Sample]) -> float:
    """The probability by chance of such a mean of one condition, or of such a difference of two samples' means.

    Of two samples with the fewer degrees of freedom, and of two models the larger one, which errs on the safe side.
    NaN without a variance.

    Example:
        >>> round(two_sided_p([Sample.of(np.array([[0.1], [0.2], [0.3]]))]), 3)
        0.074
    """
    if not samples:
        return float("nan")
    return float(np.max([_p(model) for model in models(samples)]))


def models(samples: Sequence[Sample]) -> list[list[Sample]]:
    """The samples by each model that they have, at least one."""
    second = [sample.again or sample for sample in samples]
    return [list(samples), *([second] if any(sample.again for sample in samples) else [])]


def _p(samples: Sequence[Sample]) -> float:
    means = samples[0].means - (samples[1].means if len(samples) > 1 else 0)
    error = float(np.sqrt(sum(one.variance / one.counts[0] for one in samples)))
    if not error > 0:
        return float("nan")
    return 2 * float(scipy.special.stdtr(min(one.df for one in samples), -abs(float(means[0])) / error))


def independent_df(residuals: Floats, df: float) -> float:
    """The degrees of freedom of a variance pooled over correlated conditions, at most ``df``.

    ``residuals`` are (units, conditions), 0 where a unit was not measured.
    """
    squares = residuals.T @ residuals
    repeated = int((np.diag(squares) > 0).sum())
    if not repeated:
        return df
    independent = float(np.trace(squares)) ** 2 / float((squares**2).sum())
    return df * min(independent / repeated, 1.0)
