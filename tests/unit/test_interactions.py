"""Interactions of settings on sweeps with known interactions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy

from hdbkit.analysis.statistics.block_model import BlockModel
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.interactions import changed_effects, interactions
from hdbkit.results.finding import Ratio
from tests.unit.sweeps import RATE, covers, failed, synthetic_runs

NAMES = ["flush", "memory"]
BASELINE = {"flush": "on", "memory": "1GB"}


def found(runs: pd.DataFrame) -> list[Ratio]:
    return interactions(runs, RATE, NAMES, BASELINE)


def test_effects_that_multiply_do_not_interact() -> None:
    row = found(synthetic_runs([1, 1.4, 1.2, 1.4 * 1.2], noise=0.003))[0]
    assert (row.verdict, row.runs) == ("no interaction", 1)
    assert "their effects multiply within 2 %" in row.sentence


def test_what_one_setting_takes_from_the_other_is_found() -> None:
    row = found(synthetic_runs([1, 1.4, 1.2, 1.4 * 1.2 * 0.7]))[0]
    assert row.verdict == "interact"
    assert covers(row, 0.7)
    beside = row.interaction
    assert beside is not None
    assert (beside.alone, beside.together) == pytest.approx((1.4, 0.98), rel=0.02)
    assert (beside.other_alone, beside.other_together) == pytest.approx((1.2, 0.84), rel=0.02)
    assert "% against their effects multiplied" in row.sentence
    assert "together -" in row.sentence


def test_two_by_two_is_the_mean_over_blocks_with_the_noise_of_its_four_cells() -> None:
    runs = synthetic_runs([1, 1.1, 1.2, 1.5], blocks=4, noise=0.02)
    logs = np.log(runs.pivot_table(index="block", columns="configuration", values="metric_value").to_numpy())
    model = BlockModel.fitted(runs, RATE)
    df = model.estimate(np.array([1, -1, -1, 1])).df
    half = scipy.stats.t.isf(0.025, df) * np.sqrt(model.variances.sum() / 4)
    middle = (logs[:, 3] - logs[:, 2] - logs[:, 1] + logs[:, 0]).mean()
    row = found(runs)[0]
    assert (row.low, row.high) == pytest.approx((np.exp(middle - half), np.exp(middle + half)), rel=1e-3)


def test_the_intervals_hold_together_over_all_pairs_and_counts() -> None:
    three = {"flush": ["on", "off", "maybe"], "memory": ["1GB", "2GB", "4GB"]}
    grid = [(one, other) for one in three["flush"] for other in three["memory"]]
    held = 0
    for seed in range(60):
        runs = synthetic_runs([1.0] * 9, blocks=3, noise=0.03, virtual_users=(2, 8), seed=seed)
        runs[["flush", "memory"]] = [grid[one] for one in runs["configuration"]]
        ratios = found(runs)
        assert len(ratios) == 4
        held += all(covers(ratio, 1) for ratio in ratios)
    assert held >= 54


def test_a_main_effect_that_turns_around_is_reported() -> None:
    runs = synthetic_runs([1, 1.4, 1.2, 1.4 * 1.2 * 0.6])
    said = changed_effects(found(runs), main_effects(runs, RATE, NAMES, BASELINE), RATE)
    assert len(said) == 2
    assert said[0].startswith("flush=off is 8.")
    assert " % faster with memory=1GB and 16." in said[0]
    assert said[0].endswith("% slower with memory=2GB: rely on the verdicts of the configurations")


@pytest.mark.parametrize("together", [1.4 * 1.2, 1.4 * 1.2 * 1.05])
def test_a_main_effect_that_holds_everywhere_is_left_alone(together: float) -> None:
    runs = synthetic_runs([1, 1.4, 1.2, together], noise=0.003)
    assert changed_effects(found(runs), main_effects(runs, RATE, NAMES, BASELINE), RATE) == []


def test_one_block_and_a_lost_corner_give_no_interval_and_no_row() -> None:
    (row,) = found(synthetic_runs([1, 1.4, 1.2, 1.7], blocks=1))
    assert row.sentence.endswith("too few runs to estimate the noise")
    assert not row.is_known
    runs = synthetic_runs([1, 1.4, 1.2, 1.7])
    assert found(failed(runs, runs["configuration"] == 3)) == []
