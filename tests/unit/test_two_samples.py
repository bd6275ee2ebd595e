"""Intervals of means of units, and of differences of two samples with few units and unequal noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy

from bench.verdicts.noise import autoregressive
from hdbkit.analysis.statistics.two_samples import Correlation, Sample, half_widths, models


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def test_one_sample_has_students_interval() -> None:
    values = [0.01, 0.03, -0.02, 0.05]
    expected = scipy.stats.t.ppf(0.975, 3) * np.std(values, ddof=1) / 2
    assert half_widths([Sample.of(column(*values))]) == pytest.approx([expected], rel=1e-4)


def test_a_difference_of_two_samples_has_the_bound_of_banerjee() -> None:
    few, many = [0.0, 0.02], list(np.linspace(-0.05, 0.05, 10))
    parts = [np.var(one, ddof=1) / len(one) for one in (few, many)]
    quantiles = scipy.stats.t.ppf(0.975, [1, 9])
    expected = np.sqrt(np.dot(parts, quantiles**2))
    found = half_widths([Sample.of(column(*few)), Sample.of(column(*many))])
    assert found == pytest.approx([expected], rel=1e-4)


def test_a_mean_beside_a_column_is_that_where_the_column_is_0() -> None:
    """As by ordinary least squares; where the column does not vary it is the plain mean."""
    values, beside = [0.01, 0.03, -0.02, 0.05, 0.04], [0.0, -1.0, 0.0, 0.0, -1.0]
    design = np.column_stack([np.ones(5), beside])
    fit, squares, *_ = np.linalg.lstsq(design, values, rcond=None)
    error = np.sqrt(squares[0] / 3 * np.linalg.inv(design.T @ design)[0, 0])
    found = Sample.of(column(*values), column(*beside))
    assert (found.means[0], found.df) == pytest.approx((fit[0], 3.0))
    assert half_widths([found])[0] == pytest.approx(scipy.stats.t.ppf(0.975, 3) * error, rel=1e-4)
    constant, plain = Sample.of(column(*values), column(*[-1.0] * 5)), Sample.of(column(*values))
    assert (constant.means[0], constant.df) == (plain.means[0], plain.df)


def test_another_variance_changes_both_models_alike() -> None:
    values, beside = column(0.01, 0.03, -0.02, 0.05), column(0.0, -1.0, 0.0, -1.0)
    sample = replace(Sample.of(values), again=Sample.of(values, beside))
    first, second = models([sample.judged(4 * sample.variance, 2 * sample.df)])
    assert sample.again is not None
    assert (first[0].variance, second[0].variance) == pytest.approx((4 * sample.variance, 4 * sample.again.variance))
    assert second[0].df == 2 * sample.again.df


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
def test_correlated_differences_are_seldom_called_different(correlation: float) -> None:
    """Taken as independent 3.9, 12 and 21 % of 8 are."""
    made = autoregressive(correlation, (1500, 8), np.random.default_rng(6))
    samples = [Correlation.of_series(one[:, None]).of(Sample.of(one[:, None])) for one in made]
    called = [abs(one.means[0]) > half_widths([one], 0.96)[0] for one in samples]
    assert np.mean(called) <= 0.065


def test_two_units_beside_ten_are_seldom_called_different() -> None:
    draw = np.random.default_rng(4)
    called = 0
    for _ in range(400):
        few, many = (Sample.of(draw.normal(0, 1, (units, 1))) for units in (2, 10))
        called += bool(abs(few.means - many.means)[0] > half_widths([few, many])[0])
    assert called <= 30, "Welch's test calls 40"


@pytest.mark.parametrize("shared", [0.0, 3.0])
def test_intervals_of_several_conditions_hold_together_whatever_they_share(shared: float) -> None:
    draw = np.random.default_rng(5)
    missed = 0
    for _ in range(300):
        values = draw.normal(0, shared, (6, 1)) + draw.normal(0, 1, (6, 4))
        one = Sample.of(values)
        missed += bool((abs(one.means) > half_widths([one])).any())
    assert missed <= 24


def test_conditions_that_vary_together_count_as_one() -> None:
    together = np.repeat(np.array([[0.0], [1.0], [3.0]]), 4, axis=1)
    assert Sample.of(together).df == pytest.approx(2)
    apart = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert Sample.of(apart).df == pytest.approx(6)


def test_what_was_not_measured_has_no_interval_and_takes_no_part_in_the_others() -> None:
    with_gap = np.array([[1.0, np.nan, np.nan], [2.0, np.nan, 5.0], [4.0, np.nan, np.nan]])
    found = Sample.of(with_gap)
    assert found.counts.tolist() == [3, 0, 1]
    assert found.means[[0, 2]] == pytest.approx([7 / 3, 5])
    assert np.isnan(found.means[1])
    widths = half_widths([found])
    assert np.isfinite(widths[[0, 2]]).all(), "one unit has the noise of the others"
    assert np.isnan(widths[1])


def test_without_a_second_unit_there_is_no_interval_and_without_noise_no_width() -> None:
    assert np.isnan(half_widths([Sample.of(column(1.0))])).all()
    assert half_widths([Sample.of(column(1.0, 1.0)), Sample.of(column(2.0, 2.0))]).tolist() == [0.0]


def test_a_sample_without_noise_is_judged_by_that_of_others() -> None:
    values, after = np.full((6, 1), 0.1), np.array([[0.0], [-1.0], [0.0], [0.0], [-1.0], [0.0]])
    same = replace(Sample.of(values), again=Sample.of(values, after)).judged(0.04, 9.0)
    assert same.again is not None
    assert (same.variance, same.df, same.again.variance) == (0.04, 9.0, 0.04)
