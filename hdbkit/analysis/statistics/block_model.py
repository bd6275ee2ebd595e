"""The model behind verdicts and effects: log score = configuration + block + noise, for each count of virtual users.

The score is that of the metric (more is better). The unit of replication is a run: one row, one number. Blocks take
up what changes with time. The noise is pooled over the whole sweep. Least squares, so that a sweep with failed runs
is judged by those that are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hdbkit.config.metric import Metric

Floats = NDArray[np.float64]
Cell = tuple[int, int]
"""Virtual users and configuration."""


def usable(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that count: done, with a value above 0."""
    return runs[(runs["status"] == "done") & (runs["metric_value"] > 0)]


@dataclass(frozen=True)
class BlockModel:
    """The fitted model. ``noise`` is the standard deviation of one run on the log scale, NaN without ``df``."""

    cells: Mapping[Cell, int]
    coefficients: Floats
    covariance: Floats
    estimable: Floats
    noise: float
    df: int

    @classmethod
    def fitted(cls, runs: pd.DataFrame, metric: Metric) -> BlockModel:
        """The model of the usable ones among ``runs``."""
        done = usable(runs)
        pairs = list(zip(done["virtual_users"].tolist(), done["configuration"].tolist(), strict=True))
        strata = list(zip(done["virtual_users"].tolist(), done["block"].tolist(), strict=True))
        cells = {cell: index for index, cell in enumerate(sorted(set(pairs)))}
        blocks = {one: len(cells) + index for index, one in enumerate(sorted(set(strata)))}
        design = np.zeros((len(done), len(cells) + len(blocks)))
        rows = np.arange(len(done))
        design[rows, [cells[one] for one in pairs]] = 1
        design[rows, [blocks[one] for one in strata]] = 1
        y = np.log(metric.score(done["metric_value"].to_numpy(dtype=np.float64)))
        inverse = np.linalg.pinv(design) if len(done) else design.T
        estimable = inverse @ design
        coefficients = inverse @ y
        df = len(done) - round(float(np.trace(estimable)))
        residuals = y - design @ coefficients
        noise = float(np.sqrt(residuals @ residuals / df)) if df > 0 else float("nan")
        return cls(cells, coefficients, inverse @ inverse.T, estimable, noise, df)

    def difference(self, one: Cell, other: Cell) -> Floats | None:
        """The contrast ``one`` - ``other``; None when no chain of common blocks connects them."""
        if one not in self.cells or other not in self.cells:
            return None
        contrast = np.zeros(len(self.coefficients))
        contrast[self.cells[one]] += 1
        contrast[self.cells[other]] -= 1
        return contrast if np.allclose(contrast @ self.estimable, contrast, atol=1e-8) else None

    def estimate(self, contrast: Floats) -> tuple[float, float]:
        """A contrast's value on the log scale and its standard error."""
        variance = float(contrast @ self.covariance @ contrast)
        return float(contrast @ self.coefficients), self.noise * float(np.sqrt(max(variance, 0.0)))
