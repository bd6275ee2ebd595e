"""A virtual user on a schema of HammerDB's: its inputs, handed to its routines."""

from __future__ import annotations

from functools import partial
from typing import Any

from hdbkit.config import Load
from hdbkit.contracts import Arguments, Prepared, Session
from hdbkit.errors import RolledBackByDesign
from hdbkit.workloads.tproc_c.hammerdb.schema import calls, routine_kind
from hdbkit.workloads.tproc_c.inputs import Inputs
from hdbkit.workloads.tproc_c.user import NEW_ORDER, TprocCUser, Way, stored


class HammerDBInputs(Inputs):
    """HammerDB's inputs in the order of its statements. Its routines draw a new order's lines themselves."""

    def new_order(self, count: int) -> list[Arguments]:
        """(w_id, max_w_id, d_id, c_id, ol_cnt)."""
        return [(w, self._warehouses, d, c, len(items)) for w, d, c, items, *_ in super().new_order(count)]

    def payment(self, count: int) -> list[Arguments]:
        """(w_id, d_id, c_w_id, c_d_id, byname, amount, c_last, c_id)."""
        return [
            (*home, byname, amount, c_last, c_id) for *home, c_id, byname, c_last, amount in super().payment(count)
        ]

    def _who(self, count: int) -> tuple[list[Any], ...]:
        """c_id, byname, c_last: a number is always given, a name only where the customer is asked for by it."""
        c_ids, names, by_name = self._customers(count)
        c_lasts = [name if named else "" for named, name in zip(by_name, names, strict=True)]
        return c_ids, [int(named) for named in by_name], c_lasts


class HammerDBUser(TprocCUser):
    """Contract: :class:`hdbkit.contracts.User`."""

    inputs = HammerDBInputs
    d_id_at = (2, 1, 1, None, 1)

    def _prepared(self, session: Session, load: Load) -> list[Way]:
        kind = routine_kind(session)
        ways = stored(session, calls(kind))
        if kind == "transaction":
            ways[NEW_ORDER] = (partial(_confirmed, session), ways[NEW_ORDER][1])
        return ways

    def order_id(self, prepared: Prepared, raw: Any) -> int:
        """The number of the order where the routine tells it; else 0."""
        return int(self._rows(raw)[0][-1]) if prepared.transaction == NEW_ORDER else 0


def _confirmed(session: Session, bound: Any) -> Any:
    """A new order by a routine that ends its transaction itself: a null in place of its number is a rollback."""
    raw = session.perform(bound)
    if session.rows(raw)[0][-1] is None:
        raise RolledBackByDesign
    return raw
