"""The inputs of the five transactions, as typed by a terminal's user, drawn by the hundred.

``spec`` follows TPC-C 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1. ``hammerdb`` differs where HammerDB does: customers and
items are uniform, amounts are whole, last names have the constant of the load, 1 of 99 new orders is rolled back, and
a user's home warehouse and district are drawn.
Each method gives a list of argument tuples, in the order in which the routines take them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hdbkit.config.specs.tproc_c import InputRules, TprocCLoad, TprocCSpec
from hdbkit.contracts import Arguments, UserPlan
from hdbkit.workloads.tproc_c.tables import CUSTOMERS, DISTRICTS, ITEMS, MAX_ORDER_LINES, MIN_LINES, UNUSED_ITEM

_Numbers = NDArray[Any]
_ROLLED_BACK: Final = {InputRules.SPEC: 100, InputRules.HAMMERDB: 99}
"""One in this many new orders names the unused item."""
_REMOTE_LINE: Final = 1
_REMOTE_PAYMENT: Final = 15
_BY_NAME: Final = 60
_MAX_QUANTITY: Final = 10
_MAX_AMOUNT: Final = 5_000
_CARRIERS: Final = 10


def _home(spec: TprocCSpec, load: TprocCLoad, plan: UserPlan) -> tuple[int, int]:
    """The home warehouse and own district of a user: spread evenly, or drawn once, as HammerDB does."""
    if load.input_rules is InputRules.SPEC:
        return plan.index % spec.warehouses + 1, plan.index // spec.warehouses % DISTRICTS + 1
    drawn = np.random.default_rng((load.seed, plan.index)).integers(1, (spec.warehouses, DISTRICTS), endpoint=True)
    return int(drawn[0]), int(drawn[1])


class Inputs:
    """The inputs of one virtual user; everything random comes from ``generator``."""

    def __init__(self, spec: TprocCSpec, load: TprocCLoad, plan: UserPlan, generator: np.random.Generator) -> None:
        self._warehouses = spec.warehouses
        self._by_spec = load.input_rules is InputRules.SPEC
        home_w_id, self._own_d_id = _home(spec, load, plan)
        self._home_w_id = None if load.all_warehouses else home_w_id
        self._remote_line, self._remote_payment = (
            (_REMOTE_LINE, _REMOTE_PAYMENT) if load.remote_warehouses else (0, 0)
        )
        self._one_rolled_back_of = _ROLLED_BACK[load.input_rules]
        self._constants = Constants.of(spec.seed, load.seed)
        self._generator = generator

    def new_order(self, count: int) -> list[Arguments]:
        """(w_id, d_id, c_id, item ids, supplying warehouses, quantities).

        Lines are by (warehouse, item): in this order all new orders lock stock, so that they never deadlock, and no
        engine need sort them. An unused item, which has no stock, is the last.
        """
        w_id, d_id, c_id = self._w_id(count), self._between(1, DISTRICTS, count), self._customer(count)
        line_counts = self._between(MIN_LINES, MAX_ORDER_LINES, count)
        ends = np.cumsum(line_counts)
        lines = int(ends[-1]) if count else 0
        items = self._item(lines)
        rolled_back = self._between(1, self._one_rolled_back_of, count) == 1
        items[ends[rolled_back] - 1] = UNUSED_ITEM
        home = np.repeat(w_id, line_counts)
        supplied = np.where(self._percent(self._remote_line, lines), self._other_warehouse(home), home)
        quantities = self._between(1, _MAX_QUANTITY, lines)
        order_of = np.repeat(np.arange(count), line_counts)
        sorted_lines = np.lexsort((items, supplied, items == UNUSED_ITEM, order_of))
        items, supplied, quantities = items[sorted_lines], supplied[sorted_lines], quantities[sorted_lines]
        i, s, q, end = tuple(items.tolist()), tuple(supplied.tolist()), tuple(quantities.tolist()), ends.tolist()
        return (
            [
                (w, d, c, i[a:z], s[a:z], q[a:z])
                for w, d, c, a, z in zip(
                    w_id.tolist(), d_id.tolist(), c_id.tolist(), [0, *end[:-1]], end, strict=True
                )
            ]
            if count
            else []
        )

    def payment(self, count: int) -> list[Arguments]:
        """(w_id, d_id, c_w_id, c_d_id, c_id or None, c_last or None, amount)."""
        w_id, d_id = self._w_id(count), self._between(1, DISTRICTS, count)
        remote = self._percent(self._remote_payment, count) & (self._warehouses > 1)
        c_w_id = np.where(remote, self._other_warehouse(w_id), w_id)
        c_d_id = np.where(remote, self._between(1, DISTRICTS, count), d_id)
        homes = (column.tolist() for column in (w_id, d_id, c_w_id, c_d_id))
        return list(zip(*homes, *self._who(count), self._amounts(count), strict=True))

    def order_status(self, count: int) -> list[Arguments]:
        """(w_id, d_id, c_id or None, c_last or None)."""
        w_id, d_id = self._w_id(count), self._between(1, DISTRICTS, count)
        return list(zip(w_id.tolist(), d_id.tolist(), *self._who(count), strict=True))

    def delivery(self, count: int) -> list[Arguments]:
        """(w_id, carrier)."""
        return list(zip(self._w_id(count).tolist(), self._between(1, _CARRIERS, count).tolist(), strict=True))

    def stock_level(self, count: int) -> list[Arguments]:
        """(w_id, d_id, threshold); the district is the terminal's own (TPC-C 2.8.1.1)."""
        d_id, threshold = self._own_d_id, self._between(10, 20, count)
        return [(w, d_id, t) for w, t in zip(self._w_id(count).tolist(), threshold.tolist(), strict=True)]

    def _between(self, low: int, high: int, count: int) -> _Numbers:
        return self._generator.integers(low, high, count, endpoint=True)

    def _percent(self, share: int, count: int) -> NDArray[np.bool_]:
        return self._between(1, 100, count) <= share

    def _w_id(self, count: int) -> _Numbers:
        if self._home_w_id is None:
            return self._between(1, self._warehouses, count)
        return np.full(count, self._home_w_id)

    def _other_warehouse(self, home: _Numbers) -> _Numbers:
        if self._warehouses == 1:
            return home
        other = self._between(1, self._warehouses - 1, len(home))
        return other + (other >= home)

    def _skewed(self, a: int, low: int, high: int, constant: int, count: int) -> _Numbers:
        return nurand(self._between(0, a, count), self._between(low, high, count), constant, low, high)

    def _customer(self, count: int) -> _Numbers:
        if not self._by_spec:
            return self._between(1, CUSTOMERS, count)
        return self._skewed(A_CUSTOMER, 1, CUSTOMERS, self._constants.customer, count)

    def _item(self, count: int) -> _Numbers:
        if not self._by_spec:
            return self._between(1, ITEMS, count)
        return self._skewed(A_ITEM, 1, ITEMS, self._constants.item, count)

    def _who(self, count: int) -> tuple[list[Any], ...]:
        """c_id or None, c_last or None."""
        c_ids, names, by_name = self._customers(count)
        return (
            [None if named else c_id for named, c_id in zip(by_name, c_ids, strict=True)],
            [name if named else None for named, name in zip(by_name, names, strict=True)],
        )

    def _customers(self, count: int) -> tuple[list[int], list[str], list[bool]]:
        """Customer numbers, last names, and whether to select by name: in 60 of 100 cases (TPC-C 2.5.1.2)."""
        constant = self._constants.last if self._by_spec else self._constants.last_of_load
        by_name = self._percent(_BY_NAME, count).tolist()
        c_ids = self._customer(count).tolist()
        names = self._skewed(A_LAST, 0, LAST_NAME_COUNT - 1, constant, count).tolist()
        return c_ids, [LAST_NAMES[name] for name in names], by_name

    def _amounts(self, count: int) -> list[str]:
        """Decimal text; from 1.00 to 5000.00."""
        if not self._by_spec:
            return [str(units) for units in self._between(1, _MAX_AMOUNT, count).tolist()]
        return [f"{c // 100}.{c % 100:02d}" for c in self._between(100, 100 * _MAX_AMOUNT, count).tolist()]


_SYLLABLES: Final = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
LAST_NAME_COUNT: Final = 1_000
LAST_NAMES: Final = tuple(
    _SYLLABLES[n // 100] + _SYLLABLES[n // 10 % 10] + _SYLLABLES[n % 10] for n in range(LAST_NAME_COUNT)
)
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
