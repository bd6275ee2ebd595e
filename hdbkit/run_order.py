"""The order of the configurations in the blocks of a sweep, and in the cycles of a run by slices.

Blocks: every block has a random order of its own, so what waxes and wanes on a host (checkpoints, backups, other
users) meets no configuration in the same phase again and again. Three configurations have so few orders that chance
would often repeat one: all six come twice before any comes again. Then a drift affects all nearly alike, and what a
run leaves behind for the next mostly cancels. The two orders of two configurations are drawn for each block alone:
any rule that ties neighbouring blocks makes a wave with a period of two or three blocks a difference. What a run
leaves behind does not cancel then; their verdict allows for it (``analysis.statistics.carry_over``).

The order of a block depends on the seed and its number alone.

Cycles: rows of random Williams squares (Williams 1949, Aust. J. Sci. Res. 2, 149-168), in which over a whole square
each item comes equally often first, second and so on, and follows each other equally often. Where two rows allow it,
a cycle begins with the item with which the one before ended: what an item leaves to itself counts as well. Slices are
short, so they leave more behind than runs; and there are many, so that a wave would have to keep their pace for
minutes. Of two items this would make one pattern of four slices, which such a wave would meet in one phase for the
whole run: every ``CHAINED_OF_TWO`` squares they begin with either at random.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

REPEATED: Final = {3: 2}
"""By the number of items, how often each of their orders is drawn before the draw begins anew."""


CHAINED_OF_TWO: Final = 2
"""The squares of two items, each order once, that follow each other before the next begins with either."""


def in_turn(count: int, seed: int, block: int) -> list[int]:
    """The position of each of ``count`` items in a block."""
    if count not in REPEATED:
        return random.Random(f"{seed}/{block}").sample(range(count), count)
    every = list(itertools.permutations(range(count))) * REPEATED[count]
    number, place = divmod(block - 1, len(every))
    return list(random.Random(f"{seed}/{number}").sample(every, len(every))[place])


def baseline_runs(compared: int) -> int:
    """How often a block runs the baseline of so many comparisons, which all have its noise.

    The square root of their number leaves the differences the least variance for a number of runs (Dunnett 1955).
    """
    return max(round(math.sqrt(compared)), 1)


def orders(count: int, seed: int) -> Iterator[list[int]]:
    """The items of each cycle in their order, without end."""
    last = None
    for number in itertools.count():
        square = _WilliamsSquare.of(count, seed, number, last)
        last = square.last if count > 2 or (number + 1) % CHAINED_OF_TWO else None
        yield from map(square.row, range(len(square.rows)))


@dataclass(frozen=True)
class _WilliamsSquare:
    """Rows in which each item follows each other once; for an odd count two squares, one the mirror of the other.

    A row is that of the zigzag 0, n - 1, 1, n - 2, ... shifted by a number, with random items in place of numbers.
    """

    items: tuple[int, ...]
    rows: tuple[tuple[int, bool], ...]
    """Shift, and whether it is mirrored."""

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, count: int, seed: int, number: int, last: int | None) -> _WilliamsSquare:
        """A random square whose rows begin with the end of the one before (``last``, of the first) where possible.

        Rows are the edges of a directed graph from their first to their last item, their order its Euler trails
        (Hierholzer 1873, Math. Ann. 6, 30-32).
        """
        draw = random.Random(f"{seed}/{number}")
        items = tuple(draw.sample(range(count), count))
        rows = [
            (shift, mirrored) for shift in range(count) for mirrored in ((False, True) if count % 2 else (False,))
        ]
        draw.shuffle(rows)
        square = cls(items, tuple(rows))
        starting: dict[int | None, list[tuple[int, bool]]] = {}
        for row in rows:
            starting.setdefault(square._ends(row)[0], []).append(row)
        ordered: list[tuple[int, bool]] = []
        for first in (last, *(square._ends(row)[0] for row in rows)):
            path: list[tuple[int | None, tuple[int, bool] | None]] = [(first, None)]
            trail: list[tuple[int, bool]] = []
            while path:
                item, arrived_by = path[-1]
                if starting.get(item):
                    following = starting[item].pop()
                    path.append((square._ends(following)[1], following))
                    continue
                path.pop()
                trail += [arrived_by] if arrived_by else []
            ordered += reversed(trail)
        return cls(items, tuple(ordered))

    @property
    def last(self) -> int:
        """The item with which the last row ends."""
        return self._ends(self.rows[-1])[1]

    def row(self, number: int) -> list[int]:
        """The items of one row, in their order."""
        shift, mirrored = self.rows[number]
        found = [self._item(step, shift) for step in range(len(self.items))]
        return found[::-1] if mirrored else found

    def _ends(self, row: tuple[int, bool]) -> tuple[int, int]:
        shift, mirrored = row
        ends = self._item(0, shift), self._item(len(self.items) - 1, shift)
        return ends[::-1] if mirrored else ends

    def _item(self, step: int, shift: int) -> int:
        count = len(self.items)
        place = step // 2 if step % 2 == 0 else count - 1 - step // 2
        return self.items[(place + shift) % count]
