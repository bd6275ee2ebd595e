"""The model of a sweep: its slope over the run number, and the variance of each cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.statistics.block_model import MIN_DF_FOR_DRIFT, BlockModel, of_noisy
from hdbkit.analysis.sweep.verdicts import judge
from tests.unit.sweeps import RATE, failed, synthetic_runs


def noisy(times: float, blocks: int, seed: int = 1, of: int = 2) -> pd.DataFrame:
    """Four configurations, one of which has so many times the noise of the others."""
    runs = synthetic_runs([1, 1, 1, 1], blocks=blocks, noise=0.01, seed=seed)
    logs = np.log(runs["metric_value"] / runs["metric_value"].mean())
    scaled = np.where(runs["configuration"] == of, times * logs, logs)
    return runs.assign(metric_value=10_000 * np.exp(scaled))


def test_a_drift_is_taken_up_with_enough_degrees_of_freedom() -> None:
    for blocks, known in ((4, False), (5, True)):
        runs = synthetic_runs([1, 1.1, 1.2, 1.3], blocks=blocks, noise=1e-6, drift=0.2)
        model = BlockModel.fitted(runs, RATE)
        assert (model.noise < 1e-5) is known
        assert (3 * (blocks - 1) >= MIN_DF_FOR_DRIFT) is known
        estimate = model.estimate(np.eye(len(model.coefficients))[3] - np.eye(len(model.coefficients))[0])
        assert bool(estimate.value == pytest.approx(np.log(1.3), abs=1e-4)) is known


def test_equal_noise_is_pooled() -> None:
    held = []
    for seed in range(20):
        model = BlockModel.fitted(synthetic_runs([1, 1, 1, 1], blocks=12, noise=0.01, seed=seed), RATE)
        contrast = model.difference((4, 1), (4, 0))
        assert contrast is not None
        held.append(model.estimate(contrast).error / (model.noise * np.sqrt(2 / 12)))
    assert 0.99 <= np.median(held) <= 1.15


def test_a_noisy_configuration_has_a_variance_and_degrees_of_freedom_of_its_own() -> None:
    model = BlockModel.fitted(noisy(5, blocks=12), RATE)
    spread = np.sqrt(model.variances)
    assert spread[2] > 1.5 * max(spread[0], spread[1], spread[3])
    quiet, loud = (model.difference((4, one), (4, 0)) for one in (1, 2))
    assert quiet is not None and loud is not None
    assert model.estimate(loud).error > 1.3 * model.estimate(quiet).error
    assert model.estimate(loud).df < model.estimate(quiet).df <= model.df


def test_a_cell_has_degrees_of_freedom_of_its_own_only_where_it_is_significantly_noisier() -> None:
    """Of four cells in five blocks, 3 degrees of freedom each; judged by a common variance that is worth 6 more."""
    cell_df = np.full(4, 3.0)
    for own, df, judged_as in (
        ([1.5, 1, 1, 0.5], [9, 9, 9, 9], [2.25, 1, 1, 0.5]),
        ([20, 1, 1, 1], [3, 9, 9, 9], [20, 1, 1, 1]),
        ([1, 1, 1, 1], [9, 9, 9, 9], [1, 1, 1, 1]),
    ):
        values = np.array(own, dtype=float)
        variances, judged = of_noisy(values, np.full(4, 9.0), values, cell_df, values.mean(), 12)
        assert judged.tolist() == df
        assert variances.tolist() == pytest.approx(judged_as)


def test_no_cell_is_taken_as_quieter_than_its_own_residuals() -> None:
    for seed in range(20):
        model = BlockModel.fitted(noisy(3, blocks=3, seed=seed), RATE)
        assert (model.variances >= model.own * (1 - 1e-9)).all()


def test_two_configurations_share_their_noise() -> None:
    model = BlockModel.fitted(synthetic_runs([1, 1.1], blocks=6, noise=0.03), RATE)
    contrast = model.difference((4, 1), (4, 0))
    assert contrast is not None
    assert model.estimate(contrast).error == pytest.approx(model.noise * np.sqrt(2 / 6))
    assert model.estimate(contrast).df == pytest.approx(5)


def test_two_configurations_have_a_second_model_with_what_ran_before() -> None:
    """As by least squares of the blocks' differences; three and more have none."""
    runs = synthetic_runs([1, 1.1], blocks=6, noise=0.03)
    orders = [0, 0, 1, 1, 1, 0]
    runs["number"] = [
        2 * block - 1 + (which != orders[block - 1])
        for block, which in zip(runs["block"], runs["configuration"], strict=True)
    ]
    model = BlockModel.fitted(runs, RATE)
    logs = np.log(runs.pivot_table("metric_value", "block", "configuration"))
    repeats = [0.0, -1.0, 0.0, -1.0, -1.0, 0.0]
    fit, squares, *_ = np.linalg.lstsq(np.column_stack([np.ones(6), repeats]), logs[1] - logs[0], rcond=None)
    contrast = model.difference((4, 1), (4, 0))
    assert contrast is not None
    again = model.estimate(contrast).again
    assert again is not None
    assert (again.value, again.df) == pytest.approx((fit[0], 4))
    assert again.error == pytest.approx(np.sqrt(squares[0] / 4 * 2 / 6), rel=1e-6)
    assert BlockModel.fitted(synthetic_runs([1, 1, 1], blocks=6), RATE).again is None


def test_failed_runs_leave_a_model_of_the_others() -> None:
    runs = synthetic_runs([1, 1.2, 1.4], blocks=6, noise=0.01)
    model = BlockModel.fitted(failed(runs, runs["number"].isin([3, 4, 11])), RATE)
    assert len(model.residuals) == 15
    contrast = model.difference((4, 2), (4, 0))
    assert contrast is not None
    assert model.estimate(contrast).value == pytest.approx(np.log(1.4), abs=0.03)


def test_no_noise_at_all_is_no_error() -> None:
    model = BlockModel.fitted(synthetic_runs([1, 1.2, 1.4], blocks=3, noise=0), RATE)
    contrast = model.difference((4, 1), (4, 0))
    assert contrast is not None
    assert model.estimate(contrast).error == pytest.approx(0, abs=1e-9)


def test_schemas_that_differ_only_by_their_builds_are_seldom_called_different() -> None:
    """With runs as units it is a third."""
    draw, found = np.random.default_rng(43), []
    for _ in range(40):
        builds = draw.normal(0, 0.03, (5, 2)).repeat(2, axis=1)
        logs = (builds + draw.normal(0, 0.01, (5, 4))).ravel()
        runs = synthetic_runs([1] * 4, blocks=5, noise=0).sort_values(["block", "configuration"])
        runs = runs.assign(metric_value=np.exp(logs), partitions=runs["configuration"] // 2)
        found.append(any(ratio.verdict.differs for ratio in judge(runs, RATE)))
    assert np.mean(found) <= 0.15
