"""Looks: the error probability that each may spend, and their total."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from hdbkit.analysis.statistics.sequential import AT_THE_END, Anytime, Spending
from hdbkit.config import SweepSpec, Target
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.experiment.kinds.sweep.plan import ended_at, plan_sweep, with_winners

SETTINGS = {"flush": ["on", "off"], "memory": ["1GB", "2GB"]}


@pytest.mark.parametrize("looks", [[8], [4, 8, 12], [2, 3, 5, 40], list(range(2, 31))])
def test_all_looks_together_spend_the_error_rate(looks: list[int]) -> None:
    spent = [1 - Spending(looks[-1], tuple(looks)).level(blocks) for blocks in looks]
    assert sum(spent) == pytest.approx(0.05 * AT_THE_END, rel=1e-3)
    assert min(spent) > 0


def test_blocks_added_again_and_again_never_spend_more_than_the_error_rate() -> None:
    looks = tuple(8 * 2**place for place in range(8))
    levels = [Spending(8, looks[: place + 1]).level(blocks) for place, blocks in enumerate(looks)]
    assert 0.049 < sum(1 - level for level in levels) < 0.05
    assert Spending(8, (8,)).level(16) == levels[1]  # the advice knows the level of a look that is not planned yet


def test_the_spending_is_that_of_lan_and_demets() -> None:
    looks = (3, 6, 9, 12, 15)
    spent = np.cumsum([1 - Spending(15, looks).level(blocks) for blocks in looks])
    share = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
    beyond = 2 - 2 * scipy.stats.norm.cdf(scipy.stats.norm.ppf(0.975) / np.sqrt(share))
    assert spent == pytest.approx(AT_THE_END * beyond, abs=2e-6)


def test_between_two_looks_the_next_one_counts() -> None:
    level = Spending(12, (4, 8, 12)).level
    assert [level(blocks) for blocks in (0, 4, 5, 12)] == [level(4), level(4), level(8), level(12)]
    assert level(4) > level(8) > level(12)


def test_the_level_is_reported() -> None:
    assert Spending(8, (8,)).note(None, 0.96) == []
    assert Spending(8, (4, 8)).note(4, 0.9972) == [
        "Looks after 4 and 8 blocks; everything was decided after 4: the intervals are computed at 99.72 %, so that "
        "those of all looks together hold with 95 %"
    ]


def test_looks_give_the_number_of_blocks() -> None:
    assert SweepSpec(settings=SETTINGS, looks=[4, 8, 12]).blocks == 12


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"looks": [8, 4]}, "ascending"),
        ({"looks": [4, 8], "blocks": 10}, "must equal blocks .10., not 8"),
        ({"looks": [1, 8]}, "looks"),
        ({"winner_blocks": 1}, "one block has no replication"),
    ],
)
def test_looks_that_make_no_sense_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigErrors, match=said):
        SweepSpec(settings=SETTINGS, **changes)


def test_a_shortened_sweep_keeps_its_blocks_and_its_winners_get_fresh_ones() -> None:
    plan = plan_sweep(Target(kind="nulldb"), SweepSpec(settings=SETTINGS, looks=[2, 4], winner_blocks=3), "sweep-1")
    ended = ended_at(plan, 2)
    assert ended.runs == plan.runs[:10]
    longer = with_winners(ended, [3, 1])
    fresh = longer.runs[10:]
    assert [one.number for one in longer.runs] == list(range(1, 10 + 9 + 1))
    assert {one.block for one in fresh} == {3, 4, 5}
    assert all(one.fresh for one in fresh)
    for block in (3, 4, 5):
        assert sorted(one.configuration for one in fresh if one.block == block) == [0, 1, 3]
    assert len({tuple(one.configuration for one in fresh if one.block == b) for b in (3, 4, 5)}) > 1


def test_an_extended_sweep_knows_what_it_was_planned_with_and_looks_once_more() -> None:
    plan = plan_sweep(Target(kind="nulldb"), SweepSpec(settings=SETTINGS, looks=[2, 4]), "sweep-1")
    longer = plan.extended(8).extended(10)
    assert (plan.first_blocks, longer.first_blocks) == (None, 4)
    assert longer.spec.looks == (2, 4, 8, 10)
    assert plan.extended(8, done=3).spec.looks == (4, 8)
    assert plan.extended(8, done=4).spec.looks == ()
    assert longer.runs[: len(plan.runs)] == plan.runs


def test_a_sweep_that_ended_because_all_was_decided_takes_no_more_blocks() -> None:
    plan = plan_sweep(Target(kind="nulldb"), SweepSpec(settings=SETTINGS, looks=[2, 4]), "sweep-1")
    with pytest.raises(InputError, match="everything was decided"):
        ended_at(plan, 2).extended(8)


def test_an_interval_at_every_number_of_blocks_ends_where_the_evidence_against_its_mean_is_1_over_alpha() -> None:
    for blocks, comparisons in ((5, 1), (7, 3), (40, 3)):
        v = Anytime(comparisons).critical(blocks) ** 2 / (blocks - 1)
        evidence = (1 / (1 + blocks)) ** 0.5 * ((1 + v) / (1 + v / (1 + blocks))) ** (blocks / 2)
        assert evidence == pytest.approx(comparisons / 0.05)


@pytest.mark.parametrize("blocks", [5, 8, 60])
def test_its_level_is_that_of_students_interval_of_the_same_width(blocks: int) -> None:
    error = 1 - Anytime().level(blocks)
    assert scipy.stats.t.isf(error / 2, blocks - 1) == pytest.approx(Anytime().critical(blocks))


def test_too_few_blocks_decide_nothing() -> None:
    assert Anytime().critical(4) == np.inf
    assert Anytime(3).critical(5) == np.inf
    assert [Anytime().level(blocks) for blocks in (1, 2, 4)] == [1 - 1e-12] * 3
    assert [Anytime().half_width(blocks, 0.0) for blocks in (4, 5)] == [np.inf, 0], "equal values are no certainty"


def test_equal_differences_are_ever_called_different_in_less_than_the_error_rate() -> None:
    draws = np.random.default_rng(1).normal(size=(4000, 40))
    count = np.arange(1.0, 41)
    means = np.cumsum(draws, axis=1) / count
    variances = (np.cumsum(draws**2, axis=1) - count * means**2)[:, 1:] / (count[1:] - 1)
    critical = np.array([Anytime().critical(int(blocks)) for blocks in count[1:]])
    assert 0.005 < (abs(means[:, 1:]) > critical * np.sqrt(variances / count[1:])).any(axis=1).mean() < 0.05
