"""One virtual user: the loop whose time we sell.

A user takes prepared inputs, notes the clock, calls, notes the clock, and writes one record to its spool.
Nothing else happens between the two clock readings: no logging, no allocation that grows. What a refusal means,
and whether it is tried again, is decided in :mod:`hdbkit.execution.refusals`, inside the service time it costs.
Times are of this host's monotonic clock.
"""

from __future__ import annotations

import time
from enum import Enum, auto

from hdbkit.contracts import Prepared, User
from hdbkit.errors import RolledBackByDesign, TransactionError
from hdbkit.execution.control import Word
from hdbkit.execution.pacing import Pacer
from hdbkit.execution.refusals import Refusals
from hdbkit.results.columns import Outcome
from hdbkit.results.spool import SpoolWriter

COMMITTED, BY_DESIGN = int(Outcome.COMMITTED), int(Outcome.ROLLED_BACK_BY_DESIGN)
STOP_AT_NS = int(Word.STOP_AT_NS)  # a plain number is a faster index than a member


class End(Enum):
    """Why a loop ended."""

    STOPPED = auto()
    LIMIT = auto()
    LOST = auto()  # the connection is gone
    RAISED = auto()  # a transaction failed, and the run asked to end then


class Loop:
    """The loop of one virtual user; ``limit`` is the most transactions it may begin."""

    def __init__(
        self, spool: SpoolWriter, words: memoryview, refusals: Refusals, pacer: Pacer | None, limit: int | None
    ) -> None:
        self._spool, self._words, self._refusals, self._pacer = spool, words, refusals, pacer
        self._left = limit if limit is not None else 2**63
        self.keep_order_ids = False

    def run(self, user: User) -> End:
        """Drive ``user`` until the stop time, the limit, or a refusal that ends it."""
        while True:
            for prepared in user.next_batch():
                if not self._left:
                    return End.LIMIT
                self._left -= 1
                end = self._measure(user, prepared)
                if end is not None:
                    return end

    def _measure(self, user: User, prepared: Prepared) -> End | None:
        """One transaction: pace, clock, call, clock, record."""
        clock, perform, bound = time.monotonic_ns, prepared.perform, prepared.bound
        scheduled = self._pacer.wait(prepared) if self._pacer else 0
        outcome, retries, error_class, o_id, end = COMMITTED, 0, 0, 0, None
        start_ns = clock()
        if start_ns >= self._words[STOP_AT_NS]:
            return End.STOPPED
        try:
            raw = perform(bound)
            end_ns = clock()
            if self.keep_order_ids:
                o_id = user.order_id(prepared, raw)
        except RolledBackByDesign:
            end_ns = clock()
            outcome = BY_DESIGN
        except TransactionError as error:
            settled = self._refusals.settle(prepared, error)
            end_ns = clock()
            outcome, retries, error_class, end = settled.outcome, settled.retries, settled.error_class, settled.end
            if self.keep_order_ids and settled.raw is not None:
                o_id = user.order_id(prepared, settled.raw)
        self._spool.append(
            scheduled or start_ns,
            start_ns,
            end_ns,
            prepared.w_id,
            o_id,
            prepared.d_id,
            prepared.transaction,
            outcome,
            retries,
            error_class,
        )
        if self._pacer:
            self._pacer.done(prepared, end_ns)
        if not error_class:
            return None
        if end is None:
            self._refusals.rest(-self._left)
            return None
        return End[end]
