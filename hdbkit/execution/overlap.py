"""Several virtual users in one client process, on sessions that overlap: while the server works for one,
others go on.

Those whose operation is due are served first, in the order of their due times. Sending an operation and receiving its
answer are apart; the start of an operation is the clock before it is sent, its end the clock after its whole answer.
An operation that cannot be sent without waiting for its answer is performed in one step, and the others wait for it.
"""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from hdbkit.contracts import PENDING, OverlappingSession, Prepared
from hdbkit.errors import RolledBackByDesign, TransactionError
from hdbkit.execution.control import NEVER_NS
from hdbkit.execution.failures import Settled
from hdbkit.execution.turns import Seat
from hdbkit.execution.user import BY_DESIGN, COMMITTED, STOP_AT_NS, End
from hdbkit.execution.virtual_user import VirtualUser

_MAX_WAIT_S = 0.1
"""The stop time may change meanwhile."""
_BEGUN_AT_ONCE = 32
"""How many operations begin before answers are received."""


class Waiting:
    """Waits for the answers to sessions, to a fraction of a millisecond.

    Create it before the sessions connect: ``select``, whose timeout is exact, takes low descriptors only.
    """

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._seats: dict[int, OverlappingSeat] = {}

    def watch(self, seat: OverlappingSeat, descriptor: int) -> None:
        """Wait for this session as well."""
        self._poll.register(descriptor, select.EPOLLIN)
        self._seats[descriptor] = seat

    def forget(self, descriptor: int) -> None:
        """Wait for it no longer."""
        with suppress(OSError):
            self._poll.unregister(descriptor)
        self._seats.pop(descriptor, None)

    def ready(self, until_ns: int, exactly: bool) -> list[OverlappingSeat]:
        """The sessions with something to read; none when the time has come, which is ``exactly`` if asked for."""
        wait_s = min((until_ns - time.monotonic_ns()) / 1e9, _MAX_WAIT_S)
        if wait_s > 0 and exactly:
            select.select([self._poll], [], [], wait_s)
            wait_s = 0.0
        return [self._seats[descriptor] for descriptor, _ in self._poll.poll(max(0.0, wait_s))]

    def close(self) -> None:
        """Close its own descriptor."""
        self._poll.close()


class OverlappingSeat(Seat):
    """A virtual user among others, whose operations are sent and received.

    ``in_flight``: it waits for an answer.
    """

    def __init__(self, virtual_user: VirtualUser, waiting: Waiting) -> None:
        super().__init__(virtual_user)
        self.in_flight = False
        self._waiting = waiting
        self._watched: int | None = None
        self._prepared: Prepared | None = None
        self._scheduled_ns = self._start_ns = self._retries = 0
        self._from_results = virtual_user.shared.workload.details_from_results(virtual_user.shared.load)

    def take_turn(self) -> End | None:
        """Send the next operation, or take the turn in one step; return the user's end, None while it continues."""
        if not self._next or self._lost or self._one.at_limit(self.written):
            return self._in_one_step()
        prepared = self._next[0]
        session = cast("OverlappingSession", self._one.session)
        send = session.sender(prepared.perform)
        if send is None:
            return self._in_one_step()
        pacer = self._one.pacer
        scheduled_ns = pacer.begin(prepared) if pacer else 0
        if self._watched is None:
            self._watched = session.fileno()
            self._waiting.watch(self, self._watched)
        start_ns = time.monotonic_ns()
        if start_ns >= self._one.shared.fields[STOP_AT_NS]:
            return End.STOPPED
        self._prepared, self._scheduled_ns, self._start_ns, self._retries = prepared, scheduled_ns, start_ns, 0
        self.in_flight = True
        try:
            send(prepared.bound)
        except TransactionError as error:
            return self._failed(prepared, error)
        return None

    def receive(self) -> End | None:
        """Receive what has arrived; return the user's end, None while it continues."""
        if not self.in_flight:  # the server has ended an idle session: its next operation will find that
            self._unwatch()
            return None
        prepared = self._prepared
        assert prepared is not None
        try:
            raw = cast("OverlappingSession", self._one.session).receive()
            if raw is PENDING:
                return None
            end_ns = time.monotonic_ns()
        except RolledBackByDesign:
            return self._settle(prepared, Settled(BY_DESIGN, self._retries, 0))
        except TransactionError as error:
            return self._failed(prepared, error)
        return self._settle(prepared, Settled(COMMITTED, self._retries, 0, raw), end_ns)

    def _failed(self, prepared: Prepared, error: TransactionError) -> End | None:
        """Send the operation again, or give it up."""
        session = cast("OverlappingSession", self._one.session)
        while (settled := self._one.failures.given_up(prepared, error, self._retries)) is None:
            self._retries += 1
            send = session.sender(prepared.perform)
            assert send is not None, "an operation was sent that cannot be"
            try:
                send(prepared.bound)
            except TransactionError as next_error:
                error = next_error
            else:
                return None
        return self._settle(prepared, settled)

    def _settle(self, prepared: Prepared, settled: Settled, end_ns: int = 0) -> End | None:
        """Record the operation and draw the next; return the user's end, None while it continues."""
        end_ns = end_ns or time.monotonic_ns()
        self.in_flight, self._next = False, ()
        head = self._one.user.head(prepared, settled.raw) if self._from_results else prepared.head
        times = self._scheduled_ns or self._start_ns, self._start_ns, end_ns
        self.append(*times, head, settled.outcome, settled.retries, settled.error_class)
        if pacer := self._one.pacer:
            pacer.done(prepared, end_ns)
        if settled.end:
            end = End[settled.end]
            if end is not End.LOST:
                return end
            self._unwatch()
            self._lost, self.due_ns = True, self._one.lose()
            return None
        if settled.error_class and (pause_s := self._one.failures.pause_s(self.written)):
            self.due_ns = end_ns + round(pause_s * 1e9)
        self._draw()
        return None

    def _in_one_step(self) -> End | None:
        """As on a session that blocks."""
        end = super().take_turn()
        if self._lost:
            self._unwatch()
        return end

    def _unwatch(self) -> None:
        if self._watched is not None:
            self._waiting.forget(self._watched)
            self._watched = None


