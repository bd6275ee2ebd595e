"""One virtual user: the loop whose time we sell.

A user takes prepared inputs, notes the clock, calls, notes the clock, and writes one record to its spool.
Nothing else happens between the two clock readings: no logging, no allocation that grows. What a refusal means,
and whether it is tried again, is decided in :mod:`hdbkit.execution.refusals`, inside the service time it costs.
Times are of this host's monotonic clock.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import Enum, auto

from hdbkit.contracts import Prepared, User
from hdbkit.errors import RolledBackByDesign, TransactionError
from hdbkit.execution.control import Word
from hdbkit.execution.pacing import Pacer
from hdbkit.execution.refusals import Refusals, Settled
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
    """The loop of one virtual user; ``limit`` is the most transactions it may begin.

    What happens to a transaction that is not refused stands in one function: behind a call the cache is cold, and
    each function more is felt.
    """

    def __init__(
        self, spool: SpoolWriter, words: memoryview, refusals: Refusals, pacer: Pacer | None, limit: int | None
    ) -> None:
        self._spool, self._words, self._refusals, self._pacer = spool, words, refusals, pacer
        self._limit = limit
        self.keep_order_ids = False

    def run(self, user: User) -> End:
        """Pace, clock, call, clock, record; until the stop time, the limit, or a refusal that ends it."""
        clock, words, append, pacer = time.monotonic_ns, self._words, self._spool.append, self._pacer
        keep_order_ids, scheduled, o_id = self.keep_order_ids, 0, 0
        while batch := self._batch(user):
            for prepared in batch:
                if pacer:
                    scheduled = pacer.wait(prepared)
                start_ns = clock()
                if start_ns >= words[STOP_AT_NS]:
                    return End.STOPPED
                try:
                    raw = prepared.perform(prepared.bound)
                    end_ns = clock()
                except (RolledBackByDesign, TransactionError) as error:
                    end = self._refused(user, prepared, error, scheduled, start_ns)
                    if end is not None:
                        return end
                    continue
                if keep_order_ids:
                    o_id = user.order_id(prepared, raw)
                append(
                    scheduled or start_ns,
                    start_ns,
                    end_ns,
                    prepared.w_id,
                    o_id,
                    prepared.d_id,
                    prepared.operation,
                    COMMITTED,
                    0,
                    0,
                )
                if pacer:
                    pacer.done(prepared, end_ns)
        return End.LIMIT

    def _batch(self, user: User) -> Sequence[Prepared]:
        """The next transactions; none at the limit, which counts what the spool holds."""
        if self._limit is None:
            return user.next_batch()
        left = self._limit - self._spool.written
        return user.next_batch()[:left] if left > 0 else ()

    def _refused(
        self,
        user: User,
        prepared: Prepared,
        error: RolledBackByDesign | TransactionError,
        scheduled: int,
        start_ns: int,
    ) -> End | None:
        """Settle a refusal, record how it ended, and rest after a failure; the end that it brings, if any."""
        if isinstance(error, RolledBackByDesign):
            settled = Settled(BY_DESIGN, 0, 0)
        else:
            settled = self._refusals.settle(prepared, error)
        end_ns = time.monotonic_ns()
        o_id = user.order_id(prepared, settled.raw) if self.keep_order_ids and settled.raw is not None else 0
        self._spool.append(
            scheduled or start_ns,
            start_ns,
            end_ns,
            prepared.w_id,
            o_id,
            prepared.d_id,
            prepared.operation,
            settled.outcome,
            settled.retries,
            settled.error_class,
        )
        if self._pacer:
            self._pacer.done(prepared, end_ns)
        if settled.end:
            return End[settled.end]
        if settled.error_class:
            self._refusals.rest(self._spool.written)
        return None
