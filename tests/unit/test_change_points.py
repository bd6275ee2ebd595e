"""Change points of series with known changes."""

from __future__ import annotations

import numpy as np
import pytest

from hdbkit.analysis.statistics.change_points import breaks


def steps(*parts: tuple[int, float], noise: float = 0.01, seed: int = 1) -> np.ndarray:
    """Stretches of so many runs at a level each."""
    draw = np.random.default_rng(seed)
    return np.concatenate([draw.normal(level, noise, runs) for runs, level in parts])


def test_the_one_change_is_found_where_it_is() -> None:
    (found,) = breaks(steps((20, 0), (15, -0.05)))
    assert (found.at, found.p) == (20, 0.001)


def test_two_changes_and_the_way_back_are_found() -> None:
    assert [one.at for one in breaks(steps((20, 0), (20, -0.06), (20, 0)))] == [20, 40]


def test_a_series_without_change_has_one_in_at_most_5_percent() -> None:
    reported = sum(bool(breaks(steps((24, 0), seed=seed))) for seed in range(50))
    assert reported <= 6


def test_heavy_tails_and_one_outlier_are_no_change() -> None:
    draw = np.random.default_rng(5)
    reported = sum(bool(breaks(draw.standard_t(2, 24))) for _ in range(50))
    assert reported <= 7
    values = steps((24, 0))
    values[11] -= 0.4
    assert breaks(values) == []


def test_a_boundary_is_never_crossed_and_never_reported() -> None:
    values = steps((20, 0), (20, -0.1))
    assert breaks(values, [20]) == []
    assert [one.at for one in breaks(values, [10])] == [20]


@pytest.mark.parametrize("runs", [0, 1, 5])
def test_too_few_runs_have_no_change(runs: int) -> None:
    assert breaks(np.arange(runs) * 1.0) == []


def test_equal_values_are_no_change() -> None:
    assert breaks([1.0] * 20) == []
