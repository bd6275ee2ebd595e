"""What is known of configurations that were not run, from those that were: a Gaussian process over a finite set.

Two configurations are alike by each setting on its own, and by all of them together: the covariance is the mean of
the settings' kernels plus half of their product (additive and full kernels: Duvenaud, Nickisch and Rasmussen,
2011). So a setting that helps everywhere is learned from any run, and settings that help each other are still
found. Which to run next is what promises the largest expected improvement (Jones, Schonlau and Welch, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.statistics import Floats
from hdbkit.later import numpy as np
from hdbkit.later import scipy

_NEAR = 0.5
"""The distance, of a setting's whole range, at which ordered values are still much alike: exp(-1/2)."""
_TOGETHER = 0.5
"""The weight of all settings together beside that of each on its own."""
_NOISE = 0.02
"""The variance between equal runs, of the variance of what was reached."""


class Surrogate:
    """Predicts the results of points from those of measured points.

    Args:
        ordered: by setting, whether its values are ordered by size; the places of such a one lie between 0 and 1.
        points: places of what was run, points x settings.
        reached: by each point, on any scale.
    """

    def __init__(self, ordered: Sequence[bool], points: Floats, reached: Floats) -> None:
        self._ordered, self._points = ordered, points
        self._values = (reached - reached.mean()) / (reached.std() or 1.0)

    def believe(self, points: Floats) -> None:
        """Treat these points as measured, at their expected values: they already run in the same block."""
        for point in points:
            expected, _ = self._expected(point[None])
            self._points = np.vstack([self._points, point])
            self._values = np.append(self._values, expected)

    def improvement(self, points: Floats) -> Floats:
        """By point, how far above the best so far it is expected to be, in standard deviations of what is known."""
        mean, deviation = self._expected(points)
        above = mean - self._values.max()
        z = above / deviation
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        return np.asarray(above * scipy.special.ndtr(z) + deviation * density)

    def _expected(self, points: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation by point."""
        known = self._covariance(self._points, self._points) + _NOISE * np.eye(len(self._points))
        between = self._covariance(self._points, points)
        weights = np.linalg.solve(known, np.column_stack([self._values, between]))
        variance = 1 + _TOGETHER - (between * weights[:, 1:]).sum(axis=0)
        return between.T @ weights[:, 0], np.sqrt(np.maximum(variance, 1e-9))

    def _covariance(self, some: Floats, others: Floats) -> Floats:
        total, product = np.zeros((len(some), len(others))), np.ones((len(some), len(others)))
        for setting, ordered in enumerate(self._ordered):
            apart = some[:, setting, None] - others[None, :, setting]
            alike = np.exp(-0.5 * (apart / _NEAR) ** 2) if ordered else (apart == 0).astype(float)
            total += alike
            product *= alike
        return np.asarray(total / len(self._ordered) + _TOGETHER * product)
