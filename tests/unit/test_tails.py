"""The tails of two distributions, beside scipy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from hdbkit.analysis.statistics.tails import binomial_range, chi_square_tail


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 8, 21])
@pytest.mark.parametrize("x", [0.0, 1e-9, 0.3, 2.5, 20.0, 400.0])
def test_chi_square(x: float, df: int) -> None:
    assert chi_square_tail(x, df) == pytest.approx(float(scipy.special.chdtrc(df, x)), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 7, 100, 12_345, 40_000_000])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.5, 0.97])
@pytest.mark.parametrize("tail", [5e-5, 0.025])
def test_binomial(n: int, share: float, tail: float) -> None:
    expected = [int(scipy.stats.binom.ppf(level, n, share)) for level in (tail, 1 - tail)]
    assert np.abs(np.array(binomial_range(n, share, tail)) - expected).max() <= (n > 10**6)
