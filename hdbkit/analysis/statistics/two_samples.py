"""Means of independent units under one or several conditions, and the difference of two such samples.

The noise of a sample is pooled over its conditions (the counts of virtual users). A unit is measured under each of
them, so its values are correlated; the degrees of freedom of the pooled variance allow for that (Box 1954; estimated
as by Geisser and Greenhouse 1958, Ann. Math. Statist. 29, 885-891, which errs towards fewer).

Two samples have variances of their own and often very few units. The half width of a difference is the root of the
sum of both samples' squared half widths, which holds for any two variances (Banerjee 1960). Welch's degrees of
freedom, estimated from two units beside ten, are too many.

Units that follow each other in time are taken as a first-order autoregressive series: the variance of the difference
follows from the order of both samples' units (Bayley and Hammersley 1946), and is never reduced: in turn, correlation
makes a difference more exact. Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.autocorrelation import corrected
from hdbkit.analysis.statistics.dunnett import maximum_modulus
from hdbkit.later import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STANDARD_ERRORS = 0.5
"""Standard errors added to the estimated correlation; from our own simulations, for correlations up to 0.7."""


@dataclass(frozen=True)
class Sample:
    """The mean of each condition (NaN without a unit), the number of its units, and the variance of a unit.

    The variance, with its degrees of freedom, is NaN where no condition has two units.
    """

    means: Floats
    counts: Floats
    variance: float
    df: float

    @classmethod
    def of(cls, values: Floats) -> Sample:
        """The sample of these values, (units, conditions), NaN where a unit was not measured under a condition."""
        known = ~np.isnan(values)
        counts = known.sum(axis=0).astype(np.float64)
        means = np.where(known, values, 0).sum(axis=0) / np.where(counts, counts, np.nan)
        residuals = np.where(known, values - means, 0)
        df = float(np.maximum(counts - 1, 0).sum())
        if df == 0:
            return cls(means, counts, float("nan"), 0.0)
        return cls(means, counts, float((residuals**2).sum()) / df, independent_df(residuals, df))


@dataclass(frozen=True)
class Correlation:
    """What correlated units make of the variance of a difference and of its degrees of freedom: two factors."""

    variance: float = 1.0
    df: float = 1.0

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
