"""Dunnett's critical value: how wide simultaneous intervals of many-to-one comparisons must be.

Several comparisons with one baseline share its noise. Their t statistics follow a multivariate t distribution whose
correlations are products ``lambda_i * lambda_j``; the value found here covers all of them at once with the wanted
confidence. Groups have baselines of their own (one for each count of virtual users) and share only the estimate of
the noise. The probability is integrated by fixed quadrature, so equal questions have equal answers to the last bit.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

from hdbkit.analysis.statistics import Floats
from hdbkit.later import numpy as np
from hdbkit.later import scipy

_Groups = tuple[tuple[float, ...], ...]

_NODES = 96
TABULATED_DF = (*range(1, 13), 14, 15, 16, 18, 20, 21, 24, 28, 30, 36, 40, 50, 60, 80, 120, 240, 1000, 100_000)
"""The degrees of freedom between which critical values are interpolated."""
_Z_END = 8.5
_TAIL = 1e-13
_RESOLVED = 1e-3
"""Where the quadrature misses Student's probability by more than this of its tail, Bonferroni's value stands."""


def equal_replication(comparisons: int, groups: int = 1, baseline_runs: int = 1) -> _Groups:
    """The family of ``groups`` x ``comparisons`` when every configuration was run equally often.

    Two comparisons then have a correlation of 0.5, less with ``baseline_runs`` times as many runs of the baseline.
    """
    return ((float((1 + baseline_runs) ** -0.5),) * comparisons,) * groups


def maximum_modulus(contrasts: int, df: float, confidence: float = 0.95) -> float:
    """The two-sided critical value of this number of contrasts that share the estimate of the noise.

    The studentized maximum modulus (Stoline and Ury 1979, Technometrics 21, 87-93): exact for contrasts without
    correlation, and by Sidak's inequality wide enough for those of any.

    Example:
        >>> round(maximum_modulus(3, df=10), 2)
        2.83
    """
    return critical_value([[0.0] * contrasts], df, confidence)


def critical_value(groups: Sequence[Sequence[float]], df: float, confidence: float = 0.95) -> float:
    """The two-sided critical value of a family of comparisons.

    Args:
        groups: for each baseline the ``lambda_i`` of its comparisons, each in [0, 1); with run counts ``n_i`` against
            ``n_0`` of the baseline that is ``sqrt(n_i / (n_0 + n_i))``.
        df: degrees of freedom of the noise; fewer than 1 are taken as 1. Between the values of ``TABULATED_DF`` it is
            interpolated over 1 / df, which gives slightly more.
        confidence: the probability that all intervals hold.

    Example:
        >>> round(critical_value(equal_replication(3), df=10), 2)
        2.76
    """
    family = tuple(tuple(round(one, 6) for one in group) for group in groups if len(group))
    if not family or not df > 0:
        raise ValueError(f"needs a comparison and degrees of freedom, not {len(family)} and {df}")
    above = min(bisect.bisect_left(TABULATED_DF, df), len(TABULATED_DF) - 1)
    if df >= TABULATED_DF[above] or not above:
        return _critical_value(family, TABULATED_DF[above], confidence)
    ends = [_critical_value(family, one, confidence) for one in (TABULATED_DF[above], TABULATED_DF[above - 1])]
    return float(np.interp(1 / df, [1 / TABULATED_DF[above], 1 / TABULATED_DF[above - 1]], ends))


@cache
def _critical_value(family: _Groups, df: int, confidence: float) -> float:
    comparisons = sum(map(len, family))
    alone = -float(scipy.special.stdtrit(df, (1 - confidence) / 2))
    bonferroni = -float(scipy.special.stdtrit(df, (1 - confidence) / 2 / comparisons))
    if abs(_probability(alone, ((0.0,),), df) - confidence) > _RESOLVED * (1 - confidence):
        return bonferroni
    found = scipy.optimize.brentq(
        lambda c: _probability(c, family, df) - confidence, alone * 0.999, bonferroni * 1.001 + 1e-6, xtol=1e-8
    )
    return float(found)


def _probability(c: float, family: _Groups, df: int) -> float:
    """The probability that every ``|t_i|`` is at most ``c``: outer integral over the noise, inner over a baseline."""
    s, weight = _noise_nodes(df)
    inside = np.ones_like(s)
    for group, times in Counter(tuple(sorted(one)) for one in family).items():
        inside *= _group_inside(c * s, group) ** times
    return float(weight @ inside)


def _group_inside(limit: Floats, group: tuple[float, ...]) -> Floats:
    z, weight = _baseline_nodes()
    product = np.ones((len(limit), len(z)))
    for factor, times in Counter(group).items():
        rest = np.sqrt(1 - factor**2)
        upper = scipy.special.ndtr((limit[:, None] + factor * z) / rest)
        lower = scipy.special.ndtr((-limit[:, None] + factor * z) / rest)
        product *= (upper - lower) ** times
    return np.asarray(product @ weight, dtype=np.float64)


@cache
def _noise_nodes(df: int) -> tuple[Floats, Floats]:
    """Nodes and weights over (estimated noise / true noise), which is chi distributed."""
    inverses = scipy.special.gammaincinv, scipy.special.gammainccinv
    low, high = (math.sqrt(2 * inverse(df / 2, _TAIL)) for inverse in inverses)
    x, weight = _legendre(low, high)
    log_density = scipy.special.xlogy(df - 1, x) - x**2 / 2
    density = weight * np.exp(log_density - log_density.max())
    return x / np.sqrt(df), density / density.sum()


@cache
def _baseline_nodes() -> tuple[Floats, Floats]:
    """The upper half of the nodes, with twice their weights: what is integrated is the same at ``z`` and ``-z``."""
    x, weight = _legendre(-_Z_END, _Z_END)
    upper = x > 0
    return x[upper], 2 * weight[upper] * np.exp(-(x[upper] ** 2) / 2) / np.sqrt(2 * np.pi)


def _legendre(low: float, high: float) -> tuple[Floats, Floats]:
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    return (high + low) / 2 + (high - low) / 2 * x, weight * (high - low) / 2
