"""Verdicts on several figures of the same runs, which hold together.

The noise of all figures is judged together (``statistics.moderation``). The error rate of one look is divided by the
number of figures (Bonferroni), and within each by Dunnett's intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hdbkit.analysis.statistics.block_model import BlockModel, usable
from hdbkit.analysis.statistics.moderation import Floats, judged_variances
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.config.metric import Metric


@dataclass(frozen=True)
class Figure:
    """A figure of each run: ``values`` are in the order of the runs, NaN where it is not known."""

    names: Mapping[str, str]
    metric: Metric
    values: Sequence[float]


def judged_together(
    runs: pd.DataFrame,
    figures: Sequence[Figure],
    smallest_effect: float = 0.02,
    confidence: float = 0.95,
    level: float | None = None,
) -> pd.DataFrame:
    """The verdicts on each figure: the columns of ``verdicts.judge``, after those of ``Figure.names``.

    ``runs``, ``smallest_effect``, ``confidence`` and ``level`` as for ``judge``. Empty without figures.
    """
    at = 1 - (1 - (level or confidence)) / max(len(figures), 1)
    of_figures = [runs.assign(metric_value=pd.Series(one.values, runs.index, dtype="float64")) for one in figures]
    fitted = [BlockModel.fitted(values, one.metric) for values, one in zip(of_figures, figures, strict=True)]
    models = _moderated(fitted, of_figures)
    parts = []
    for figure, values, model in zip(figures, of_figures, models, strict=True):
        judged = judge(values, figure.metric, 0, smallest_effect, confidence, at, model=model)
        parts.append(pd.concat([pd.DataFrame(dict(figure.names), judged.index), judged], axis=1))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _moderated(models: Sequence[BlockModel], of_figures: Sequence[pd.DataFrame]) -> list[BlockModel]:
    """The models of all figures, each with the noise that is judged over all of them."""
    found = list(models)
    noisy = [place for place, one in enumerate(models) if one.df > 0 and one.noise > 0]
    if not noisy:
        return found
    residuals = np.zeros((len(of_figures[0]), len(noisy)))
    for column, place in enumerate(noisy):
        rows = of_figures[place].index.get_indexer(usable(of_figures[place]).index)
        residuals[rows, column] = models[place].residuals
    own, df = np.array([[models[place].noise ** 2, models[place].df] for place in noisy]).T
    for place, more, worth in zip(noisy, *_factors(own, df, residuals), strict=True):
        one = models[place]
        variances, cell_df = one.variances * more, one.cell_df * worth
        found[place] = replace(one, variances=variances, cell_df=cell_df, df=round(one.df * worth))
    return found


def _factors(own: Floats, df: Floats, residuals: Floats) -> tuple[list[float], list[float]]:
    """How many times its own the variance of each figure is judged to be, and its degrees of freedom."""
    variances, judged = judged_variances(own, df, residuals)
    return (variances / own).tolist(), (judged / df).tolist()
