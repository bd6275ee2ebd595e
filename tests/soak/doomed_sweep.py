"""A sweep in a process of its own that at one step kills itself, its supervisor, its server or another process.

``python -m tests.soak.doomed_sweep SERVER_FOLDER CONTROL SPEC STEP VICTIM DELAY_S`` begins the sweep of the results
folder, or goes on with it, to its end or to a sentence. CONTROL is what a target says of the agent to go through, in
JSON (``{}``: none); STEP ``none`` kills nobody; a VICTIM may be the id of a process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from hdbkit.api import sweeping
from hdbkit.config import SweepSpec
from hdbkit.errors import HdbkitError, InputError
from hdbkit.execution.handle import RunHandle, execute
from hdbkit.paths import results_folder
from hdbkit.plan import RunPlan
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.sweep_folder import find_sweep
from hdbkit.servers import PrivateServer, control
from hdbkit.sweep_runner import resume, start
from tests.run.agents import remote_target
from tests.run.faults import server_processes, signal_all

CALLS = ("keep_data", "apply", "restore_data", "maintain", "restart", "host_load", "restore", "drop_kept_data")
"""Steps of a sweep at its server: before the first run, before each, and at the end."""
RUN = ("run started", "run going on", "run ended")


class Doom:
    """Kills the victim when the step is reached for the first time, ``delay_s`` after it began."""

    def __init__(self, server: PrivateServer, step: str, victim: str, delay_s: float) -> None:
        self._server, self._step, self._victim, self._delay_s = server, step, victim, delay_s

    def reached(self, step: str, run: RunHandle | None = None) -> None:
        """The sweep is at a step."""
        if step != self._step:
            return
        self._step = "none"
        if self._delay_s:
            threading.Thread(target=self._kill, args=(run,), daemon=True).start()
        else:
            self._kill(run)

    def _kill(self, run: RunHandle | None) -> None:
        time.sleep(self._delay_s)
        if self._victim == "sweep":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self._victim == "supervisor" and run is not None:
            os.kill(run.folder.read().supervisor_pid or 0, signal.SIGKILL)
        elif self._victim == "server" and self._server.running:
            signal_all(server_processes(self._server), signal.SIGKILL)
        elif self._victim.isdecimal():
            os.kill(int(self._victim), signal.SIGKILL)


class Doomed:
    """A server's control whose every call is a step."""

    def __init__(self, whole: Any, doom: Doom) -> None:
        self.__dict__.update(_whole=whole, _doom=doom)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._whole, name, value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._whole, name)
        if name not in CALLS:
            return found

        def stepped(*arguments: Any) -> Any:
            self._doom.reached(name)
            return found(*arguments)

        return stepped


def main(folder: str, way: str, spec: str, step: str, victim: str, delay_s: str) -> None:
    """Begin or resume the sweep. Raises ``HdbkitError`` as both do."""
    server, given = PrivateServer.attach(folder), json.loads(way)
    target = remote_target(server, **given) if given else server.target
    doom, root = Doom(server, step, victim, float(delay_s)), results_folder()
    controlled: Any = Doomed(control(target), doom)

    def watch(run: RunHandle) -> None:
        if run.status() is Status.MEASURING:
            doom.reached("run going on", run)

    def run_one(plan: RunPlan) -> Manifest:
        doom.reached("run started")
        ended = execute(plan, root, watch)
        doom.reached("run ended")
        return ended

    try:
        known = find_sweep(root, "last")
    except InputError:
        planned = sweeping.plan_checked(target, SweepSpec.read(Path(spec)), None, "")
        start(planned, root, controlled, run_one)
    else:
        resume(known, controlled, run_one, target=target)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except HdbkitError as error:
        sys.exit(str(error))
