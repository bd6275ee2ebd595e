"""One client process: connect its users, prepare, report ready, begin with all others, run, end.

It imports the driver and nothing heavy. Whatever keeps it from going on is written beside its spool in one sentence,
and its state on the control page reports it.

A client is a fork of the supervisor and asks the kernel to be killed with it. Frozen objects are not touched by the
garbage collector, so clients keep sharing the supervisor's memory.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hdbkit.awaiting import report_to
from hdbkit.contracts import Capability, UserPlan
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, is_disk_full
from hdbkit.execution.client_notes import SlowPlans
from hdbkit.execution.control import HEAD_START_S, NEVER_NS, ClientState, Control, Field
from hdbkit.execution.failures import ErrorCounts
from hdbkit.execution.overlap import Waiting, overlap, take_turns
from hdbkit.execution.pacing import sleep_until
from hdbkit.execution.usage import Usage
from hdbkit.execution.user import End
from hdbkit.execution.virtual_user import SharedParts, VirtualUser
from hdbkit.execution.waits import numbers_sessions
from hdbkit.files import JsonLines
from hdbkit.plan import RunPlan
from hdbkit.processes import die_with_parent, return_free_memory
from hdbkit.results.columns import SESSION_LINES, SWITCH_LINES, TRACE_LINES
from hdbkit.results.spool import SpoolWriter, spool_path
from hdbkit.workloads import workload

_START_POLL_S = HEAD_START_S / 2
"""The interval at which a ready client polls for the start: many fast polls slow down the clients that connect."""


@dataclass(frozen=True)
class ClientPlan:
    """A slice of a run's virtual users, served by one client process; ``number`` counts from 0.

    ``begun_ns`` is when the first client was started, from which the times of paced logins count.
    """

    number: int
    users: tuple[UserPlan, ...]
    begun_ns: int = 0


def client_main(folder: Path, plan: RunPlan, own: ClientPlan, supervisor_pid: int) -> None:
    """Execute one client in its process, a fork of the supervisor."""
    die_with_parent(supervisor_pid)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    client = RunClient(folder, plan, own)
    try:
        client.live()
    except Exception as error:
        client.fail(error)


def reason_path(spools: Path, client: int) -> Path:
    """The file in which a client reports why it could not continue."""
    return spools / f"{client:05d}.reason"


class RunClient:
    """A client process: its place on the control page, its spool, its virtual users."""

    def __init__(self, folder: Path, plan: RunPlan, own: ClientPlan) -> None:
        self._plan, self._own, self._number = plan, own, own.number
        self._spools = folder / "spools"
        self._page = Control(folder / "control.bin")
        self._page.set_pid(self._number, os.getpid())

    def live(self) -> None:
        """Connect, wait until the common start is published, run, end."""
        shared = self._shared()
        waiting = (
            Waiting() if len(self._own.users) > 1 and Capability.OVERLAPS in shared.database.capabilities else None
        )
        users = [VirtualUser(shared, plan) for plan in self._own.users]
        report_to(self._write_reason)
        for user in users:
            login_ns = self._own.begun_ns + round(1e9 * shared.load.login_s(user.plan.index))
            sleep_until(login_ns, shared.fields)
            if shared.stopped:
                return
            user.connect()
            user.draw_ahead()
        reason_path(self._spools, self._number).unlink(missing_ok=True)  # it waited, and does no longer
        self._wait_for_start()
        end = self._run(users, waiting)
        shared.errors.save()
        shared.spool.close()
        for user in users:
            user.close()
        if end is End.RAISED:
            self._write_reason(next(str(user.failures.last) for user in users if user.failures.last))
        self._page.set_state(self._number, ClientState.RAISED if end is End.RAISED else ClientState.DONE)

    def fail(self, error: Exception) -> None:
        """Report why this client cannot continue."""
        known = isinstance(error, HdbkitError | OSError | MemoryError)
        self._write_reason(str(error) if known and str(error) else f"{type(error).__name__}: {error}")
        self._page.set_state(self._number, ClientState.DISK_FULL if is_disk_full(error) else ClientState.FAILED)

    def _write_reason(self, reason: str) -> None:
        with suppress(OSError):  # on a full disk the state reports it
            reason_path(self._spools, self._number).write_text(reason, encoding="utf-8")

    def _shared(self) -> SharedParts:
        plan, engine, load = self._plan, database(self._plan.target), workload(self._plan.workload)
        in_session = plan.slices is not None and plan.slices.in_session
        return SharedParts(
            plan,
            engine,
            load,
            load.scope(engine.dialects),
            self._page.fields,
            SpoolWriter(spool_path(self._spools, self._number), self._number, load.details),
            ErrorCounts(self._spools, self._number, load.operations),
            JsonLines(SWITCH_LINES.of(self._spools, self._number)) if in_session else None,
            JsonLines(SESSION_LINES.of(self._spools, self._number)) if numbers_sessions(plan) else None,
            JsonLines(TRACE_LINES.of(self._spools, self._number)) if plan.load.traceparent_share else None,
            SlowPlans(self._spools, self._number) if plan.load.slow_plans_ms else None,
        )

    def _wait_for_start(self) -> None:
        fields = self._page.fields
        gc.collect()
        gc.freeze()
        return_free_memory()  # of logins
        gc.set_threshold(100_000)
        self._page.set_state(self._number, ClientState.READY)
        while fields[Field.START_AT_NS] == NEVER_NS and time.monotonic_ns() < fields[Field.STOP_AT_NS]:
            time.sleep(_START_POLL_S)
        self._page.set_state(self._number, ClientState.RUNNING)

    def _run(self, users: Sequence[VirtualUser], waiting: Waiting | None) -> End:
        """Run one user alone, several overlapping or in turns; their resource usage is written beside the spool."""
        usage = Usage()
        if len(users) == 1:
            end = users[0].run(usage)
        else:
            with usage.counted():
                end = overlap(users, waiting) if waiting else take_turns(users)
        usage.save(self._spools, self._number)
        return end
