"""Which configurations may be the best, and how good the leader probably is.

The one with the highest estimate owes a part of its lead to chance, the more configurations the larger, and is
often not the best. Stated are therefore all that may be: those that are not shown to be worse than the leader, by
one-sided simultaneous intervals (multiple comparisons with the best; Hsu 1984, Ann. Statist. 12, 1136-1144). The
true best is among them with the given confidence. And estimates are shrunk towards the mean of all configurations,
the more the less they differ beyond the noise (Efron and Morris 1973, J. Am. Statist. Assoc. 68, 117-130), which
takes the leader's lead from chance away on average.
"""

from __future__ import annotations

from collections.abc import Mapping

from hdbkit.analysis.statistics.block_model import BlockModel, Cell
from hdbkit.analysis.statistics.dunnett import critical_value
from hdbkit.later import numpy as np

MIN_CONFIGURATIONS = 4
"""Fewer are not shrunk: shrinking towards a mean that is estimated as well needs four (Efron and Morris 1973)."""


def candidates(model: BlockModel, users: int, level: float) -> set[int]:
    """The configurations at one count of virtual users of which one is the best with the probability ``level``."""
    cells = _cells(model, users)
    leader = max(cells, key=lambda cell: model.coefficients[model.cells[cell]])
    contrasts = {cell: model.difference(leader, cell) for cell in cells if cell != leader}
    behind = {cell: one for cell, one in contrasts.items() if one is not None}
    if not behind:
        return {leader[1]}
    family = [[model.common_noise(list(behind.values()))] * len(behind)]
    estimates = {cell: model.estimate(one) for cell, one in behind.items()}
    near = {
        configuration
        for (_, configuration), one in estimates.items()
        if any(by.value < critical_value(family, by.df, 2 * level - 1) * by.error for by in one.models)
    }
    return {leader[1], *near}


def shrunken(model: BlockModel, users: int) -> Mapping[int, float]:
    """The log score of each configuration at one count of users less their mean, shrunk towards that mean.

    Empty with fewer than ``MIN_CONFIGURATIONS``, or where they have no common blocks.
    """
    cells = _cells(model, users)
    contrasts = [model.from_mean(cell, cells) for cell in cells]
    if len(cells) < MIN_CONFIGURATIONS or any(one is None for one in contrasts):
        return {}
    estimates = [model.estimate(one) for one in contrasts if one is not None]
    values, variances = np.array([one.value for one in estimates]), np.array([one.error**2 for one in estimates])
    between = max(float(values @ values) / (len(cells) - 1) - float(variances.mean()), 0.0)
    kept = between / (between + variances) if between else np.zeros_like(values)
    return {cell[1]: float(one) for cell, one in zip(cells, kept * values, strict=True)}


def _cells(model: BlockModel, users: int) -> list[Cell]:
    return [cell for cell in model.cells if cell[0] == users]
