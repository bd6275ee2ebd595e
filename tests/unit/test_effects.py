"""Main effects of settings on grids with known effects."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from hdbkit.analysis.statistics.block_model import BlockModel
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.results.finding import Change
from tests.unit.sweeps import RATE, covers, failed, ratio_of, synthetic_runs, verdicts_of

BASELINE = {"flush": "on", "memory": "1GB"}


def test_an_effect_is_the_mean_over_all_pairs_of_the_grid() -> None:
    runs = synthetic_runs([1, 2, 1.1, 2.2], blocks=4, noise=0.02)
    logs = np.log(runs.pivot_table(index="block", columns="configuration", values="metric_value").to_numpy())
    flush, memory = main_effects(runs, RATE, list(BASELINE), BASELINE)
    pairs = [logs[:, 1] - logs[:, 0], logs[:, 3] - logs[:, 2]]
    assert flush.ratio == pytest.approx(float(np.exp(np.mean(pairs))))
    assert (flush.runs, flush.change) == (2, Change(setting="flush", value="off", reference="on"))
    assert verdicts_of([flush, memory]) == ["faster", "faster"]
    assert flush.sentence.startswith("flush=off is ")
    assert " times as fast as flush=on (95 % interval " in flush.sentence


def test_the_interval_is_that_of_complete_blocks_adjusted_for_both_settings() -> None:
    runs = synthetic_runs([1, 2, 1.1, 2.2], blocks=4, noise=0.02)
    model = BlockModel.fitted(runs, RATE)
    flush = main_effects(runs, RATE, list(BASELINE), BASELINE)[0]
    df = model.estimate(np.array([-0.5, 0.5, -0.5, 0.5])).df
    half = scipy.stats.t.isf(0.05 / 2 / 2, df) * np.sqrt(model.variances.sum() / 4 / 4)
    ends = np.log([flush.low, flush.ratio, flush.high])
    assert ends[1] - ends[0] == pytest.approx(half)
    assert ends[2] - ends[1] == pytest.approx(half)


def test_all_intervals_hold_together_in_95_percent_of_sweeps() -> None:
    held = 0
    for seed in range(80):
        runs = synthetic_runs([1, 1.2, 1.1, 1.32], blocks=3, seed=seed)
        flush, memory = main_effects(runs, RATE, list(BASELINE), BASELINE)
        held += covers(flush, 1.2) and covers(memory, 1.1)
    assert held / 80 >= 0.92


def test_pairs_make_the_effect_sharper_than_one_configuration() -> None:
    runs = synthetic_runs([1, 1.05, 1, 1.05], noise=0.01)
    effect, _ = main_effects(runs, RATE, list(BASELINE), BASELINE)
    alone = ratio_of(judge(runs, RATE), 1)
    assert effect.high / effect.low < alone.high / alone.low


def test_counts_of_virtual_users_are_pooled_and_distinguished() -> None:
    effects = main_effects(synthetic_runs([1, 1.2], virtual_users=(2, 8)), RATE, ["flush"], {"flush": "on"})
    assert [effect.virtual_users for effect in effects] == [None, 2, 8]
    assert [effect.runs for effect in effects] == [2, 1, 1]


def test_a_setting_with_one_value_has_no_effect_row() -> None:
    effects = main_effects(synthetic_runs([1, 1.2]), RATE, list(BASELINE), BASELINE)
    assert [effect.label for effect in effects] == ["flush=off"]


def test_a_pair_whose_partner_failed_is_omitted() -> None:
    runs = synthetic_runs([1, 2, 1.1, 2.2])
    effects = main_effects(failed(runs, runs["configuration"] == 3), RATE, list(BASELINE), BASELINE)
    assert [effect.runs for effect in effects] == [1, 1]


def test_one_block_gives_no_interval() -> None:
    effects = main_effects(synthetic_runs([1, 2, 1.1, 2.2], blocks=1), RATE, list(BASELINE), BASELINE)
    assert verdicts_of(effects) == ["undecided"] * 2
    assert not any(effect.is_known for effect in effects)
