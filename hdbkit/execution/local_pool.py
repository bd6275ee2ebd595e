"""The client processes of this host, started by a forkserver, watched and ended.

The forkserver imports what clients need once; a fork of it costs a few milliseconds and shares its memory.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final, cast

from hdbkit.config.load import client_slices
from hdbkit.contracts import UserPlan
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.execution.client import PARENT_VARIABLE, ClientPlan, client_main, reason_path
from hdbkit.execution.control import ClientState, Control, Field
from hdbkit.execution.host import process_cpu_s
from hdbkit.execution.load_generator import ClientReading, Ending
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.workloads import workload

_FORKSERVER_KILLED: Final = "the clients' forkserver was killed; finished work is kept"
_PARENT_LOST: Final = 255  # the exit code that multiprocessing gives a process whose forkserver was lost
_FAILED: Final = (ClientState.FAILED, ClientState.RAISED, ClientState.DISK_FULL)
_REPORTED: Final = {ClientState.DONE: Ending.DONE, **dict.fromkeys(_FAILED, Ending.FAILED)}


def disk_full(folder: Path) -> str:
    """The message for a full disk under a run's folder."""
    return f"the disk of {folder} is full; what was finished until then is kept"


class LocalPool:
    """The load generator of this host: each client a process, with one or more virtual users."""

    def __init__(self, folder: RunFolder, plan: RunPlan) -> None:
        self._folder, self._plan = folder, plan
        self._page = Control(folder.control)
        self._processes: list[BaseProcess] = []
        self._running: dict[int, int] = {}  # sentinel of each client that is not known to have ended: its number

    def prepare(self, users: Sequence[UserPlan]) -> int:
        """Start a process for each slice of the users; call it from the main thread."""
        os.environ[PARENT_VARIABLE] = str(os.getpid())
        context = mp.get_context("forkserver")
        engine, load = database(self._plan.target.kind), workload(self._plan.workload)
        modules = ("hdbkit.execution.client", f"hdbkit.databases.{self._plan.target.kind}")
        context.set_forkserver_preload([*modules, *engine.preload, *load.preload])
        for number, own in enumerate(client_slices(dict(self._plan.load))):
            client = ClientPlan(number, tuple(users[index] for index in own))
            process = context.Process(target=client_main, args=(self._folder.path, self._plan, client), daemon=True)
            try:
                process.start()
            except (EOFError, ConnectionError):
                raise HdbkitError(_FORKSERVER_KILLED) from None
            self._running[process.sentinel] = number
            self._processes.append(process)
        return len(self._processes)

    def ready(self) -> int:
        """The number of clients that are ready to begin."""
        return self._page.states().count(ClientState.READY)

    def start_at(self, start_ns: int) -> None:
        """Publish the start time of all clients."""
        self._page.fields[Field.START_AT_NS] = start_ns

    def stop(self) -> None:
        """Let no further operation begin; those in flight are finished."""
        fields = self._page.fields
        fields[Field.STOP_AT_NS] = min(fields[Field.STOP_AT_NS], time.monotonic_ns())

    def wait(self, seconds: float) -> None:
        """Wait until the time has passed or a client ends."""
        for sentinel in wait(self._running, timeout=seconds) if self._running else ():
            del self._running[cast(int, sentinel)]

    def endings(self) -> dict[int, Ending]:
        """The end of each client that has ended."""
        self.wait(0)
        ended = set(range(len(self._processes))) - set(self._running.values())
        return {i: _REPORTED.get(self._page.state(i), Ending.KILLED) for i in sorted(ended)}

    def all_ended(self) -> bool:
        """Whether no client is running."""
        self.wait(0)
        return not self._running

    def reasons(self) -> str:
        """The reports of failed clients without duplicates, or that all clients were killed."""
        if ClientState.DISK_FULL in self._page.states():
            return disk_full(self._folder.path)
        if self.all_ended() and set(self.endings().values()) == {Ending.KILLED}:
            parent_lost = any(process.exitcode == _PARENT_LOST for process in self._processes)
            return _FORKSERVER_KILLED if parent_lost else "all clients were killed; finished work is kept"
        paths = [reason_path(self._folder.spools, i) for i in range(len(self._processes))]
        return " ".join(dict.fromkeys(path.read_text("utf-8") for path in paths if path.is_file()))

    def readings(self) -> list[ClientReading]:
        """A present reading of each client."""
        pids = [process.pid or 0 for process in self._processes]
        return [ClientReading(i, pid, process_cpu_s(pid)) for i, pid in enumerate(pids)]

    def kill(self) -> list[int]:
        """Kill every client that is still running; return their numbers."""
        self.wait(0)
        left = list(self._running.values())
        for i in left:
            self._processes[i].kill()
        for i in left:
            self._processes[i].join(5)
        return left

    def collect(self) -> dict[int, Ending]:
        """Return how each client ended; their files are already in the run folder."""
        return self.endings()
