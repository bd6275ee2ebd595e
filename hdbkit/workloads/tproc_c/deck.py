"""The sequence of transactions: a shuffled deck of cards (TPC-C 5.2.4.2), or independent draws.

With a deck the mix holds exactly over every whole deck; independent draws hold it only on average.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import gcd, lcm
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hdbkit.config.specs.tproc_c import TRANSACTIONS

_MAX_CARDS: Final = 10_000


class Deck:
    """An endless sequence of transactions, as indices in ``TRANSACTIONS``; each deck is shuffled again."""

    def __init__(self, weights: Mapping[str, float], generator: np.random.Generator) -> None:
        self._one = np.repeat(np.arange(len(TRANSACTIONS)), cards(weights))
        self._generator = generator
        self._left: NDArray[np.int64] = self._one[:0]

    def draw(self, count: int) -> NDArray[np.int64]:
        """The next ``count`` transactions."""
        missing = count - len(self._left)
        if missing > 0:
            decks = np.tile(self._one, (-(-missing // len(self._one)), 1))
            self._left = np.concatenate([self._left, self._generator.permuted(decks, axis=1).ravel()])
        drawn, self._left = self._left[:count], self._left[count:]
        return drawn


class Draws:
    """An endless sequence of transactions, each drawn independently by weight."""

    def __init__(self, weights: Mapping[str, float], generator: np.random.Generator) -> None:
        shares = np.array([weights[name] for name in TRANSACTIONS])
        self._shares = shares / shares.sum()
        self._generator = generator

    def draw(self, count: int) -> NDArray[np.int64]:
        """The next ``count`` transactions."""
        return self._generator.choice(len(TRANSACTIONS), count, p=self._shares)


def cards(weights: Mapping[str, float]) -> list[int]:
    """The number of cards of each transaction in the smallest deck with exactly these weights.

    A deck of more than 10,000 cards is brought down to about that, with one card at least of each wanted one.
    """
    shares = [Fraction(str(weights[name])) for name in TRANSACTIONS]
    common = lcm(*(share.denominator for share in shares))
    counts = [int(share * common) for share in shares]
    divisor = gcd(*counts)
    total = sum(counts)
    if total // divisor <= _MAX_CARDS:
        return [count // divisor for count in counts]
    return [count and max(1, round(count * _MAX_CARDS / total)) for count in counts]
