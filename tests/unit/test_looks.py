"""Comparisons that a look decides: their interval stays, later blocks do not run them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench.verdicts.dropping import MIXED, is_false, swept
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.looks import decided, decided_note, verdicts
from hdbkit.analysis.sweep.verdicts import fastest, judge
from hdbkit.config import SweepSpec, Target
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep, with_winners, without_decided
from tests.unit.sweeps import RATE, ratio_of, synthetic_runs, verdicts_of

LEVEL = Spending(8, (4, 8)).level
LARGE = {(4, 1): 4}


def dropped(ratios: list[float], noise: float = 0.01, virtual_users: tuple[int, ...] = (4,)) -> pd.DataFrame:
    """Eight blocks; configuration 1 ran in the first four."""
    runs = synthetic_runs(ratios, noise=noise, virtual_users=virtual_users)
    return runs[(runs["configuration"] != 1) | (runs["block"] <= 4)]


def test_the_interval_of_a_decided_comparison_is_that_of_its_look() -> None:
    runs = dropped([1, 1.2, 1.01, 1])
    found = verdicts(runs, RATE, LEVEL, LARGE)
    then = ratio_of(judge(runs[runs["block"] <= 4], RATE, level=LEVEL(4)), 1)
    now = ratio_of(found, 1)
    assert (now.ratio, now.interval, now.verdict) == (then.ratio, then.interval, then.verdict)
    assert now.sentence == f"{then.sentence}; decided after 4 blocks"
    assert now.words == "faster after 4 blocks"
    assert [ratio.decided_after for ratio in found] == [None, 4, None, None]
    assert decided_note(found) == [
        "1 comparison decided early and not run again (1 after 4 blocks): their intervals are those of these looks"
    ]
    assert decided_note(verdicts(runs, RATE, LEVEL, {})) == []


def test_the_others_are_judged_as_strictly_as_if_all_were_still_run() -> None:
    whole = synthetic_runs([1, 1.2, 1.01, 1, 1], noise=0.02)
    runs = whole[(whole["configuration"] != 1) | (whole["block"] <= 4)]
    apart, together = (judge(one, RATE, level=LEVEL(8)) for one in (whole, runs[runs["configuration"] != 1]))
    found = verdicts(runs, RATE, LEVEL, LARGE)
    width = [np.log(ratio.high / ratio.low) for ratio in (ratio_of(one, 3) for one in (apart, found, together))]
    assert width[1] == pytest.approx(width[0], rel=0.1)
    assert width[1] > width[2], "a family that shrinks forgets why it is smaller"


def test_effects_and_the_fastest_come_from_unequal_numbers_of_runs() -> None:
    runs = dropped([1, 1.2, 1.1, 1.32], noise=0.005)
    assert fastest(verdicts(runs, RATE, LEVEL, LARGE)) == [3, 1, 2]
    effects = main_effects(runs, RATE, ["flush", "memory"], {"flush": "on", "memory": "1GB"})
    assert [effect.ratio for effect in effects] == pytest.approx([1.2, 1.1], abs=0.02)
    found = verdicts(runs, RATE, LEVEL, LARGE)
    assert [ratio.configuration for ratio in found if ratio.may_be_best] == [3]


def test_an_equivalence_by_two_one_sided_tests_needs_no_narrower_interval() -> None:
    """The whole interval reaches beyond 2 %, that at twice the error rate does not."""
    outside = 0
    for seed in range(40):
        found = ratio_of(judge(synthetic_runs([1, 1], blocks=6, noise=0.0135, seed=seed), RATE), 1)
        if found.verdict == "equivalent" and not (found.low >= 0.98 and found.high <= 1.02):
            assert "(90 % interval " in found.sentence
            outside += 1
    assert outside


def planned(**changes: object) -> SweepPlan:
    settings = {"flush": ["on", "off"], "memory": ["1GB", "2GB"]}
    spec = SweepSpec(**{"settings": settings, "looks": [4, 8], "virtual_users": [1, 8], **changes})
    return plan_sweep(Target(kind="nulldb"), spec, "sweep-1")


def places(plan: SweepPlan, block: int) -> list[tuple[int, int]]:
    return sorted((one.virtual_users, one.configuration) for one in plan.runs if one.block == block)


def test_later_blocks_run_what_is_open_and_its_baseline() -> None:
    plan = planned()
    shorter = without_decided(plan, [(1, 1), (1, 2), (1, 3), (8, 2)], 4)
    assert [one for one in shorter.runs if one.block <= 4] == [one for one in plan.runs if one.block <= 4]
    assert [places(shorter, block) for block in (5, 8)] == [[(8, 0), (8, 1), (8, 3)]] * 2
    assert [one.number for one in shorter.runs] == list(range(1, 4 * 10 + 4 * 3 + 1))
    assert {one.seed for one in shorter.runs if one.block == 6} == {one.seed for one in plan.runs if one.block == 6}
    assert len({tuple(one.configuration for one in shorter.runs if one.block == block) for block in range(5, 9)}) > 1
    assert without_decided(shorter, [(8, 2)], 4) == shorter
    assert shorter.decided_after == {(1, 1): 4, (1, 2): 4, (1, 3): 4, (8, 2): 4}


def test_added_blocks_and_fresh_ones_follow_a_shortened_sweep() -> None:
    shorter = without_decided(planned(), [(8, 2), (1, 2), (1, 1)], 4)
    longer = shorter.extended(9, done=8)
    assert longer.runs[: len(shorter.runs)] == shorter.runs
    assert places(longer, 9) == [(1, 0), (1, 3), (8, 0), (8, 1), (8, 3)]
    assert places(with_winners(shorter, [2]), 9) == []  # it has none
    assert places(with_winners(without_decided(planned(winner_blocks=2), [(8, 2)], 4), [2]), 9) == [
        (1, 0), (1, 2), (8, 0), (8, 2)
    ]  # fmt: skip


def test_what_is_decided_is_neither_undecided_nor_failed() -> None:
    runs = synthetic_runs([1, 1.3, 1.001, 1.02], noise=0.004)
    runs.loc[(runs["configuration"] == 3) & (runs["block"] > 2), "status"] = "failed"
    runs.loc[runs["configuration"] == 3, "metric_value"] *= np.where(runs["block"] % 2, 1, 1.1)[runs.index % 4 == 3]
    found = verdicts(runs, RATE, LEVEL, {})
    assert verdicts_of(found) == ["baseline", "faster", "equivalent", "undecided"]
    assert decided(found) == [(4, 1), (4, 2)]


@pytest.mark.long
def test_sweeps_that_drop_what_is_decided_run_less_and_err_no_more() -> None:
    """Bench: ``python -m bench.verdicts dropping``."""
    draw = np.random.default_rng(1)
    ended = [swept(MIXED, draw.normal(0, 0.01, 120), np.ones(8), seed) for seed in range(12)]
    assert sum(one.runs for one in ended) < 0.9 * sum(10 * one.blocks for one in ended)
    assert sum(is_false(one.verdicts, MIXED) for one in ended) <= 2
