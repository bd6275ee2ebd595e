"""The client processes of this host: forks of the supervisor, watched and ended.

The supervisor imports what clients need before it forks; a fork costs a few milliseconds and shares its memory.
Only a process without threads may fork, so the clients are prepared before any thread starts.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final

from hdbkit.contracts import Database, UserPlan, Workload
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, disk_full
from hdbkit.execution.client import ClientPlan, client_main, reason_path
from hdbkit.execution.control import HEAD_START_S, ClientState, Control, Field
from hdbkit.execution.host import process_cpu_s, waited_for_core_s
from hdbkit.execution.load_generator import ClientReading, Ending
from hdbkit.execution.virtual_user import session_options
from hdbkit.files import read_bytes
from hdbkit.plan import RunPlan
from hdbkit.processes import return_free_memory
from hdbkit.results.folder import RunFolder
from hdbkit.workloads import workload

_KILLED_S: Final = 5.0
_LOOK_S: Final = 1.0
"""Each process is looked at when one has ended, and this often in case its signal was lost."""
_FAILED: Final = (ClientState.FAILED, ClientState.RAISED, ClientState.DISK_FULL)
_REPORTED: Final = {ClientState.DONE: Ending.DONE, **dict.fromkeys(_FAILED, Ending.FAILED)}


class LocalPool:
    """The load generator of this host: each client a process, with one or more virtual users."""

    head_start_s = HEAD_START_S

    def __init__(self, folder: RunFolder, plan: RunPlan, clients: range | None = None) -> None:
        """``clients`` are the numbers of those that this host serves; by default all of the plan."""
        self._folder, self._plan = folder, plan
        self._slices = plan.load.clients
        self._clients = range(len(self._slices)) if clients is None else clients
        self._page = Control(folder.control)
        self._pids: dict[int, int] = {}
        self._look_s = 0.0
        self._running: dict[int, int] = {}  # pid of each client that is not known to have ended: its number

    def prepare(self, users: Sequence[UserPlan]) -> int:
        """Start a process for each slice of the users; call it from the main thread, before any other starts."""
        engine, load = database(self._plan.target), workload(self._plan.workload)
        for module in (*engine.preload, *load.preload):
            importlib.import_module(module)
        with suppress(HdbkitError):  # each client reports it
            _ = engine.capabilities  # the server is asked what it is once, ahead of the forks
        if engine.fork_safe and len(self._clients) > 1:
            self._warm_up(engine, load, users[0])
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # ``wait`` takes it
        gc.collect()
        gc.freeze()
        return_free_memory()
        begun_ns = time.monotonic_ns()
        for number in self._clients:
            client = ClientPlan(number, tuple(users[index] for index in self._slices[number]), begun_ns)
            pid = self._forked(client)
            self._running[pid] = number
            self._pids[number] = pid
        return len(self._pids)

    def _warm_up(self, engine: Database, load: Workload, user: UserPlan) -> None:
        """Connect and draw once, as a user that does not exist.

        What clients then find cached, executed and allocated stays shared: each has 0.7 MB less of its own.
        """
        plan = self._plan
        if load.listed(plan.load):
            return
        another = replace(user, index=plan.load.sessions)
        with suppress(Exception), ExitStack() as opened:  # each client reports it
            session = engine.connect(plan.target, load.scope(engine.dialects), session_options(plan))
            opened.callback(session.close)
            load.user(session, plan.load, another).next_batch()

    def _forked(self, client: ClientPlan) -> int:
        """Start the process of a client; return its pid."""
        supervisor_pid = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            started, asked = len(self._pids), len(self._clients)
            raise HdbkitError(f"only {started} of {asked} client processes could start: {error}") from None
        if pid:
            return pid
        try:
            client_main(self._folder.path, self._plan, client, supervisor_pid)
        except BaseException:
            traceback.print_exc()
        os._exit(0)

    def ready(self) -> int:
        """The number of clients that are ready to begin."""
        return sum(self._page.state(i) is ClientState.READY for i in self._clients)

    def start_at(self, start_ns: int) -> None:
        """Publish the start time of all clients."""
        self._page.fields[Field.START_AT_NS] = start_ns

    def stop(self) -> None:
        """Let no further operation begin; those in flight are finished."""
        fields = self._page.fields
        fields[Field.STOP_AT_NS] = min(fields[Field.STOP_AT_NS], time.monotonic_ns())

    def wait(self, seconds: float) -> None:
        """Wait until the time has passed or a client ends."""
        signalled = signal.sigtimedwait([signal.SIGCHLD], seconds) if self._running else None
        if not signalled and time.monotonic() < self._look_s:
            return
        self._look_s = time.monotonic() + _LOOK_S
        for pid in list(self._running):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._running[pid]

    def endings(self) -> dict[int, Ending]:
        """The end of each client that has ended."""
        self.wait(0)
        ended = self._pids.keys() - set(self._running.values())
        return {i: _REPORTED.get(self._page.state(i), Ending.KILLED) for i in sorted(ended)}

    def all_ended(self) -> bool:
        """Whether no client is running."""
        self.wait(0)
        return not self._running

    def reasons(self) -> str:
        """The reports of failed clients without duplicates, or that all clients were killed."""
        if any(self._page.state(i) is ClientState.DISK_FULL for i in self._clients):
            return f"{disk_full(self._folder.path)}; what was finished until then is kept"
        if self.all_ended() and set(self.endings().values()) == {Ending.KILLED}:
            return "all clients were killed; finished work is kept"
        paths = [reason_path(self._folder.spools, i) for i in self._pids]
        return " ".join(dict.fromkeys(read_bytes(path).decode() for path in paths if path.is_file()))

    def readings(self) -> list[ClientReading]:
        """A present reading of each client."""
        return [ClientReading(i, pid, process_cpu_s(pid), waited_for_core_s(pid)) for i, pid in self._pids.items()]

    def kill(self) -> list[int]:
        """Kill every client that is still running; return their numbers."""
        self.wait(0)
        left = list(self._running.values())
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _KILLED_S
        while self._running and time.monotonic() < deadline:
            self.wait(0.1)
        return left

    def collect(self) -> dict[int, Ending]:
        """Return how each client ended; their files are already in the run folder."""
        return self.endings()