def overlap(users: Sequence[VirtualUser], waiting: Waiting) -> End:
    """Serve the users until all have ended or the run ends; return the reason."""
    shared, serving = users[0].shared, Serving(users, waiting)
    while serving.left:
        if shared.stopped:
            serving.finish()
            return End.RAISED if serving.raised else End.STOPPED
        serving.begin_due()
        serving.receive(shared.fields[STOP_AT_NS])
        if serving.raised:
            serving.finish()
            return End.RAISED
    return End.LIMIT


class Serving:
    """The users of a client process: those that wait for an answer, and the others in the order of their due times.

    ``raised``: an operation failed, and the run is configured to end then.
    """

    def __init__(self, users: Sequence[VirtualUser], waiting: Waiting) -> None:
        self.raised = False
        self._waiting = waiting
        self._seats = [OverlappingSeat(user, waiting) for user in users]
        self._numbers = {seat: number for number, seat in enumerate(self._seats)}
        self._queue = [(seat.due_ns, number) for number, seat in enumerate(self._seats)]
        heapq.heapify(self._queue)
        self._in_flight = 0

    @property
    def left(self) -> bool:
        """Whether any user continues."""
        return bool(self._queue or self._in_flight)

    def begin_due(self) -> None:
        """Begin operations that are due, a limited number."""
        queue, seats, now_ns = self._queue, self._seats, time.monotonic_ns()
        for _ in range(_BEGUN_AT_ONCE):
            if not queue or queue[0][0] > now_ns or self.raised:
                return
            seat = seats[heapq.heappop(queue)[1]]
            ended = None if seat.moved_on() else seat.take_turn()
            if seat.in_flight:
                self._in_flight += 1
            else:
                self._return(seat, ended)

    def receive(self, until_ns: int, last: bool = False) -> None:
        """Receive answers; wait for them until this time or, unless it is the ``last`` one, the next due time."""
        exactly = bool(self._queue) and not last
        for seat in self._waiting.ready(min(until_ns, self._queue[0][0]) if exactly else until_ns, exactly):
            was_in_flight = seat.in_flight
            ended = seat.receive()
            if was_in_flight and not seat.in_flight:
                self._in_flight -= 1
                self._return(seat, ended)

    def finish(self) -> None:
        """Wait for the answers to what is in flight."""
        while self._in_flight:
            self.receive(NEVER_NS, last=True)

    def _return(self, seat: OverlappingSeat, ended: End | None) -> None:
        self.raised = self.raised or ended is End.RAISED
        if ended in (None, End.STOPPED):
            heapq.heappush(self._queue, (seat.due_ns, self._numbers[seat]))
