"""A virtual user of TPROC-C: draws transactions by the hundred and binds them ahead of the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from hdbkit.config import InputRules, Load, Routines, WorkloadSpec
from hdbkit.config.load import TRANSACTIONS
from hdbkit.contracts import Arguments, Prepared, Session, UserPlan
from hdbkit.workloads.tproc_c.deck import Deck, Draws
from hdbkit.workloads.tproc_c.inputs import Inputs

_BATCH: Final = 500
NEW_ORDER: Final = TRANSACTIONS.index("new_order")
_KEYING_S: Final = np.array([18.0, 3.0, 2.0, 2.0, 2.0])
_THINKING_S: Final = np.array([12.0, 12.0, 10.0, 5.0, 5.0])
"""Keying times and mean thinking times in the order of ``TRANSACTIONS`` (TPC-C 5.2.5.7)."""
_LONGEST: Final = 10.0
"""Thinking times are cut at so many times their mean (TPC-C 5.2.5.4)."""

Bind = Callable[[Arguments], Any]
Perform = Callable[[Any], Any]
Way = tuple[Perform, Bind]


class TprocCUser:
    """The workload's side of a virtual user. Everything random in it follows from ``plan.seed``."""

    inputs: type[Inputs] = Inputs
    d_id_at: tuple[int | None, ...] = (1, 1, 1, None, 1)
    """Where the arguments of a transaction have its district; a delivery is of all."""

    def __init__(self, session: Session, spec: WorkloadSpec, load: Load, plan: UserPlan) -> None:
        generator = default_rng(plan.seed)
        self._generator = generator
        self._inputs = self.inputs(spec, load, plan, generator)
        self._deck = (Deck if load.input_rules is InputRules.SPEC else Draws)(load.weights, generator)
        self._waits = load.keying_and_thinking
        self._ways = self._prepared(session, load)
        self._rows: Callable[[Any], Any] = session.rows if load.routines is Routines.STORED else _as_it_is

    def next_batch(self) -> Sequence[Prepared]:
        """The next 500 transactions, drawn and bound."""
        kinds = self._deck.draw(_BATCH)
        counts = np.bincount(kinds, minlength=len(TRANSACTIONS)).tolist()
        drawn = [iter(getattr(self._inputs, name)(n)) for name, n in zip(TRANSACTIONS, counts, strict=True)]
        ways, d_id_at, batch = self._ways, self.d_id_at, []
        for kind in kinds.tolist():
            arguments = next(drawn[kind])
            perform, bind = ways[kind]
            at = d_id_at[kind]
            batch.append(Prepared(kind, arguments[0], arguments[at] if at else 0, perform, bind(arguments)))
        if self._waits:
            self._add_waits(batch, kinds)
        return batch

    def order_id(self, prepared: Prepared, raw: Any) -> int:
        """The number of the order that a new order took; 0 for other transactions."""
        return int(self._rows(raw)[0][0]) if prepared.operation == NEW_ORDER else 0

    def _prepared(self, session: Session, load: Load) -> list[Way]:
        if load.routines is Routines.STORED:
            return stored(session, [f"call_{name}" for name in TRANSACTIONS])
        return _client(session)

    def _add_waits(self, batch: list[Prepared], kinds: NDArray[np.int64]) -> None:
        thinking = np.minimum(self._generator.standard_exponential(len(kinds)), _LONGEST) * _THINKING_S[kinds]
        for prepared, keying_s, thinking_s in zip(batch, _KEYING_S[kinds].tolist(), thinking.tolist(), strict=True):
            prepared.keying_s, prepared.thinking_s = keying_s, thinking_s


def stored(session: Session, calls: Sequence[str]) -> list[Way]:
    """Each transaction as one call of its stored routine: the named statements ``calls``, prepared."""
    session.prepare(calls)
    return [(session.perform, partial(session.bind, call)) for call in calls]


def _client(session: Session) -> list[Way]:
    """Each transaction as SQL of the client's own."""
    from hdbkit.workloads.tproc_c import client

    session.prepare(client.statements(session))
    return [(partial(getattr(client, name), session), _as_it_is) for name in TRANSACTIONS]


def _as_it_is(value: Any) -> Any:
    return value
