"""Dunnett's critical value against published tables and other methods."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from hdbkit.analysis.statistics.dunnett import critical_value, equal_replication


@pytest.mark.parametrize(
    ("comparisons", "df", "published"),
    [
        (1, 10, 2.23),
        (2, 10, 2.57),
        (3, 10, 2.76),
        (4, 20, 2.65),
        (9, 20, 2.95),
        (2, 5, 3.03),
        (1, 60, 2.00),
        (5, 60, 2.58),
    ],
)
def test_two_sided_95_percent_values_are_those_of_the_table(comparisons: int, df: int, published: float) -> None:
    assert round(critical_value(equal_replication(comparisons), df), 2) == published


@pytest.mark.parametrize("df", [1, 2, 7, 14, 240, 1000])
def test_one_comparison_needs_students_t(df: int) -> None:
    assert critical_value([[0.3]], df, 0.99) == pytest.approx(scipy.stats.t.isf(0.005, df), rel=1e-6)


def test_unequal_replication_agrees_with_the_multivariate_t() -> None:
    factors = np.array([0.4, 0.6, 0.8])
    correlation = np.outer(factors, factors)
    np.fill_diagonal(correlation, 1)
    c = critical_value([factors.tolist()], 12)
    joint = scipy.stats.multivariate_t(loc=np.zeros(3), shape=correlation, df=12, seed=1)
    assert joint.cdf(np.full(3, c), lower_limit=np.full(3, -c)) == pytest.approx(0.95, abs=5e-4)


def test_groups_share_only_the_noise() -> None:
    joint = scipy.stats.multivariate_t(loc=np.zeros(4), shape=np.kron(np.eye(2), [[1, 0.5], [0.5, 1]]), df=9, seed=1)
    c = critical_value(equal_replication(2, groups=2), 9)
    assert joint.cdf(np.full(4, c), lower_limit=np.full(4, -c)) == pytest.approx(0.95, abs=5e-4)


def test_a_one_way_layout_has_the_intervals_of_scipy() -> None:
    draw = np.random.default_rng(7)
    control, *samples = (draw.normal(mean, 1, size=9) for mean in (0.0, 0.5, 1.5, 3.0))
    known = scipy.stats.dunnett(*samples, control=control, rng=np.random.default_rng(1)).confidence_interval(0.95)
    pooled = np.sqrt(np.mean([np.var(one, ddof=1) for one in (control, *samples)]))
    half = critical_value(equal_replication(3), df=32) * pooled * np.sqrt(2 / 9)
    differences = np.array([one.mean() - control.mean() for one in samples])
    assert known.low == pytest.approx(differences - half, abs=0.01)
    assert known.high == pytest.approx(differences + half, abs=0.01)


def test_the_family_is_wider_than_one_and_narrower_than_bonferroni() -> None:
    c = critical_value(equal_replication(6), 30)
    assert scipy.stats.t.isf(0.025, 30) < c < scipy.stats.t.isf(0.025 / 6, 30)


def test_between_whole_degrees_of_freedom_the_value_lies_between_theirs() -> None:
    few, between, more = (critical_value(equal_replication(3), df) for df in (4, 4.5, 5))
    assert more < between < few
    assert critical_value(equal_replication(3), 0.4) == critical_value(equal_replication(3), 1)


def test_without_degrees_of_freedom_there_is_no_value() -> None:
    with pytest.raises(ValueError, match="a comparison and degrees of freedom"):
        critical_value(equal_replication(2), 0)
