"""Variances of several figures of the same runs, such as the times of 22 queries, each estimated from few runs.

One variance from three blocks says little; 22 of them together say how noisy such figures are. Each is shrunk towards
the pooled one, the more the less they differ beyond chance (``block_model.moderated``; Smyth 2004). Figures of one
run are correlated, so what they say together has fewer degrees of freedom than their sum (Box 1954).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hdbkit.analysis.statistics.block_model import moderated
from hdbkit.analysis.statistics.two_samples import independent_df

Floats = NDArray[np.float64]


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
