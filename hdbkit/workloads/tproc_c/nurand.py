"""Non-uniform random numbers, their constants, and the last names made from them (TPC-C 2.1.6 and 4.3.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_SYLLABLES: Final = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
NAMES: Final = 1_000
LAST_NAMES: Final = tuple(_SYLLABLES[n // 100] + _SYLLABLES[n // 10 % 10] + _SYLLABLES[n % 10] for n in range(NAMES))
"""The thousand last names, by number."""

A_LAST: Final = 255
A_CUSTOMER: Final = 1_023
A_ITEM: Final = 8_191
_DELTAS: Final = tuple(delta for delta in range(65, 120) if delta not in (96, 112))
"""The permitted differences between the constants of last names of load and run (TPC-C 2.1.6.1)."""


@dataclass(frozen=True)
class Constants:
    """The constants C of NURand: one per field, the same for all users of a run."""

    last_of_load: int
    last: int
    customer: int
    item: int

    @classmethod
    @lru_cache(maxsize=16)  # a user that logs in for each operation asks each time
    def of(cls, spec_seed: int, load_seed: int) -> Constants:
        """Derive the constant of the population from its seed, and those of the run from both seeds."""
        last_of_load = load_constant(spec_seed)
        rng = np.random.default_rng([spec_seed, load_seed])
        allowed = [c for c in range(A_LAST + 1) if abs(c - last_of_load) in _DELTAS]
        return cls(
            last_of_load=last_of_load,
            last=int(rng.choice(allowed)),
            customer=int(rng.integers(0, A_CUSTOMER, endpoint=True)),
            item=int(rng.integers(0, A_ITEM, endpoint=True)),
        )


def load_constant(spec_seed: int) -> int:
    """The constant of last names in the population, from 0 to 255."""
    return int(np.random.default_rng(spec_seed).integers(0, A_LAST, endpoint=True))


def nurand(uniform: NDArray[Any], other: NDArray[Any], constant: int, low: int, high: int) -> NDArray[Any]:
    """NURand(A, low, high) from uniform numbers: ``uniform`` in 0..A, ``other`` in low..high (TPC-C 2.1.6)."""
    skewed: NDArray[Any] = ((uniform | other) + constant) % (high - low + 1) + low
    return skewed
