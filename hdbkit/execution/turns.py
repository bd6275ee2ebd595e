"""Several virtual users in one client process, on blocking sessions: one operation at a time, in turns.

The next turn goes to the user whose operation is due first; without keying and thinking times, to the user that has
waited longest. Each user has its own session, pacing, limit and errors, and the operation itself is run by the same
measured loop.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence

from hdbkit.contracts import Prepared
from hdbkit.execution.pacing import sleep_until
from hdbkit.execution.user import End
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
