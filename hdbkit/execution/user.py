"""The measured loop of one virtual user.

A user takes prepared operations, reads the clock, calls, reads the clock, and writes one record to its spool.
Nothing else happens between the two clock readings: no logging, no allocation that grows. What an error means, and
whether the operation is retried, is decided in :mod:`hdbkit.execution.failures`, inside the service time it costs.
Times are of this host's monotonic clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Protocol

from hdbkit.contracts import Prepared, User
from hdbkit.errors import RolledBackByDesign, TransactionError
from hdbkit.execution.control import Field
from hdbkit.execution.failures import Failures, Settled
from hdbkit.execution.pacing import Pacing
from hdbkit.results.columns import Outcome

COMMITTED, ROLLED_BACK_BY_DESIGN = int(Outcome.COMMITTED), int(Outcome.ROLLED_BACK_BY_DESIGN)
STOP_AT_NS = int(Field.STOP_AT_NS)  # a plain number is a faster index than a member


class End(Enum):
    """Why a loop ended."""

    STOPPED = auto()
    LIMIT = auto()
    LOST = auto()  # the connection is gone
    RAISED = auto()  # an operation failed, and the run is configured to end then


class Recorder(Protocol):
    """The destination of a loop's records: a spool, or a user's part of one."""

    def append(
        self,
        scheduled_ns: int,
        start_ns: int,
        end_ns: int,
        head: bytes,
        outcome: int,
        retries: int,
        error_class: int,
        /,
    ) -> None:
        """Write one record."""

    @property
    def written(self) -> int:
        """The number of records that the user wrote."""


class Loop:
    """The loop of one virtual user.

    ``limit`` is the maximum number of operations; ``pause`` waits until a time of the monotonic clock after failures.

    Handling of a successful operation stays in one function: after a call the CPU cache is cold, and each further
    function call costs time.
    """

    def __init__(
        self,
        recorder: Recorder,
        fields: memoryview,
        failures: Failures,
        pause: Callable[[int], None],
        pacer: Pacing | None = None,
        limit: int | None = None,
        details_from_results: bool = False,
    ) -> None:
        self._recorder, self._fields, self._failures, self._pause = recorder, fields, failures, pause
        self._pacer, self._limit, self._from_results = pacer, limit, details_from_results

    def run(self, user: User, drawn: Sequence[Prepared] = ()) -> End:
        """Pace, clock, call, clock, record; until the stop time, the limit, or an error that ends it.

        ``drawn`` are operations of the user that were drawn before, and come first.
        """
        clock, fields, append, pacer = time.monotonic_ns, self._fields, self._recorder.append, self._pacer
        from_results, scheduled = self._from_results, 0
        while batch := self._batch(user, drawn):
            drawn = ()
            for prepared in batch:
                if pacer:
                    scheduled = pacer.wait(prepared)
                start_ns = clock()
                if start_ns >= fields[STOP_AT_NS]:
                    return End.STOPPED
                try:
                    raw = prepared.perform(prepared.bound)
                    end_ns = clock()
                except (RolledBackByDesign, TransactionError) as error:
                    end = self._settle(user, prepared, error, scheduled, start_ns)
                    if end is not None:
                        return end
                    continue
                head = user.head(prepared, raw) if from_results else prepared.head
                append(scheduled or start_ns, start_ns, end_ns, head, COMMITTED, 0, 0)
                if pacer:
                    pacer.done(prepared, end_ns)
            batch = ()  # the next ones take its memory
        return End.LIMIT

    def _batch(self, user: User, drawn: Sequence[Prepared]) -> Sequence[Prepared]:
        """The next operations; none at the limit, which counts recorded operations."""
        if self._limit is None:
            return drawn or user.next_batch()
        left = self._limit - self._recorder.written
        return (drawn or user.next_batch())[:left] if left > 0 else ()

    def _settle(
        self,
        user: User,
        prepared: Prepared,
        error: RolledBackByDesign | TransactionError,
        scheduled: int,
        start_ns: int,
    ) -> End | None:
        """Handle an error, record the operation, pause after a failure; return the loop's end, if it ends."""
        if isinstance(error, RolledBackByDesign):
            settled = Settled(ROLLED_BACK_BY_DESIGN, 0, 0)
        else:
            settled = self._failures.settle(prepared, error)
        end_ns = time.monotonic_ns()
        head = user.head(prepared, settled.raw) if self._from_results else prepared.head
        times = scheduled or start_ns, start_ns, end_ns
        self._recorder.append(*times, head, settled.outcome, settled.retries, settled.error_class)
        if self._pacer:
            self._pacer.done(prepared, end_ns)
        if settled.end:
            return End[settled.end]
        if settled.error_class and (pause_s := self._failures.pause_s(self._recorder.written)):
            self._pause(end_ns + round(pause_s * 1e9))
        return None
