"""Variances of several figures of the same runs, judged together."""

from __future__ import annotations

import numpy as np
import pytest

from hdbkit.analysis.statistics.variances import judged_variances


def judged(residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    df = np.full(residuals.shape[1], len(residuals) - 1.0)
    return judged_variances((residuals**2).sum(axis=0) / df, df, residuals)


def centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=0)


def test_equally_noisy_figures_share_their_degrees_of_freedom_and_none_is_below_its_own_variance() -> None:
    residuals = centred(np.random.default_rng(1).normal(0, 1, (4, 22)))
    variances, df = judged(residuals)
    own = (residuals**2).sum(axis=0) / 3
    assert (variances >= own - 1e-12).all()
    assert variances.min() > 0.5 * own.mean()
    assert (df > 5).all()


def test_figures_that_vary_alike_say_no_more_than_one_of_them() -> None:
    column = centred(np.random.default_rng(2).normal(0, 1, (4, 1)))
    variances, df = judged(np.repeat(column, 22, axis=1))
    assert df == pytest.approx(np.full(22, 3.0))
    assert variances == pytest.approx(np.full(22, float((column**2).sum() / 3)))
