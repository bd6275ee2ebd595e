"""A virtual user on a schema of HammerDB's: its inputs, handed to its routines."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from hdbkit.config.specs.tproc_c import TprocCLoad
from hdbkit.contracts import Arguments, Session
from hdbkit.errors import ErrorClass, RolledBackByDesign, TransactionError
from hdbkit.workloads.tproc_c.hammerdb.schema import calls, routine_kind
from hdbkit.workloads.tproc_c.inputs import Inputs
from hdbkit.workloads.tproc_c.user import NEW_ORDER, Bind, Call, TprocCUser, stored


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
    """Contract: :class:`hdbkit.contracts.User`.

    HammerDB's procedures may roll back silently. A new order is therefore looked up afterwards.
    A payment or delivery that a deadlock undid so passes for committed, as in HammerDB; NOPM does not count it.
    """

    inputs = HammerDBInputs
    d_id_at = (2, 1, 1, None, 1)

    def _prepared(self, session: Session, load: TprocCLoad) -> list[Call]:
        kind = routine_kind(session)
        found = stored(session, calls(kind))
        if kind != "function":
            _, bind = found[NEW_ORDER]
            found[NEW_ORDER] = (
                (partial(_verified, session), bind) if kind == "transaction" else _looked_for(session, bind)
            )
        return found

    def order_id(self, raw: Any) -> int:
        """The number of the order where the routine returns it; else 0."""
        return int(self._rows(raw)[0][-1])


def _verified(session: Session, bound: Any) -> Any:
    """A new order whose packet looks for it as well: a null in place of its number is a rollback."""
    raw = session.perform(bound)
    if session.rows(raw)[0][-1] is None:
        raise RolledBackByDesign
    return raw


def _looked_for(session: Session, bind: Bind) -> Call:
    """A new order that is looked for after it took so long that the server may have refused it."""
    silent_after_s = session.ask("silent_after_ms")[0][0] / 1000

    def bind_both(arguments: Arguments) -> tuple[Any, Arguments]:
        return bind(arguments), arguments

    def perform(bound: tuple[Any, Arguments]) -> Any:
        call, (w_id, _, d_id, c_id, _) = bound
        start_s = time.monotonic()
        raw = session.perform(call)
        if time.monotonic() - start_s >= silent_after_s:
            o_id = session.rows(raw)[0][-1]
            if not session.ask("count_order", w_id=w_id, d_id=d_id, o_id=o_id, c_id=c_id)[0][0]:
                raise TransactionError(ErrorClass.DEADLOCK, "", "the procedure rolled the order back silently")
        return raw

    return perform, bind_both
