"""Several virtual users in one client process: in turns, or overlapping, so that others go on while one waits.

On blocking sessions one operation runs at a time. The next turn goes to the user whose operation is due
first; without keying and thinking times, to the user that has waited longest. Each user has its own session, pacing,
limit and errors, and the operation itself is run by the same measured loop.

On sessions that overlap, those whose operation is due are served first, in the order of their due times. Sending an
operation and receiving its answer are apart; the start of an operation is the clock before it is sent, its end the
clock after its whole answer. An operation that cannot be sent without waiting for its answer is performed in one
step, and the others wait for it.
"""

from __future__ import annotations

import heapq
import math
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

from hdbkit.contracts import PENDING, OverlappingSession, Prepared
from hdbkit.errors import RolledBackByDesign, TransactionError
from hdbkit.execution.control import NEVER_NS
from hdbkit.execution.failures import Settled
from hdbkit.execution.pacing import sleep_until
from hdbkit.execution.user import COMMITTED, ROLLED_BACK_BY_DESIGN, STOP_AT_NS, End
from hdbkit.execution.virtual_user import VirtualUser


class Seat:
    """A virtual user among others: its next operation, and when it is due (``due_ns``).

    To the loop it is both a workload's user with one operation at a time and the recorder of what that user wrote.
    """

    def __init__(self, virtual_user: VirtualUser) -> None:
        self.written = 0
        self.due_ns = virtual_user.start_ns
        self._one = virtual_user
        self._write = virtual_user.shared.spool.append
        self._loop = virtual_user.loop(self, self._postpone)
        self._pacer = virtual_user.pacer
        self._ahead: Iterator[Prepared] = iter(virtual_user.ahead)
        self._next: Sequence[Prepared] = ()
        self._taken = self._lost = False
        self._draw()

    def take_turn(self) -> End | None:
        """Execute the next operation, or try to reconnect; return the user's end, None while it continues."""
        if self._lost:
            self._reconnect()
            return None
        end = self._loop.run(self)
        if end is End.LOST:
            self._lost, self.due_ns = True, self._one.lose()
        elif end is not End.LIMIT or not self._taken:  # the loop asked for an operation and got none
            return end
        else:
            self._draw()
        return None

    def moved_on(self) -> bool:
        """Whether the operation that was due is skipped by now, and the next one is due later."""
        if self._pacer and self._next:
            self.due_ns = max(self.due_ns, self._pacer.due_ns(self._next[0]))
        return self.due_ns > time.monotonic_ns()

    def next_batch(self) -> Sequence[Prepared]:
        """The operation of this turn, returned once."""
        batch, self._next = self._next, ()
        self._taken = self._taken or bool(batch)
        return batch

    def head(self, prepared: Prepared, raw: object) -> bytes:
        """The workload's head."""
        return self._one.user.head(prepared, raw)

    def append(
        self, scheduled_ns: int, start_ns: int, end_ns: int, head: bytes, outcome: int, retries: int, error_class: int
    ) -> None:
        """Write a record to the spool of the process and count it for this user."""
        self._write(scheduled_ns, start_ns, end_ns, head, outcome, retries, error_class)
        self.written += 1

    def _reconnect(self) -> None:
        retry_ns = self._one.reconnect()
        if retry_ns is not None:
            self.due_ns = retry_ns
            return
        self._lost, self._ahead = False, iter(())
        self._draw()

    def _draw(self) -> None:
        """Take the next operation from the workload and set when it is due, not before a pause is over."""
        prepared = next(self._ahead, None)
        if prepared is None:
            self._ahead = iter(self._one.user.next_batch())
            prepared = next(self._ahead, None)
        self._next, self._taken = () if prepared is None else (prepared,), False
        free_ns = self._pacer.due_ns(prepared) if self._pacer and prepared else time.monotonic_ns()
        self.due_ns = max(self.due_ns, free_ns)

    def _postpone(self, at_ns: int) -> None:
        self.due_ns = at_ns


def take_turns(users: Sequence[VirtualUser]) -> End:
    """Serve the users until all have ended or the run ends; return the reason."""
    shared, seats = users[0].shared, [Seat(user) for user in users]
    queue = [(seat.due_ns, number, seat) for number, seat in enumerate(seats)]
    heapq.heapify(queue)
    while queue:
        due_ns, number, seat = heapq.heappop(queue)
        sleep_until(due_ns, shared.fields)
        if shared.stopped:
            return End.STOPPED
        ended = None if seat.moved_on() else seat.take_turn()
        if ended is None:
            heapq.heappush(queue, (seat.due_ns, number, seat))
        elif ended is End.RAISED:
            return ended
    return End.LIMIT


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
        shared = virtual_user.shared
        self._fields, self._limit = shared.fields, shared.load.iterations or math.inf
        self._from_results = shared.workload.details_from_results(shared.load)
        self._performs: Callable[[Any], Any] | None = None
        self._send: Callable[[Any], None] | None = None
        """What sends operations of ``_performs``, the ``perform`` of the last one."""

    def take_turn(self) -> End | None:
        """Send the next operation, or take the turn in one step; return the user's end, None while it continues."""
        if not self._next or self._lost or self.written >= self._limit:
            return self._in_one_step()
        prepared = self._next[0]
        if prepared.perform is not self._performs:
            self._performs = prepared.perform
            self._send = cast("OverlappingSession", self._one.session).sender(prepared.perform)
        send = self._send
        if send is None:
            return self._in_one_step()
        scheduled_ns = self._pacer.begin(prepared) if self._pacer else 0
        if self._watched is None:
            self._watched = cast("OverlappingSession", self._one.session).fileno()
            self._waiting.watch(self, self._watched)
        start_ns = time.monotonic_ns()
        if start_ns >= self._fields[STOP_AT_NS]:
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
            return self._settle(prepared, Settled(ROLLED_BACK_BY_DESIGN, self._retries, 0))
        except TransactionError as error:
            return self._failed(prepared, error)
        self._record(prepared, raw, COMMITTED, self._retries, 0, end_ns)
        self._draw()
        return None

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

    def _record(
        self, prepared: Prepared, raw: object, outcome: int, retries: int, error_class: int, end_ns: int
    ) -> None:
        """Record the operation that has ended."""
        self.in_flight, self._next = False, ()
        head = self._one.user.head(prepared, raw) if self._from_results else prepared.head
        start_ns = self._start_ns
        self.append(self._scheduled_ns or start_ns, start_ns, end_ns, head, outcome, retries, error_class)
        if self._pacer:
            self._pacer.done(prepared, end_ns)

    def _settle(self, prepared: Prepared, settled: Settled) -> End | None:
        """Record an operation with an error and draw the next; return the user's end, None while it continues."""
        end_ns = time.monotonic_ns()
        self._record(prepared, settled.raw, settled.outcome, settled.retries, settled.error_class, end_ns)
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
