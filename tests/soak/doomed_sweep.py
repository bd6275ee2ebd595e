"""A sweep in a separate process that kills itself, its supervisor, its server or another process at one step."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdbkit.api import DEFAULT, sweeping
from hdbkit.config import SweepSpec, Target
from hdbkit.errors import HdbkitError, InputError
from hdbkit.execution.handle import RunHandle, execute
from hdbkit.experiment import resume, start
from hdbkit.paths import results_folder
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import find_experiment
from hdbkit.results.manifest import Manifest, Status
from hdbkit.servers import control

CALLS = ("keep_data", "apply", "restore_data", "maintain", "restart", "host_load", "restore", "drop_kept_data")
"""Steps of a sweep at its server: before the first run, before each, and at the end."""
RUN = ("run started", "run going on", "run ended")


Blow = Callable[[RunHandle | None], None]
"""Kills somebody; told the run that is going on, where one is."""


@dataclass
class Doom:
    """Strikes once, when the sweep first comes to a step, ``delay_s`` after that began."""

    step: str
    delay_s: float
    blow: Blow

    def reached(self, step: str, run: RunHandle | None = None) -> None:
        """The sweep is at a step."""
        if step != self.step:
            return
        self.step = ""
        if self.delay_s:
            threading.Timer(self.delay_s, self.blow, (run,)).start()
        else:
            self.blow(run)


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


def go_on(target: Target, spec: Path, log: Path, doom: Doom) -> int:
    """Begin the sweep of the results folder or go on with it, in a child; its exit code, -9 where it was killed."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 2
    try:
        said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(said, 1)
        os.dup2(said, 2)
        _go_on(target, spec, doom)
        code = 0
    except HdbkitError as error:
        os.write(2, f"{error}\n".encode())
        code = 1
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    os._exit(code)


def _go_on(target: Target, spec: Path, doom: Doom) -> None:
    root = results_folder()
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
        known = find_experiment(root, "last")
    except InputError:
        plan = sweeping.plan_checked(target, SweepSpec.read(spec), None, "", DEFAULT)
        start(plan, root, lambda _: controlled, run_one)
    else:
        resume(known, lambda _: controlled, run_one, targets=[target])
