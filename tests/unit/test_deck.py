"""The order of transactions: decks with the exact mix, and independent draws."""

from __future__ import annotations

import numpy as np
import pytest

from hdbkit.config.specs.tproc_c import TprocCLoad
from hdbkit.workloads.tproc_c.user import Deck, Draws, cards

SPEC = TprocCLoad().weights


def mix(*weights: float) -> dict[str, float]:
    return dict(zip(SPEC, weights, strict=True))


@pytest.mark.parametrize(
    ("weights", "deck"),
    [
        (SPEC, [45, 43, 4, 4, 4]),
        (mix(10, 10, 1, 1, 1), [10, 10, 1, 1, 1]),
        (mix(44.5, 43.5, 4, 4, 4), [89, 87, 8, 8, 8]),
        (mix(0.5, 0.5, 0, 0, 0), [1, 1, 0, 0, 0]),
        (mix(0, 0, 7, 0, 0), [0, 0, 1, 0, 0]),
    ],
)
def test_the_smallest_deck_holds_the_weights_exactly(weights: dict[str, float], deck: list[int]) -> None:
    assert cards(weights) == deck


def test_a_huge_deck_is_brought_down_and_keeps_the_rare_ones() -> None:
    counts = cards(mix(99_991.7, 8.1, 0.003, 0, 0))
    assert 9_000 <= sum(counts) <= 10_010
    assert counts[2:] == [1, 0, 0]


def test_a_weight_that_is_not_zero_gets_a_card_however_small_it_is() -> None:
    assert cards(mix(1, 0.0001, 0, 0, 0))[1] >= 1


def test_every_hundred_transactions_hold_the_mix_exactly() -> None:
    """TPC-C 5.2.4.2."""
    deck = Deck(SPEC, np.random.default_rng(1))
    dealt = np.concatenate([deck.draw(count) for count in (1, 99, 70, 230, 100)]).reshape(5, 100)
    for hundred in dealt:
        assert np.bincount(hundred, minlength=5).tolist() == [45, 43, 4, 4, 4]
    assert len({tuple(hundred.tolist()) for hundred in dealt}) == 5


def test_independent_draws_hold_the_mix_on_average_only() -> None:
    drawn = Draws(mix(10, 10, 1, 1, 1), np.random.default_rng(1)).draw(23_000).reshape(1000, 23)
    counts = np.array([np.bincount(row, minlength=5) for row in drawn])
    assert counts.sum(axis=0) == pytest.approx([10_000, 10_000, 1_000, 1_000, 1_000], rel=0.1)
    assert len({tuple(row) for row in counts.tolist()}) > 100
