"""Starts sweeps in separate processes, attaches to them, and lists the running ones."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.api.sweep_process import launch
from hdbkit.api.sweeping import SweepResult, SweepVerbs, plan_checked, resumed_target
from hdbkit.config import SweepSpec, Target
from hdbkit.errors import DamagedResult, InputError, ServerDown, SweepFailed
from hdbkit.execution.handle import OnPoll, RunHandle
from hdbkit.programs import Process
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import SERVER_DOWN
from hdbkit.results.sweep_folder import SweepFolder, find_sweep, sweep_folders
from hdbkit.servers import control
from hdbkit.sweep_plan import SweepPlan
from hdbkit.sweep_runner import Follower, SweepProgress, SweepStatus, Watcher, prepare, sweep_progress, take_over
from hdbkit.sweep_runner.events import ignore_event

_POLL_S = 0.2


class RunningSweep:
    """A handle on a sweep. The sweep does not depend on this object: ``attach_sweep`` returns another handle."""

    def __init__(self, folder: SweepFolder, process: Process | None = None) -> None:
        self.folder, self._process = folder, process

    @property
    def sweep_id(self) -> str:
        """The sweep's id."""
        return self.folder.sweep_id

    @property
    def status(self) -> SweepStatus:
        """Whether the sweep is running, or how it ended."""
        return self.progress().status

    @property
    def result(self) -> SweepResult:
        """The result so far; verdicts are based on the finished runs."""
        return SweepResult(self.folder)

    def progress(self) -> SweepProgress:
        """The progress from its journal: finished and failed runs, the present run, remaining seconds."""
        return sweep_progress(self.folder)

    def stop(self) -> None:
        """Stop the sweep as Ctrl-C does: the present run ends and the settings are restored; it can be resumed.

        Raises ``InputError`` for a sweep of another account, whose journal may name any process.
        """
        if not self.folder.is_own:
            raise InputError(f"{self.sweep_id} is not stopped: this account did not write its files")
        pid = self.folder.journal.state.executed_by
        if pid is not None:
            with suppress(ProcessLookupError):  # it has ended since
                os.kill(pid, signal.SIGINT)

    @property
    def stops_after(self) -> str:
        """What a stop waits for at present: the end of a run or of a preparation, then the server's restoration."""
        state = self.folder.journal.state
        run = state.open_run
        first = f"run {run.number} to end its operations" if run else "the present step of the preparation of a run"
        parts = [name for name, kept in (("settings", state.changed), ("data", state.data_kept)) if kept]
        return f"{first}, and then for the server's {' and '.join(parts)} to be restored" if parts else first

    def wait(
        self, watch: Watcher = ignore_event, watch_run: OnPoll | None = None, *, only_new: bool = False
    ) -> SweepResult:
        """Wait for the end of the sweep; an interrupt detaches, and the sweep continues.

        Args:
            watch: called at each step of the sweep, including those before this call.
            watch_run: called several times per second with the present run.
            only_new: call ``watch`` only at steps after this call.

        Returns:
            The result, including that of a stopped sweep.

        Raises:
            SweepFailed: the sweep failed or was killed; its finished runs are kept.
            ServerDown: the sweep failed, and its server is down.
        """
        follower = Follower(self.folder, watch)
        if only_new:
            follower.skip()
        while True:
            now = self.progress()
            follower.follow()
            if now.status.ended:
                break
            self._watch_present_run(now, watch_run)
            time.sleep(_POLL_S)
        if self._process:
            self._process.wait()
        ended = self.folder.journal.state.broken_off
        if ended and ended.details.get(SERVER_DOWN):
            raise ServerDown(f"sweep {self.sweep_id} failed: {ended.note}", self.sweep_id)
        if now.status in (SweepStatus.FAILED, SweepStatus.KILLED):
            raise SweepFailed(self.sweep_id, now.note)
        return self.result

    def _watch_present_run(self, now: SweepProgress, watch_run: OnPoll | None) -> None:
        run = RunHandle(RunFolder(self.folder.root / now.run_id))
        if watch_run is None or not now.run_id:
            return
        with suppress(DamagedResult):  # it has no manifest yet
            if not run.status().ended:
                watch_run(run)

    def __repr__(self) -> str:
        now = self.progress()
        return f"<RunningSweep {self.sweep_id}: {now.status.value}, {now.ended_runs} of {now.total} runs>"


class RunningSweepVerbs(SweepVerbs):
    """Verbs about sweeps in processes of their own."""

    def start_sweep(
        self,
        target: Target | str | None = None,
        spec: SweepSpec | Path | str | None = None,
        *,
        resume_id: str | None = None,
        blocks: int | None = None,
        accept: bool = False,
        command: str = "",
    ) -> RunningSweep:
        """Start a sweep in a separate process and return immediately; closing a notebook or terminal does not stop
        it.

        The arguments are those of :func:`sweep`.

        Raises:
            InputError: the sweep is not possible; all errors are reported together; nothing was started or changed.

        Example:
            >>> running = hdbkit.start_sweep("lab", "params/sweep-demo.yaml")  # doctest: +SKIP
            >>> running.progress().left_s  # doctest: +SKIP
            >>> running.wait().answer  # doctest: +SKIP
        """
        if resume_id is None:
            planned = plan_checked(target, spec, blocks, command, self)
            folder = prepare(planned, self.results, control(planned.target))
            return RunningSweep(folder, launch(folder, planned.target))
        folder = find_sweep(self.results, resume_id)
        with folder.starting():
            if sweep_progress(folder).status is SweepStatus.RUNNING:
                raise InputError(
                    f"{folder.sweep_id} is already running; watch it with: hdbkit attach {folder.sweep_id}"
                )
            at = resumed_target(folder, target, accept, self)
            if _dumped(at) != _dumped(
                folder.read_plan(SweepPlan).target
            ):  # its process takes the target from the plan
                take_over(folder, at, control(at))
            return RunningSweep(folder, launch(folder, at, blocks))

    def attach_sweep(self, sweep_id: str = "last") -> RunningSweep:
        """Return a handle on a sweep of any process, given by its id, a unique part of the id, or ``last``.

        Raises:
            InputError: there is no such sweep.

        Example:
            >>> hdbkit.attach_sweep("last").stop()  # doctest: +SKIP
        """
        return RunningSweep(find_sweep(self.results, sweep_id))

    def running_sweeps(self) -> list[RunningSweep]:
        """List the running sweeps of all processes, newest first; those whose journal cannot be read are omitted."""
        running = []
        for folder in sweep_folders(self.results):
            with suppress(DamagedResult):
                running += [RunningSweep(folder)] if folder.journal.state.executed_by else []
        return running


def _dumped(target: Target) -> dict[str, Any]:
    return target.model_dump(exclude={"name"})
