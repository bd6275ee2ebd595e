"""Variances of several figures of the same runs, such as the times of 22 queries, each estimated from few runs.

One variance from three blocks says little; 22 of them together say how noisy such figures are. Each is shrunk
towards the pooled one, the more the less they differ beyond chance (``moderated``; Smyth 2004). Figures
of one run are correlated, so what they say together has fewer degrees of freedom than their sum (Box 1954).
"""

from __future__ import annotations

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.two_samples import independent_df
from hdbkit.later import numpy as np
from hdbkit.later import scipy

_MIN_VARIANCE = 0.02
"""The least variance of a cell that enters the comparison of cells, as a share of the pooled one."""
_NEWTON_STEPS = 8


def moderated(own: Floats, cell_df: Floats, pooled: float, df: int) -> tuple[Floats, Floats]:
    """The variances as they are judged, and their degrees of freedom."""
    if df <= 0 or pooled <= 0:
        return np.full_like(own, max(pooled, 0.0) if df > 0 else np.nan), np.full_like(own, max(df, 1))
    prior_df = _prior_df(np.maximum(own, _MIN_VARIANCE * pooled)[cell_df > 0.1], cell_df[cell_df > 0.1])
    if np.isinf(prior_df):
        return np.maximum(own, pooled), np.full_like(own, df)
    shrunk = (prior_df * pooled + cell_df * own) / (prior_df + cell_df)
    return np.maximum(own, shrunk), prior_df + cell_df


def _prior_df(variances: Floats, df: Floats) -> float:
    """How many degrees of freedom the pooled variance is worth beside a cell's own; infinite if cells are alike."""
    if len(variances) < 2:
        return float("inf")
    logs = np.log(variances) - scipy.special.digamma(df / 2) + np.log(df / 2)
    by_chance = float(scipy.special.polygamma(1, df / 2).mean())
    beyond = float(logs.var(ddof=1)) - by_chance * (1 - np.sqrt(2 / (len(logs) - 1)))
    return 2 * _inverse_trigamma(beyond) if beyond > 0 else float("inf")


def _inverse_trigamma(value: float) -> float:
    """By Newton's method on 1 / trigamma, which converges from here (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(_NEWTON_STEPS):
        trigamma = float(scipy.special.polygamma(1, x))
        x += trigamma * (1 - trigamma / value) / float(scipy.special.polygamma(2, x))
    return x


def judged_variances(own: Floats, df: Floats, residuals: Floats) -> tuple[Floats, Floats]:
    """The variances as they are judged, none below its own, and their degrees of freedom.

    Args:
        own: the variance of each figure.
        df: its degrees of freedom, above 0.
        residuals: those of all figures, (runs, figures), 0 where a run has no value.

    Example:
        >>> judged_variances(np.array([2.0] * 3), np.array([2.0] * 3), np.zeros((3, 3)))
        (array([2., 2., 2.]), array([6., 6., 6.]))
    """
    total = float(df.sum())
    pooled = float((own * df).sum()) / total
    scale = np.sqrt(np.where(own > 0, own, 1.0))
    together = independent_df(residuals / scale, total)
    variances, judged = moderated(own, df, pooled, round(total))
    return variances, np.maximum(np.minimum(judged, together), df)
