"""The client processes: started by a forkserver, watched, and ended.

One client a process, one connection a client. The forkserver imports what clients need once; a fork of it costs
a few milliseconds and shares its memory.
"""

from __future__ import annotations

import multiprocessing as mp
import os
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final, cast

from hdbkit.databases import database
from hdbkit.execution.client import client_main, reason_path
from hdbkit.execution.control import ClientState, Control
from hdbkit.execution.preload import PARENT_VARIABLE
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder

_UNTOLD: Final = 255  # the exit code that multiprocessing gives a process whose forkserver was lost


def disk_full(folder: Path) -> str:
    """What a full disk under a run's folder is called."""
    return f"the disk of {folder} is full; what was finished until then is kept"


class Pool:
    """All clients of one run."""

    def __init__(self, folder: RunFolder, plan: RunPlan, page: Control) -> None:
        self._folder, self._plan, self._page = folder, plan, page
        self._processes: list[BaseProcess] = []
        self._running: dict[int, int] = {}  # the sentinel of each client that has not been seen ending: its index

    def start(self) -> None:
        """Start every client; they connect on their own. Call it from the main thread."""
        os.environ[PARENT_VARIABLE] = str(os.getpid())
        context = mp.get_context("forkserver")
        modules = ("hdbkit.execution.preload", "hdbkit.execution.client", *database(self._plan.target.kind).preload)
        context.set_forkserver_preload([*modules, f"hdbkit.workloads.{self._plan.workload.group}.user"])
        for user in self._plan.users:
            process = context.Process(target=client_main, args=(self._folder.path, self._plan, user), daemon=True)
            process.start()
            self._running[process.sentinel] = len(self._processes)
            self._processes.append(process)

    def forkserver_lost(self) -> bool:
        """Whether a client ended and its parent, which is killed with all of them, could not tell how."""
        return any(process.exitcode == _UNTOLD for process in self._processes)

    def pids(self) -> list[int]:
        """The process id of each client."""
        return [process.pid or 0 for process in self._processes]

    def alive(self) -> list[int]:
        """The indexes of clients whose process goes on."""
        self.nap(0)
        return list(self._running.values())

    def nap(self, seconds: float) -> None:
        """Wait, but no longer than until a client ends that was going on."""
        for sentinel in wait(self._running, timeout=seconds) if self._running else ():
            del self._running[cast(int, sentinel)]

    def endings(self) -> dict[int, str]:
        """How each ended client ended: done, killed (it did not say so itself), or failed."""
        failed = (ClientState.FAILED, ClientState.RAISED, ClientState.DISK_FULL)
        said = {ClientState.DONE: "done", **dict.fromkeys(failed, "failed")}
        alive = set(self.alive())
        return {i: said.get(self._page.state(i), "killed") for i in range(len(self._processes)) if i not in alive}

    def reasons(self) -> list[str]:
        """What clients said that could not go on, each sentence once."""
        if ClientState.DISK_FULL in self._page.states():
            return [disk_full(self._folder.path)]
        paths = [reason_path(self._folder.spools, i) for i in range(len(self._processes))]
        return list(dict.fromkeys(path.read_text("utf-8") for path in paths if path.is_file()))

    def kill(self) -> list[int]:
        """End every client that still goes on, at once; their indexes."""
        left = self.alive()
        for i in left:
            self._processes[i].kill()
        for i in left:
            self._processes[i].join(5)
        return left
