"""The refresh functions RF1 and RF2 (TPC-H 2.6 and 2.7): new orders with their lines in, old ones out.

An update set is 0.1 % of the orders; there are 1000. The orders that the n-th deletes are the n-th of 1000 parts of
the generator's. Those that it inserts have the content of the part half the table away, so the distributions of the
specification, under keys that no order has: of each 32 numbers the generator uses the first 8 (4.2.3), and these are
the next 8. Nothing is drawn, so a set is the same in each run, and what it did can be undone without a record: its
keys are deleted, and its old orders are generated again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hdbkit.config.specs.tproc_h import UPDATE_SETS, TprocHSpec
from hdbkit.contracts import SqlSession
from hdbkit.errors import InputError
from hdbkit.workloads.tproc_h import population
from hdbkit.workloads.tproc_h.tables import TPROC_H_TABLES

_GAP: Final = 8
"""The keys of inserted orders are this much larger than those of the orders that have the same content."""
_DELETES: Final = ("delete_refreshed_orders", "delete_refreshed_lines")
Keys = tuple[tuple[int, int], ...]
"""Runs of keys without a gap: the first and the last of each."""


@dataclass(frozen=True)
class RefreshOrders:
    """Orders with their lines, as tab-separated text by table."""

    rows: dict[str, list[bytes]]

    @classmethod
    def of_part(cls, spec: TprocHSpec, number: int) -> RefreshOrders:
        """The orders of one of 1000 parts, from 1. Raises ``InputError`` if the generator fails."""
        found: dict[str, list[bytes]] = {"orders": [], "lineitem": []}
        for load in population.part(spec, f"{number}-{UPDATE_SETS}", found):
            for chunk in load.chunks:
                found[load.table.name] += chunk.splitlines(keepends=True)
        return cls(found)

    @property
    def keys(self) -> Keys:
        """The keys of the orders."""
        found: list[list[int]] = []
        for key in sorted(int(row.split(b"\t", 1)[0]) for row in self.rows["orders"]):
            if found and key == found[-1][1] + 1:
                found[-1][1] = key
            else:
                found.append([key, key])
        return tuple((first, last) for first, last in found)

    @property
    def under_free_keys(self) -> RefreshOrders:
        """The same orders under keys that no order of the generator has."""
        return RefreshOrders({name: [_moved(row) for row in rows] for name, rows in self.rows.items()})

    def __len__(self) -> int:
        """The number of rows of both tables."""
        return sum(map(len, self.rows.values()))


@dataclass(frozen=True)
class UpdateSet:
    """What a pair of refresh functions inserts and deletes."""

    new: RefreshOrders
    old: RefreshOrders

    @classmethod
    def numbered(cls, spec: TprocHSpec, number: int) -> UpdateSet:
        """The update set of this number, from 1 to 1000."""
        return cls(
            RefreshOrders.of_part(spec, _opposite(number)).under_free_keys, RefreshOrders.of_part(spec, number)
        )


def first_new_key(spec: TprocHSpec, number: int) -> int:
    """The key of the first order that an update set inserts, known without its rows."""
    order = TPROC_H_TABLES["orders"].rows_at(spec.scale_factor) // UPDATE_SETS * (_opposite(number) - 1) + 1
    return order // 8 * 32 + order % 8 + _GAP


class Refresh:
    """The refresh functions on a session; each is one transaction, and returns the number of its rows."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        session.prepare(_DELETES)

    def insert(self, orders: RefreshOrders) -> int:
        """RF1."""
        self._session.begin()
        self._load(orders)
        self._session.commit()
        return len(orders)

    def delete(self, orders: RefreshOrders) -> int:
        """RF2."""
        self._session.begin()
        self._delete(orders.keys)
        self._session.commit()
        return len(orders)

    def is_untouched(self, one: UpdateSet) -> bool:
        """Whether neither of the functions was performed with this update set; each is done as a whole or not."""
        return not self._present(one.new) and self._present(one.old)

    def undo(self, one: UpdateSet) -> None:
        """Bring the rows of an update set back to what a build loads, whatever was done of it."""
        self._session.begin()
        self._delete((*one.new.keys, *one.old.keys))
        self._load(one.old)
        self._session.commit()

    def _present(self, orders: RefreshOrders) -> bool:
        """Whether the first of these orders are there."""
        first, last = orders.keys[0]
        ((there,),) = self._session.query("count_refreshed_orders", first_key=first, last_key=last)
        return bool(there)

    def _load(self, orders: RefreshOrders) -> None:
        for name, rows in orders.rows.items():
            self._session.load(TPROC_H_TABLES[name], [b"".join(rows)])

    def _delete(self, keys: Keys) -> None:
        self._session.batch([(name, run) for name in _DELETES for run in keys])


def require_unapplied(session: SqlSession, spec: TprocHSpec, numbers: Iterable[int]) -> None:
    """Check that no run has left one of these update sets. Raises ``InputError`` if its new orders are there."""
    for number in numbers:
        key = first_new_key(spec, number)
        ((there,),) = session.query("count_refreshed_orders", first_key=key, last_key=key)
        if there:
            raise InputError(
                f"update set {number} of the refresh functions has been applied to this schema; recover the run that "
                "did it (hdbkit recover RUN), give another update_set, or drop and build the schema"
            )


def undo_refresh(session: SqlSession, spec: TprocHSpec, numbers: Iterable[int]) -> None:
    """Undo those of the update sets that were applied, until the orders are those of the build."""
    refresh = Refresh(session)
    for number in numbers:
        one = UpdateSet.numbered(spec, number)
        if not refresh.is_untouched(one):
            refresh.undo(one)
        elif _is_as_built(session, spec):
            return


def _is_as_built(session: SqlSession, spec: TprocHSpec) -> bool:
    """Whether no update set is applied. Reads all orders."""
    ((new,),), ((all_orders,),) = session.query("count_new_orders"), session.query("count_orders")
    return not new and int(all_orders) == TPROC_H_TABLES["orders"].rows_at(spec.scale_factor)


def _opposite(number: int) -> int:
    """The part half the table away."""
    return (number + UPDATE_SETS // 2 - 1) % UPDATE_SETS + 1


def _moved(row: bytes) -> bytes:
    key, rest = row.split(b"\t", 1)
    return b"%d\t%s" % (int(key) + _GAP, rest)
