"""One client process: connect, prepare, report ready, begin with all others, loop, end.

It imports the driver and nothing heavy. Whatever keeps it from going on is written beside its spool in one
sentence, and told to the supervisor by one word of the control page.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from hdbkit.contracts import Database, Session, SessionOptions, User, UserPlan, Workload
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, InputError, TransactionError
from hdbkit.execution import preload
from hdbkit.execution.control import HEAD_START_S, ClientState, Control, Word
from hdbkit.execution.pacing import Pacer
from hdbkit.execution.refusals import Refusals
from hdbkit.execution.usage import Usage
from hdbkit.execution.user import End, Loop
from hdbkit.plan import RunPlan
from hdbkit.processes import die_with_parent
from hdbkit.results.spool import SpoolWriter, spool_path
from hdbkit.workloads import workload

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
_LOOK_S = HEAD_START_S / 2
"""How often a client that is ready looks for the start: many that look often keep the others from getting ready."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def client_main(folder: Path, plan: RunPlan, user_plan: UserPlan) -> None:
    """The whole life of one client; the target of its process."""
    die_with_parent(preload.FORKSERVER_PID)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    client = Client(folder, plan, user_plan)
    try:
        client.live()
    except Exception as error:
        client.fail(error)


def reason_path(spools: Path, index: int) -> Path:
    """Where a client says why it could not go on."""
    return spools / f"{index:05d}.reason"


def session_options(plan: RunPlan) -> SessionOptions:
    """What the clients of a plan are told when they connect."""
    load = plan.load
    return SessionOptions(load.isolation, load.statement_timeout_ms, load.lock_timeout_ms)


class Client:
    """A client and what it holds: page, spool, refusals, session."""

    def __init__(self, folder: Path, plan: RunPlan, user_plan: UserPlan) -> None:
        self._plan, self._user_plan, self._index = plan, user_plan, user_plan.index
        self._spools = folder / "spools"
        self._page = Control(folder / "control.bin")
        self._page.set_pid(self._index, os.getpid())
        self._database: Database = database(plan.target.kind)
        self._workload: Workload = workload(plan.workload.group)

    def live(self) -> None:
        """Connect, wait for the common start, loop, end."""
        spool = SpoolWriter(spool_path(self._spools, self._index), self._index)
        session, user = self._connect(self._user_plan)
        words, load = self._page.words, self._plan.load
        errors = self._spools / f"{self._index:05d}.errors.json"
        refusals = Refusals(errors, load, self._workload.operations, words, Word.STOP_AT_NS)
        self._wait_for_start()
        loop = Loop(spool, words, refusals, Pacer(words) if load.keying_and_thinking else None, load.iterations)
        loop.keep_order_ids = load.keep_order_ids
        usage = Usage()
        with usage.counted():
            end = loop.run(user)
        while end is End.LOST:
            session.close()
            again = self._reconnect(refusals)
            if again is None:
                break
            session, user = again
            with usage.counted():
                end = loop.run(user)
        usage.save(self._spools, self._index)
        refusals.save()
        spool.close()
        session.close()
        if end is End.RAISED:
            self._say(str(refusals.last))
        self._page.set_state(self._index, ClientState.RAISED if end is End.RAISED else ClientState.DONE)

    def fail(self, error: Exception) -> None:
        """Say why this client cannot go on."""
        known = isinstance(error, HdbkitError | OSError | MemoryError)
        self._say(str(error) if known else f"{type(error).__name__}: {error}")
        full = isinstance(error, OSError) and error.errno in _DISK_FULL
        self._page.set_state(self._index, ClientState.DISK_FULL if full else ClientState.FAILED)

    def _say(self, reason: str) -> None:
        with suppress(OSError):  # the state tells it on a full disk
            reason_path(self._spools, self._index).write_text(reason, encoding="utf-8")

    def _connect(self, user_plan: UserPlan) -> tuple[Session, User]:
        plan = self._plan
        session = self._database.connect(plan.target, plan.workload.group, session_options(plan))
        try:
            return session, self._workload.user(session, plan.workload, plan.load, user_plan)
        except BaseException:
            session.close()
            raise

    def _wait_for_start(self) -> None:
        words = self._page.words
        gc.collect()
        gc.freeze()
        gc.set_threshold(100_000)
        self._page.set_state(self._index, ClientState.READY)
        while (now := time.monotonic_ns()) < min(words[Word.START_AT_NS], words[Word.STOP_AT_NS]):
            time.sleep(min(_LOOK_S, (words[Word.START_AT_NS] - now) / 1e9))
        self._page.set_state(self._index, ClientState.RUNNING)

    def _reconnect(self, refusals: Refusals) -> tuple[Session, User] | None:
        """A new session after a lost one, with growing pauses; None when the run ends first.

        The new user draws from a seed of its own, so that it does not repeat what was done already.
        """
        pause_s, words = _FIRST_PAUSE_S, self._page.words
        again = UserPlan(self._index, self._user_plan.home_w_id, self._user_plan.seed ^ time.monotonic_ns())
        while time.monotonic_ns() < words[Word.STOP_AT_NS]:
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            try:
                return self._connect(again)
            except (InputError, TransactionError) as error:
                refusals.note_no_connection(error)
        return None
