"""Two configurations in turn: a wave on the host, what a run leaves for the next one, and the rule against both.

Two have only two orders. Where the orders of neighbouring blocks depend on each other, a wave of two or three blocks
becomes a difference. Where they do not (``run_order``), each more often follows the other than itself, and what a run
leaves behind becomes one. So there are two models: the mean over the blocks, and the same with a column for the
configuration that ran before (Cochran, Autrey and Cannon 1941). Waves break the second and leftovers the first, so a
difference must be there by both: an interval holds those of both models. Sources and rates: ``docs/methods.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hdbkit.analysis.statistics import Floats
from hdbkit.later import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_BLOCKS: Final = 3
"""Fewer leave the second model no noise."""
ENOUGH_BLOCKS: Final = 6
"""From so many on a wave of two to four blocks is seldom a difference; fewer have too few orders."""
TIMES_AS_MANY: Final = 2.0
"""The variance of a difference by the second model, as a multiple of that by the first.

A block whose order repeats that of the one before, which is every other one, says nothing on the difference alone.
"""


@dataclass(frozen=True)
class EffectEstimate:
    """A contrast's value on the log scale, its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    df: float
    again: EffectEstimate | None = None
    """The same by the second model."""

    @property
    def models(self) -> tuple[EffectEstimate, ...]:
        """By each model, at least one."""
        return (self, self.again) if self.again else (self,)


def followed(second: NDArray[np.bool_]) -> Floats:
    """Whether each run followed one of the second configuration (1) or of the first (0), in the order of time.

    The first run, which follows none, counts as one that follows its own configuration.
    """
    before = np.concatenate([second[:1], second[:-1]])
    return before.astype(np.float64)


def holding(intervals: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The interval that holds all of these; NaN where one is unknown."""
    low, high = np.array(list(intervals), dtype=np.float64).T
    return float(low.min()), float(high.max())


def few_blocks_note(blocks: int) -> str:
    """What a difference between two in so few blocks may be beside one, without a full stop; empty with enough."""
    if blocks >= ENOUGH_BLOCKS:
        return ""
    return (
        f"with {blocks} blocks of two a wave on the host with a period of two to three blocks may count as a "
        f"difference; from {ENOUGH_BLOCKS} blocks on it seldom does"
    )
