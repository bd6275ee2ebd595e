"""Slices within a run: each client sets the configuration that is due in its own session, between two operations.

A :class:`SessionSwitch` is in the place of a user's pacer: it is asked before each operation, ahead of the clock, so
nothing is added between the two clock readings of the measured loop. Each change is noted with its times, from which
the analysis measures how long all clients took.
"""

from __future__ import annotations

import time

from hdbkit.contracts import Prepared, Session
from hdbkit.errors import HdbkitError, TransactionError
from hdbkit.execution.pacing import Pacing
from hdbkit.files import JsonLines
from hdbkit.slices import SliceOrder, Slices


def noted_switches(user: int, number: int, position: int, due_ns: int, start_ns: int, end_ns: int) -> dict[str, int]:
    """A change as a line of that file; the times are of this host's monotonic clock."""
    line = {"virtual_user": user, "slice": number, "position": position}
    return line | {"due_ns": due_ns, "start_ns": start_ns, "end_ns": end_ns}


class SessionSwitch:
    """Keeps the session of one virtual user at the configuration of the present slice.

    Args:
        slices: the slices of the run.
        user: the number of the virtual user.
        run_start_ns: the common start of the run, with which the first slice begins.
        notes: where changes are noted.
        pacer: keeps the user to its keying and thinking times; None if it has none.
    """

    def __init__(
        self, slices: Slices, user: int, run_start_ns: int, notes: JsonLines, pacer: Pacing | None = None
    ) -> None:
        self._slices, self._user, self._start_ns = slices, user, run_start_ns
        self._notes, self._pacer, self._order = notes, pacer, SliceOrder(slices)
        self._session: Session | None = None
        self._present: dict[str, str] = {}
        self._until_ns = 0

    def attach(self, session: Session) -> None:
        """Use a new session, in which nothing is set yet."""
        self._session, self._present, self._until_ns = session, {}, 0

    def due_ns(self, prepared: Prepared) -> int:
        """When the operation is due, on the monotonic clock."""
        return self._pacer.due_ns(prepared) if self._pacer else time.monotonic_ns()

    def wait(self, prepared: Prepared) -> int:
        """Wait as the pacer does, then set what is due; the scheduled start in ns, 0 without a pacer.

        Raises ``HdbkitError`` if the server refuses a value, which ends the client: its operations would count for a
        configuration that it does not have.
        """
        scheduled_ns = self._pacer.wait(prepared) if self._pacer else 0
        self._switch_if_due()
        return scheduled_ns

    def begin(self, prepared: Prepared) -> int:
        """Begin as the pacer does, and set what is due; see :meth:`wait`."""
        scheduled_ns = self._pacer.begin(prepared) if self._pacer else 0
        self._switch_if_due()
        return scheduled_ns

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """Pass the end of an operation on to the pacer."""
        if self._pacer:
            self._pacer.done(prepared, end_ns)

    def _switch_if_due(self) -> None:
        now_ns = time.monotonic_ns()
        if now_ns >= self._until_ns:
            self._switch(now_ns)

    def _switch(self, now_ns: int) -> None:
        number = max(0, (now_ns - self._start_ns) // self._slices.slice_ns)
        position, due_ns = self._order.position(number), self._start_ns + number * self._slices.slice_ns
        self._until_ns = due_ns + self._slices.slice_ns
        if self._set(self._slices.settings[position]):
            self._notes.try_to_add(noted_switches(self._user, number, position, due_ns, now_ns, time.monotonic_ns()))

    def _set(self, wanted: dict[str, str]) -> bool:
        """Set what differs; return False if the connection is lost, which the next operation will find as well."""
        assert self._session is not None, "no session is attached"
        for name, value in wanted.items():
            if self._present.get(name) == value:
                continue
            try:
                self._session.ask("set_in_session", name=name, value=value)
            except TransactionError as error:
                self._present = {}
                if error.lost:
                    return False
                raise HdbkitError(f"{name} = {value} cannot be set in a session: {error.text}") from error
            self._present[name] = value
        return True
