"""Verdicts on sweeps with known effects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy

from hdbkit.analysis.statistics.dunnett import critical_value, equal_replication
from hdbkit.analysis.statistics.power import Critical, blocks_needed
from hdbkit.analysis.sweep.answers import answer, candidates_note, winner_answer
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.sweep.winners import winners
from hdbkit.results.finding import Needed
from tests.unit.sweeps import RATE, covers, failed, ratio_of, synthetic_runs, verdicts_of


def test_five_percent_at_one_percent_noise_are_mostly_found_with_6_blocks() -> None:
    found = sum(
        ratio_of(judge(synthetic_runs([1, 1.05], blocks=6, seed=seed), RATE), 1).verdict == "faster"
        for seed in range(50)
    )
    assert found >= 45


@pytest.mark.long
def test_intervals_hold_together_in_95_percent_of_sweeps_over_all_virtual_users() -> None:
    truth = [1, 1.1, 0.8]
    held = 0
    for seed in range(100):
        judged = judge(synthetic_runs(truth, blocks=3, noise=0.03, virtual_users=(2, 8), seed=seed), RATE)
        held += all(covers(ratio, truth[ratio.configuration]) for ratio in judged if ratio.configuration)
    assert 0.92 <= held / 100 <= 0.98


def test_the_interval_of_two_configurations_holds_the_paired_t_interval() -> None:
    runs = synthetic_runs([1, 1.3], blocks=6, noise=0.05)
    pairs = np.log(runs.pivot_table(index="block", columns="configuration", values="metric_value"))
    expected = scipy.stats.ttest_rel(pairs[1], pairs[0]).confidence_interval(0.95)
    row = ratio_of(judge(runs, RATE), 1)
    assert row.ratio == pytest.approx(np.exp((pairs[1] - pairs[0]).mean()))
    assert row.interval == pytest.approx((min(row.low, np.exp(expected.low)), max(row.high, np.exp(expected.high))))
    assert row.high / row.low < 2 * np.exp(expected.high - expected.low)


def test_complete_blocks_have_the_textbook_dunnett_interval_where_cells_have_equal_noise() -> None:
    runs = synthetic_runs([1, 1.1, 1.2, 0.9], blocks=4, noise=0)
    signs = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [-1, 1, -1, 1], [-1, -1, 1, 1]])  # equal squares in each cell
    noise = 0.02 * signs[runs["block"] - 1, runs["configuration"]]
    row = ratio_of(judge(runs.assign(metric_value=runs["metric_value"] * np.exp(noise)), RATE), 2)
    half = critical_value([[0.7] * 3], 9) * np.sqrt(16 * 0.02**2 / 9 * 2 / 4)
    assert (row.low, row.high) == pytest.approx((1.2 * np.exp(-half), 1.2 * np.exp(half)), rel=1e-6)


def test_a_large_effect_is_reported_as_times_and_a_small_one_as_percent() -> None:
    judged = judge(synthetic_runs([1, 2.3, 1.1, 0.9]), RATE)
    assert ratio_of(judged, 1).sentence.startswith("flush=off is 2.29 ")
    assert "times as fast as the baseline (95 % interval 2." in ratio_of(judged, 1).sentence
    assert " % faster than the baseline (95 % interval " in ratio_of(judged, 2).sentence
    assert " % slower than the baseline (95 % interval " in ratio_of(judged, 3).sentence
    assert verdicts_of(judged) == ["baseline", "faster", "faster", "slower"]


def test_a_small_interval_around_1_is_equivalent() -> None:
    row = ratio_of(judge(synthetic_runs([1, 1], noise=0.003, seed=3), RATE), 1)
    assert (row.verdict, row.equivalent) == ("equivalent", True)
    assert "equivalent to the baseline within 2 %" in row.sentence


def test_an_effect_may_be_real_and_too_small_to_matter() -> None:
    row = ratio_of(judge(synthetic_runs([1, 1.01], noise=0.001), RATE), 1)
    assert (row.verdict, row.equivalent) == ("faster", True)
    assert row.sentence.endswith("less than the 2 % that matter")


def test_an_undecided_one_names_the_blocks_that_decide() -> None:
    row = ratio_of(judge(synthetic_runs([1, 1.02], blocks=3, noise=0.02, seed=1), RATE), 1)
    assert row.verdict == "undecided"
    match row.needed:
        case Needed(blocks=int(blocks), low=int(low), high=int(high)):
            assert 3 < low < blocks < high
            assert row.sentence.endswith(f"; {blocks} blocks ({low} to {high}) would decide with 80 %")
        case needed:
            pytest.fail(f"not known: {needed}")


@pytest.mark.parametrize(("effect", "noise"), [(0.03, 0.02), (0.02, 0.01), (0.0, 0.01)])
def test_the_advised_number_of_blocks_decides_with_80_percent_probability(effect: float, noise: float) -> None:
    def later(blocks: int) -> Critical:
        differs, alike = (critical_value(equal_replication(1), blocks - 1, level) for level in (0.95, 0.9))
        return Critical(differs, alike, blocks - 1)

    needed = blocks_needed(effect, -np.log(0.98), noise, 1000, 2, later)
    assert needed.blocks
    draw = np.random.default_rng(1).normal(effect, noise * np.sqrt(2), (4000, needed.blocks))
    middle = draw.mean(axis=1)
    error, critical = draw.std(axis=1, ddof=1) / np.sqrt(needed.blocks), later(needed.blocks)
    decided = (critical.differs * error < abs(middle)) | (abs(middle) + critical.alike * error < -np.log(0.98))
    assert 0.78 < decided.mean() < 0.9
    assert critical.alike * noise * np.sqrt(2 / needed.blocks) < max(effect, 0.02)


def test_the_range_of_blocks_is_that_of_the_noise() -> None:
    def later(blocks: int) -> Critical:
        return Critical(2.0, 2.0, blocks)

    few, many = (blocks_needed(0.03, 0.02, 0.02, df, 3, later) for df in (2, 40))
    assert few.low and many.low and many.high
    assert few.low <= many.low <= many.blocks <= many.high <= 2 * many.low
    assert few.high is None or few.high > 5 * many.blocks


def test_one_block_gives_no_interval() -> None:
    row = ratio_of(judge(synthetic_runs([1, 2.0, 2.0], blocks=1), RATE), 1)
    assert row.verdict == "undecided"
    assert (row.low, row.high) == (None, None)
    assert row.ratio == pytest.approx(2.0, rel=0.1)
    assert "one block has no replication" in row.sentence


def test_a_configuration_without_a_finished_run_is_failed_and_the_others_are_judged() -> None:
    runs = synthetic_runs([1, 1.5, 1.2])
    judged = judge(failed(runs, runs["configuration"] == 1), RATE)
    assert verdicts_of(judged) == ["baseline", "failed", "faster"]
    assert [ratio.runs for ratio in judged] == [8, 0, 8]


def test_a_configuration_that_a_stopped_sweep_did_not_reach_is_not_run() -> None:
    runs = synthetic_runs([1, 1.5, 1.2])
    here = runs["configuration"] == 1
    judged = judge(
        runs.assign(status=runs["status"].mask(here, "planned"), metric_value=runs["metric_value"].mask(here)), RATE
    )
    assert verdicts_of(judged) == ["baseline", "not run", "faster"]
    assert ratio_of(judged, 1).sentence.endswith(": not run")
    assert "all 2" not in answer(judged, RATE)


def test_without_a_baseline_run_nothing_is_compared() -> None:
    runs = synthetic_runs([1, 1.5, 1.2])
    judged = judge(failed(runs, runs["configuration"] == 0), RATE)
    assert verdicts_of(judged) == ["failed", "undecided", "undecided"]
    assert "the baseline has no finished run" in ratio_of(judged, 1).sentence
    assert not any(ratio.is_known for ratio in judged)


def test_all_runs_failed_is_reported() -> None:
    runs = synthetic_runs([1, 1.5])
    judged = judge(failed(runs, runs["block"] > 0), RATE)
    assert verdicts_of(judged) == ["failed", "failed"]
    assert answer(judged, RATE).startswith("No comparison is possible")


def test_a_failed_run_widens_only_what_it_must() -> None:
    runs = synthetic_runs([1, 1.5, 1.2], blocks=4)
    whole, holed = judge(runs, RATE), judge(failed(runs, (runs["configuration"] == 1) & (runs["block"] == 2)), RATE)
    width = [np.log(ratio.high / ratio.low) for ratio in (ratio_of(whole, 1), ratio_of(holed, 1))]
    assert ratio_of(holed, 1).runs == 3
    assert width[1] > width[0]
    assert verdicts_of(holed) == ["baseline", "faster", "faster"]


def test_a_configuration_that_never_met_the_baseline_is_undecided() -> None:
    runs = synthetic_runs([1, 1.5], blocks=4)
    apart = ((runs["configuration"] == 1) & (runs["block"] <= 2)) | (
        (runs["configuration"] == 0) & (runs["block"] > 2)
    )
    more = synthetic_runs([1, 1.5, 1.1, 1.1], blocks=4).query("configuration >= 2")
    row = ratio_of(judge(pd.concat([failed(runs, apart), more[more["block"] < 3]]), RATE), 1)
    assert row.verdict == "undecided"
    assert row.sentence.endswith("it was never in one block with the baseline")


def test_each_count_of_virtual_users_has_its_own_baseline() -> None:
    judged = judge(synthetic_runs([1, 1.2], virtual_users=(1, 16)), RATE)
    assert [ratio_of(judged, 1, users).ratio for users in (1, 16)] == pytest.approx([1.2, 1.2], rel=0.02)
    assert "at 16 virtual users" in ratio_of(judged, 1, 16).sentence
    assert "at 1 virtual user " in ratio_of(judged, 1, 1).sentence


def test_another_baseline_turns_the_ratio_around() -> None:
    runs = synthetic_runs([1, 1.25])
    assert ratio_of(judge(runs, RATE, baseline=1), 0).ratio == pytest.approx(1 / ratio_of(judge(runs, RATE), 1).ratio)


def test_the_answer_names_the_best() -> None:
    text = answer(judge(synthetic_runs([1, 1.2, 2.2, 2.9]), RATE), RATE)
    assert text.startswith("flush=off, memory=2GB is 2.9")
    assert ", the best of 3 that are faster" in text


@pytest.mark.parametrize(
    ("ratios", "noise", "expected"),
    [
        ([1, 1, 1], 0.002, "No configuration is faster than the baseline by more than 2 %"),
        ([1, 0.8, 0.7], 0.002, "The baseline is the fastest of the 3"),
        (
            [1, 1, 1],
            0.2,
            "No configuration is shown to be faster than the baseline; 2 of 2 comparisons are undecided",
        ),
        ([1, 1], 0.2, "flush=off: undecided: between "),
    ],
)
def test_the_answer_says_when_there_is_no_winner(ratios: list[float], noise: float, expected: str) -> None:
    assert answer(judge(synthetic_runs(ratios, noise=noise, seed=5), RATE), RATE).startswith(expected)


def test_the_answer_is_the_effect_of_a_setting_where_no_configuration_is_decided() -> None:
    """Many configurations and few blocks: an effect is the mean of many pairs, a configuration has a few runs."""
    settings = {"flush": "on", "memory": "1GB"}
    runs = synthetic_runs([1, 1.7, 1, 1.7], blocks=3, noise=0.25, seed=8)
    effects = main_effects(runs, RATE, list(settings), settings)
    judged = judge(runs, RATE)
    assert "faster" not in verdicts_of(judged)
    assert verdicts_of(effects) == ["faster", "undecided"]
    text = answer(judged, RATE, effects=effects)
    assert text.startswith("On average over the grid, flush=off is 1.")
    assert "as flush=on (95 % interval 1." in text
    assert "while no single configuration is shown to be faster than the baseline: 3 of 3 comparisons are" in text
    small = [effect.model_copy(update={"equivalent": True}) for effect in effects]
    assert answer(judged, RATE, effects=small) == answer(judged, RATE), "an effect that does not matter is no answer"


def test_the_best_is_among_the_candidates_in_95_percent_of_sweeps() -> None:
    truth = [1, 1.01, 1.02, 1.0, 1.015, 0.98]
    held = [
        ratio_of(judge(synthetic_runs(truth, blocks=4, noise=0.02, seed=seed), RATE), 2).may_be_best
        for seed in range(60)
    ]
    assert sum(held) >= 54


def test_a_configuration_that_is_clearly_worse_is_no_candidate() -> None:
    judged = judge(synthetic_runs([1, 1.3, 1.301, 1.1]), RATE)
    assert [ratio.may_be_best for ratio in judged] == [False, True, True, False]
    assert candidates_note(judged) == ["the best is one of 2 with 95 %: flush=off; memory=2GB"]


def test_the_lead_of_the_best_of_many_is_shrunk_and_then_right_on_average() -> None:
    found, left, true = [], [], []
    for seed in range(40):
        truth = np.exp(np.random.default_rng(1000 + seed).normal(0, 0.01, 8))
        judged = judge(synthetic_runs(list(truth), blocks=3, noise=0.03, seed=seed), RATE)
        leader = max(judged, key=lambda ratio: ratio.ratio)
        found.append(np.log(leader.ratio))
        left.append(np.log(leader.shrunken_ratio))
        true.append(np.log(truth[leader.configuration] / truth[0]))
    bias, shrunken_bias = np.mean(found) - np.mean(true), np.mean(left) - np.mean(true)
    assert bias > 0.015
    assert abs(shrunken_bias) < 0.4 * bias


def test_the_answer_states_what_is_left_after_the_choice() -> None:
    judged = judge(synthetic_runs([1, 1.02, 1.1, 1.01, 0.99], blocks=4, noise=0.02, seed=1), RATE)
    assert "faster" in verdicts_of(judged)
    assert " after allowing for the choice among 5." in answer(judged, RATE)


def test_two_configurations_are_not_shrunk() -> None:
    judged = judge(synthetic_runs([1, 1.3]), RATE)
    assert {ratio.shrunken_ratio for ratio in judged} == {None}
    assert "after allowing" not in answer(judged, RATE)


def test_the_fresh_blocks_name_the_best_and_not_the_blocks_before() -> None:
    first = judge(synthetic_runs([1, 1.3, 1.2]), RATE)
    found = winners(first, synthetic_runs([1, 1.1, 1.2], seed=2), RATE)
    assert [ratio.configuration for ratio in found] == [2, 1]
    assert [ratio.first for ratio in found] == [ratio_of(first, 2), ratio_of(first, 1)]
    said = winner_answer(found, 8)
    assert said.startswith("In 8 fresh blocks that were not used for the choice: memory=2GB is 2")
    assert said.count("% faster") == 1, "one figure"
    alike = winner_answer(winners(first, synthetic_runs([1, 1.2, 1.2], seed=2), RATE), 8)
    assert {"flush=off", "memory=2GB"} == set(alike.split("the best is one of ")[1].split(":")[0].split("; "))
