"""Slices within a run whose settings are applied on the server, in a thread that follows the clock of the run.

Each change is read back and verified. What sessions can set for themselves the clients set (``execution.switching``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from hdbkit.contracts import ServerControl, Session
from hdbkit.databases import database
from hdbkit.errors import DamagedResult, HdbkitError, ServerFailed, TransactionError
from hdbkit.execution.beside import Beside
from hdbkit.execution.handle import RunHandle
from hdbkit.execution.switching import noted_switches
from hdbkit.files import JsonLines
from hdbkit.plan import RunPlan
from hdbkit.results.columns import SWITCH_LINES
from hdbkit.results.folder import RunFolder
from hdbkit.servers.trial import settings_lacking
from hdbkit.slices import ON_SERVER, SliceOrder, Slices

_LOOK_S = 0.05
_USED_S = 1.0


@contextmanager
def switching(plan: RunPlan, run: RunFolder, control: ServerControl) -> Iterator[None]:
    """Change the settings on the server while the block executes the run, if its slices need that.

    Raises:
        ServerFailed: a change failed, or has no effect in sessions that are open; the run is of no use then.
    """
    if plan.slices is None or plan.slices.in_session:
        yield
        return
    thread = _ServerSwitch(plan, plan.slices, run, control)
    thread.start()
    try:
        yield
    finally:
        thread.stop()
    if thread.error is not None:
        raise ServerFailed(f"the settings could not be changed within the run: {thread.error}") from thread.error


class _ServerSwitch(Beside):
    """Applies the configuration of each slice on the server; one that is over before its turn is left out."""

    def __init__(self, plan: RunPlan, slices: Slices, run: RunFolder, control: ServerControl) -> None:
        super().__init__("hdbkit-slices", patience_s=None)
        self._plan, self._slices, self._run, self._control = plan, slices, run, control
        self._seen: set[int] = set()
        self.error: HdbkitError | OSError | None = None

    def run(self) -> None:
        """Follow the run until it ends; it is stopped if a change fails."""
        try:
            self._follow()
        except (HdbkitError, OSError) as error:
            if not self.ended.is_set():  # at the end of a run its folder may be gone
                self.error = error
                RunHandle(self._run).stop()

    def _follow(self) -> None:
        start_ns = self._start_ns()
        if start_ns is None:
            return
        order, slice_ns = SliceOrder(self._slices), self._slices.slice_ns
        known = self._control.settings()
        number = 0
        with (
            closing(JsonLines(SWITCH_LINES.of(self._run.spools, "server"))) as notes,
            closing(database(self._plan.target).connect(self._plan.target)) as open_session,
        ):
            while not self._sleep_until(start_ns + number * slice_ns, open_session):
                position, begun_ns = order.position(number), time.monotonic_ns()
                self._control.apply(self._slices.settings[position])
                notes.add(
                    noted_switches(
                        ON_SERVER, number, position, start_ns + number * slice_ns, begun_ns, time.monotonic_ns()
                    )
                )
                if position not in self._seen:
                    self._require(settings_lacking(open_session, known, self._slices.settings[position]))
                    self._seen.add(position)
                number = max(number + 1, (time.monotonic_ns() - start_ns) // slice_ns)

    def _require(self, missing: Sequence[str]) -> None:
        if missing:
            raise ServerFailed(
                f"sessions that are open do not get the new value of {', '.join(missing)}; use compare_by: runs"
            )

    def _start_ns(self) -> int | None:
        """The common start of the run, once it is known; None if the run ends before."""
        while not self.ended.wait(_LOOK_S):
            try:
                clock = self._run.read().clock
            except DamagedResult:  # it is not there yet
                continue
            if clock is not None:
                return clock.start_monotonic_ns
        return None

    def _sleep_until(self, at_ns: int, waiting: Session) -> bool:
        """Sleep until this time of the monotonic clock; True if the run ended before.

        The session that waits is used: it may be ended when it is idle.
        """
        while (left_s := (at_ns - time.monotonic_ns()) / 1e9) > _USED_S:
            if self.ended.wait(_USED_S):
                return True
            with suppress(TransactionError):  # it is reported where the session is needed
                database(self._plan.target).version(waiting)
        return self.ended.wait(max(0.0, left_s))
