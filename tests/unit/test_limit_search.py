"""The search for the highest level within a limit, on curves whose crossing is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from hdbkit.analysis.statistics.limit_search import Block, LimitNotFound, Trial, estimate_rate, search_limit


def played(curve: Callable[[float], float], blocks: int = 3, first: float = 100.0) -> tuple[list[Trial], list[Block]]:
    """The trials of a search, and its blocks."""
    trials, made = search_limit(first, blocks, 7, (1.0, 1e5)), []
    trial = next(trials)
    try:
        while True:
            made.append(trial)
            trial = trials.send(curve(trial.level))
    except StopIteration as end:
        return made, list(end.value)


@pytest.mark.parametrize("truth", [3.0, 480.0, 70_000.0])
def test_a_known_crossing_is_found_and_lies_within_its_interval(truth: float) -> None:
    trials, blocks = played(lambda level: 5 * math.log(level / truth))
    found = estimate_rate(blocks)
    assert found.level == pytest.approx(truth, rel=1e-3), "the curve is straight in logarithms"
    assert found.low < truth < found.high < 1.09 * found.low
    assert not found.changed
    assert [trial.block for trial in trials if trial.block] == [1] * 4 + [2] * 4 + [3] * 4


def test_each_block_has_every_level_once_and_their_order_differs() -> None:
    trials, _ = played(lambda level: level - 480, blocks=4)
    orders = [tuple(one.level for one in trials if one.block == block) for block in range(1, 5)]
    assert len({frozenset(order) for order in orders}) == 1
    assert len(set(orders)) > 1


def test_levels_reach_further_until_both_ends_are_certain() -> None:
    """Between 400 and 600 the excess is noise around 0, whatever the level."""
    draw = np.random.default_rng(1)
    trials, blocks = played(lambda level: draw.normal() if 400 < level < 600 else level - 500, blocks=5)
    found = estimate_rate(blocks)
    assert (found.low <= 400, found.high >= 600) == (True, True)
    assert len(blocks[0]) > 4
    assert [trial.block for trial in trials[-5:]] == [1, 2, 3, 4, 5]


def test_an_end_is_unknown_where_no_level_is_certain() -> None:
    found = estimate_rate([{100.0: -0.1, 110.0: 0.6}, {100.0: 0.3, 110.0: 0.62}])
    assert (found.low, found.high) == (0.0, 110.0)


def test_the_estimate_pools_levels_that_are_out_of_order() -> None:
    """The means are -0.2, 0.3, 0.1, 0.4; the middle two become 0.2, so the crossing is half way from 100 to 110."""
    block = {100.0: -0.2, 110.0: 0.3, 120.0: 0.1, 130.0: 0.4}
    assert estimate_rate([block, block]).level == pytest.approx(math.sqrt(100 * 110))


def test_an_unknown_trial_counts_as_ten_times_the_limit() -> None:
    calm = {100.0: -0.3, 110.0: 0.3}
    assert estimate_rate([calm, calm | {100.0: math.inf}]) == estimate_rate([calm, calm | {100.0: math.log(10)}])


def test_where_every_level_is_at_the_limit_an_end_is_claimed_in_five_percent() -> None:
    """The worst case: each end is claimed in 2.5 % of the searches."""
    draw = np.random.default_rng(1)
    noise = 0.1 * draw.normal(size=(1000, 5, 4))
    blocks = [[dict(zip((90.0, 97.0, 103.0, 110.0), one, strict=True)) for one in of_search] for of_search in noise]
    ends = [estimate_rate(one) for one in blocks]
    assert 0.03 < np.mean([one.low > 0 or one.high < math.inf for one in ends]) < 0.065


def test_a_search_whose_blocks_have_a_trend_is_about_its_own_time() -> None:
    """The first runs are slow, the later ones are not: one interval in four ends below the rate of the later ones.

    Of these most are said to be about the time of the search. How long that was is always stated.
    """
    draw, truth, silent = np.random.default_rng(3), 480.0, []
    for _ in range(40):
        slow = iter(0.8 * np.exp(-np.arange(200) / 18) + 0.1 * draw.normal(size=200))
        found = estimate_rate(played(lambda level, slow=slow: 5 * math.log(level / truth) + next(slow), 5)[1])
        silent.append(not found.low <= truth <= found.high and not found.changed)
    assert sum(silent) <= 3


@pytest.mark.parametrize(("excess", "level", "within"), [(1.0, 1.0, False), (-1.0, 1e5, True)])
def test_a_limit_that_never_or_always_holds_ends_the_search_at_a_bound(
    excess: float, level: float, within: bool
) -> None:
    with pytest.raises(LimitNotFound) as found:
        played(lambda _: excess)
    assert (found.value.level, found.value.within) == (level, within)
