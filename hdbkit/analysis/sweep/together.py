"""Verdicts on several figures of the same runs, which hold together.

The error rate of one look is divided by the number of figures (Bonferroni), and within each by Dunnett's intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

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
    parts = []
    for figure in figures:
        values = pd.Series(figure.values, runs.index, dtype="float64")
        judged = judge(runs.assign(metric_value=values), figure.metric, 0, smallest_effect, confidence, at)
        parts.append(pd.concat([pd.DataFrame(dict(figure.names), judged.index), judged], axis=1))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
