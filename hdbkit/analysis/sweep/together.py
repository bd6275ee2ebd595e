"""Several figures of the same runs: verdicts on them that hold together.

The noise of all figures is judged together (``variances.judged_variances``). The error rate of one look is divided
by the number of figures (Bonferroni), and within each by Dunnett's intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hdbkit.analysis.run.quantiles import MARGINS
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.block_model import BlockModel, usable
from hdbkit.analysis.statistics.variances import judged_variances
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.wording import CONFIDENCE
from hdbkit.config.metric import Metric
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Of, Ratio


@dataclass(frozen=True)
class RunFigure:
    """A figure of each run: ``values`` are in the order of the runs, NaN where it is not known."""

    of: Of
    operation: str
    metric: Metric
    values: Sequence[float]
    quantile: str = ""


def judged_together(
    runs: pd.DataFrame, figures: Sequence[RunFigure], smallest_effect: float = 0.02, level: float = CONFIDENCE
) -> list[Ratio]:
    """The verdicts on each figure, one figure after the other.

    ``runs``, ``smallest_effect`` and ``level`` as for ``verdicts.judge``.
    """
    at = 1 - (1 - level) / max(len(figures), 1)
    of_figures = [
        runs.assign(metric_value=pd.Series(figure.values, runs.index, dtype="float64")) for figure in figures
    ]
    fitted = [BlockModel.fitted(values, figure.metric) for values, figure in zip(of_figures, figures, strict=True)]
    ratios = []
    for figure, values, model in zip(figures, of_figures, _moderated(fitted, of_figures), strict=True):
        about = {"of": figure.of, "figure": figure.operation, "quantile": figure.quantile}
        judged = judge(values, figure.metric, 0, MARGINS[figure.quantile] * smallest_effect, at, model=model)
        ratios += [ratio.model_copy(update=about) for ratio in judged]
    return ratios


def _moderated(models: Sequence[BlockModel], of_figures: Sequence[pd.DataFrame]) -> list[BlockModel]:
    """The models of all figures, each with the noise that is judged over all of them."""
    found = list(models)
    noisy = [position for position, one in enumerate(models) if one.df > 0 and one.noise > 0]
    if not noisy:
        return found
    residuals = np.zeros((len(of_figures[0]), len(noisy)))
    for column, position in enumerate(noisy):
        rows = of_figures[position].index.get_indexer(usable(of_figures[position]).index)
        residuals[rows, column] = models[position].residuals
    own, df = np.array([[models[position].noise ** 2, models[position].df] for position in noisy]).T
    for position, more, worth in zip(noisy, *_factors(own, df, residuals), strict=True):
        found[position] = models[position].judged(more, worth)
    return found


def _factors(own: Floats, df: Floats, residuals: Floats) -> tuple[list[float], list[float]]:
    """How many times its own the variance of each figure is judged to be, and its degrees of freedom."""
    variances, judged = judged_variances(own, df, residuals)
    return (variances / own).tolist(), (judged / df).tolist()
