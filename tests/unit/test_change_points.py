"""Change points of series with known changes."""

from __future__ import annotations

import numpy as np
import pytest

from hdbkit.analysis.statistics.change_points import breaks


def steps(*parts: tuple[int, float], noise: float = 0.01, correlation: float = 0.0, seed: int = 1) -> np.ndarray:
    """Stretches of so many values at a level each, with autocorrelated noise."""
    draw = np.random.default_rng(seed)
    values, levels = [draw.normal(0, noise)], np.repeat([level for _, level in parts], [runs for runs, _ in parts])
    for _ in range(len(levels) - 1):
        values.append(correlation * values[-1] + draw.normal(0, noise * np.sqrt(1 - correlation**2)))
    return np.array(values) + levels


def places(values: np.ndarray) -> list[int]:
    return [one.at for one in breaks([values])[0]]


def test_the_one_change_is_found_where_it_is() -> None:
    ((found,),) = breaks([steps((20, 0), (15, -0.05))])
    assert found.at == 20
    assert found.p < 0.001


def test_two_changes_and_the_way_back_are_found() -> None:
    assert places(steps((20, 0), (20, -0.06), (20, 0))) == [20, 40]


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("runs", [8, 24, 60])
def test_a_series_without_change_has_one_in_at_most_5_percent(runs: int, correlation: float) -> None:
    series = [steps((runs, 0), correlation=correlation, seed=seed) for seed in range(200)]
    assert sum(map(bool, map(places, series))) <= 18


def test_heavy_tails_and_one_outlier_are_no_change() -> None:
    draw = np.random.default_rng(5)
    reported = sum(bool(places(draw.standard_t(2, 24))) for _ in range(100))
    assert reported <= 10
    values = steps((24, 0))
    values[11] -= 0.4
    assert places(values) == []


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.03])
def test_a_steady_drift_is_no_correlation(noise: float) -> None:
    found = [places(np.linspace(0, 0.2, 24) + steps((24, 0), noise=noise, seed=seed)) for seed in range(20)]
    assert sum(map(bool, found)) >= 17


def test_an_outlier_does_not_hide_a_change() -> None:
    values = steps((20, 0), (15, -0.05))
    values[7] -= 0.9
    assert places(values) == [20]


def test_a_large_change_is_found_among_hundreds_of_stretches() -> None:
    quiet = [steps((8, 0), seed=seed) for seed in range(300)]
    found = breaks([*quiet, steps((6, 0), (6, np.log(0.6)))])
    assert [one.at for one in found[-1]] == [6]
    assert sum(map(bool, found[:-1])) <= 3


def test_a_change_between_two_stretches_is_not_reported() -> None:
    values = steps((20, 0), (20, -0.1))
    assert breaks([values[:20], values[20:]]) == [[], []]
    assert [[one.at for one in part] for part in breaks([values[:10], values[10:]])] == [[], [10]]


@pytest.mark.parametrize("runs", [0, 1, 5])
def test_too_few_values_have_no_change(runs: int) -> None:
    assert breaks([np.arange(runs) * 1.0]) == [[]]


def test_equal_values_are_no_change() -> None:
    assert breaks([[1.0] * 20]) == [[]]
    assert breaks([]) == []
