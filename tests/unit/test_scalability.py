"""The Universal Scalability Law on throughputs that follow a known law."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy

from hdbkit.analysis.statistics.scalability import fitted, laws, laws_table, scaling
from hdbkit.charts.scaling_charts import scaling_laws
from tests.unit.sweeps import RATE

LEVELS = (1, 2, 4, 8, 16, 32, 64)


def law(n: np.ndarray, rate: float, waiting: float, crosstalk: float) -> np.ndarray:
    return rate * n / (1 + waiting * (n - 1) + crosstalk * n * (n - 1))


def measured(
    levels: tuple[int, ...] = LEVELS, blocks: int = 6, noise: float = 0.02, crosstalk: float = 0.001, seed: int = 1
) -> pd.DataFrame:
    draw, n = np.random.default_rng(seed), np.array(levels, dtype=float)
    return pd.DataFrame(
        [
            {
                "block": block,
                "virtual_users": users,
                "metric_value": metric_value * np.exp(draw.normal(0, noise)),
                "label": "a",
            }
            for block in range(blocks)
            for users, metric_value in zip(levels, law(n, 1000, 0.05, crosstalk), strict=True)
        ]
    )


def test_a_law_without_noise_is_found_exactly() -> None:
    n = np.array(LEVELS, dtype=float)
    found = fitted(n, law(n, 900, 0.08, 0.0004))
    assert (found.rate, found.waiting, found.crosstalk) == pytest.approx((900, 0.08, 0.0004))
    assert found.peak == pytest.approx(np.sqrt(0.92 / 0.0004))


def test_the_fit_is_that_of_scipy_where_no_part_is_negative() -> None:
    runs = measured()
    n, y = runs["virtual_users"].to_numpy(dtype=float), np.log(runs["metric_value"].to_numpy())
    known, _ = scipy.optimize.curve_fit(lambda x, *of: np.log(law(x, *of)), n, y, p0=[900, 0.02, 0.0005])
    found = fitted(n, runs["metric_value"].to_numpy())
    assert (found.rate, found.waiting, found.crosstalk) == pytest.approx(tuple(known), rel=1e-4)


def test_throughput_that_grows_faster_than_its_users_has_no_negative_part() -> None:
    found = fitted([1, 2, 4, 8], [100, 220, 480, 1000])
    assert (found.waiting, found.crosstalk) == (0, 0)
    assert found.peak == float("inf")


def test_the_peak_has_an_interval_that_holds_it() -> None:
    truth, found = np.sqrt(0.95 / 0.002), []
    for seed in range(40):
        one = scaling(measured(seed=seed, blocks=5, noise=0.03, crosstalk=0.002))
        assert one is not None
        if one.peak is not None:
            assert one.low < one.peak < one.high
            found.append(one.low <= truth <= one.high)
    assert len(found) >= 32, "a law that is true is rejected in 5 %"
    assert sum(found) >= 0.85 * len(found)


def plateau(blocks: int = 5, noise: float = 0.01, seed: int = 1) -> pd.DataFrame:
    """Throughput that grows with users up to 8 and stays there."""
    runs = measured(blocks=blocks, noise=noise, seed=seed)
    flat = 1000 * runs["virtual_users"].clip(upper=8)
    by_law = law(runs["virtual_users"].to_numpy(dtype=float), 1000, 0.05, 0.001)
    return runs.assign(metric_value=runs["metric_value"] / by_law * flat)


@pytest.mark.parametrize("noise", [0.01, 0.08])
def test_a_plateau_has_no_peak_and_the_law_does_not_fit_it(noise: float) -> None:
    for seed in range(10):
        found = scaling(plateau(noise=noise, seed=seed))
        assert found is not None and found.peak is None
        assert not found.fits
        assert "no statement on a peak: the law does not fit" in found.sentence


def test_where_the_law_does_not_fit_the_means_are_connected_without_new_extremes() -> None:
    found = scaling(plateau())
    assert found is not None
    assert found.curve(np.array(LEVELS, dtype=float)) == pytest.approx(np.array(found.means))
    assert found.curve(np.geomspace(1, 64, 200)).max() == pytest.approx(max(found.means))
    assert found.band(np.array([1.0])) is None
    chart = scaling_laws(plateau(), RATE)
    assert chart is not None
    assert "through the means (the law does not fit)" in {trace.name for trace in chart.figure.data}
    assert "its 95 % interval" not in {trace.name for trace in chart.figure.data}
    assert "dotted lines connect the means where it does not" in chart.alternative
    assert chart.table["sigma"].isna().all(), "no figures of a law that does not fit"


def test_no_peak_without_a_fall_that_the_noise_does_not_explain() -> None:
    sentences = []
    for seed in range(20):
        found = scaling(measured(levels=(1, 2, 4, 8, 12, 16), crosstalk=0.01, noise=0.2, blocks=3, seed=seed))
        assert found is not None
        sentences += [found.sentence] if found.peak is None else []
    assert any("is not shown to be below that of" in one for one in sentences)


def test_the_band_holds_the_law() -> None:
    n, held = np.array(LEVELS, dtype=float), []
    for seed in range(40):
        runs = measured(blocks=5, noise=0.03, seed=seed)
        level = np.exp(np.random.default_rng(1000 + seed).normal(0, 0.05, 5))  # blocks differ as a whole
        found = scaling(runs.assign(metric_value=runs["metric_value"] * level[runs["block"]]))
        assert found is not None
        if (band := found.band(n)) is not None:
            truth = law(n, 1000, 0.05, 0.001)
            held.append(((band[0] <= truth) & (truth <= band[1])).mean())
    assert np.mean(held) >= 0.88


@pytest.mark.parametrize(
    ("levels", "crosstalk", "said"),
    [
        ((1, 2, 4, 8, 16), 0.02, "5 counts of virtual users, 6 are needed"),
        ((1, 2, 4, 8, 16, 32), 0.001, "no peak in range 1 to 32: 1 of its counts lies beyond"),
        ((1, 2, 4, 8, 16, 32), 0.0, "no peak in range 1 to 32: 0 of its counts lie beyond"),
    ],
)
def test_no_peak_is_reported_without_the_levels_that_show_it(
    levels: tuple[int, ...], crosstalk: float, said: str
) -> None:
    found = scaling(measured(levels, crosstalk=crosstalk, noise=0.001))
    assert found is not None
    assert found.peak is None
    assert said in found.sentence


def test_two_blocks_allow_no_statement_on_a_peak() -> None:
    found = scaling(measured(blocks=2))
    assert found is not None and found.peak is None
    assert np.isnan(found.lack_of_fit)
    assert found.band(np.array([1.0])) is None
    assert "fewer than 3 blocks" in found.sentence


@pytest.mark.parametrize(
    "throughput",
    [
        (1000, 18000, 35000, 64000, 8000, 8500, 8000),
        (5000, 4000, 100, 10, 1, 0.5, 0.2),
        (1000, 900, 800, 500, 100, 20, 5),
        (1, 1e6, 1, 1e6, 1, 1e6, 1),
    ],
)
def test_any_means_have_a_law_and_a_statement(throughput: tuple[float, ...]) -> None:
    n, y = np.array(LEVELS, dtype=float), np.array(throughput, dtype=float)
    found = fitted(n, y)
    assert np.isfinite([found.rate, found.waiting, found.crosstalk]).all()
    runs = measured(blocks=4).assign(metric_value=lambda one: np.interp(one["virtual_users"], n, y))
    stated = scaling(runs.assign(metric_value=runs["metric_value"] * np.linspace(0.99, 1.01, len(runs))))
    assert stated is not None
    assert stated.peak is None or stated.low <= stated.peak <= stated.high


def test_the_interval_of_a_peak_contains_it() -> None:
    stated = 0
    for seed in range(150):
        draw = np.random.default_rng(seed)
        crosstalk, noise = 10 ** draw.uniform(-3, 0), 10 ** draw.uniform(-2, -0.7)
        found = scaling(measured(blocks=3, crosstalk=crosstalk, noise=noise, seed=seed))
        assert found is not None
        if found.peak is not None:
            stated += 1
            assert found.low <= found.peak <= found.high
    assert stated > 40


def test_a_block_without_one_of_its_runs_counts_with_the_others() -> None:
    runs = measured(blocks=5, noise=0.01, crosstalk=0.002, seed=2)
    found = scaling(runs.drop(index=[3, 17]))
    assert found is not None and found.peak is not None
    assert found.peak == pytest.approx(np.sqrt(0.95 / 0.002), rel=0.1)


@pytest.mark.parametrize("levels", [(1, 2, 4), (2, 4, 8, 16, 32, 64)])
def test_without_enough_levels_or_without_one_user_nothing_is_fitted(levels: tuple[int, ...]) -> None:
    assert scaling(measured(levels)) is None
    assert scaling_laws(measured(levels), RATE) is None


def test_the_chart_has_the_law_its_band_and_its_peak() -> None:
    chart = scaling_laws(measured(), RATE)
    assert chart is not None
    assert [bool(trace.fill) for trace in chart.figure.data if len(trace.x) > 1].count(True) == 1
    peak = laws_table(laws(measured(), "label"), "label")["peak"][0]
    assert {"fitted law", "its 95 % interval", "its peak"} <= {trace.name for trace in chart.figure.data}, (
        "the legend"
    )
    assert [trace.x[0] for trace in chart.figure.data if len(trace.x) == 2] == [pytest.approx(peak)]
    assert f"about {peak:.0f} virtual users (95 % interval" in chart.alternative
