"""The handle on an experiment in any process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from hdbkit.api.running import OnRun, Running
from hdbkit.errors import DamagedResult, ExperimentFailed, ServerDown
from hdbkit.execution.handle import RunHandle
from hdbkit.experiment import ExperimentProgress, ExperimentStatus, Follower, Watcher, experiment_progress
from hdbkit.experiment.events import ignore_event
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.sources import read_plan
from hdbkit.programs import Process
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import SERVER_DOWN
from hdbkit.workspace import BareWorkspace

Found = TypeVar("Found")
_POLL_S = 0.2


class RunningExperiment(Generic[Found]):
    """A handle on an experiment, which does not depend on it: ``attach_experiment`` returns another one.

    ``read`` makes the result of its kind from its folder.
    """

    def __init__(
        self,
        folder: ExperimentFolder,
        workspace: BareWorkspace,
        read: Callable[[ExperimentFolder], Found],
        process: Process | None = None,
    ) -> None:
        self.folder, self._workspace, self._read, self._process = folder, workspace, read, process

    @property
    def experiment_id(self) -> str:
        """The experiment's id."""
        return self.folder.experiment_id

    @property
    def plan(self) -> ExperimentPlan:
        """Its plan, with the runs that are known so far."""
        return read_plan(self.folder)

    @property
    def status(self) -> ExperimentStatus:
        """Whether the experiment is running, or how it ended."""
        return self.progress().status

    @property
    def result(self) -> Found:
        """The result so far, from the finished runs."""
        return self._read(self.folder)

    def progress(self) -> ExperimentProgress:
        """The progress from its journal: finished and failed runs, the present run, remaining seconds."""
        return experiment_progress(self.folder)

    def stop(self) -> None:
        """Stop the experiment as Ctrl-C does: the present run ends and the settings are restored; it can be resumed.

        Raises ``InputError`` for an experiment of another account, whose journal may name any process.
        """
        pid = self.folder.own_process
        if pid is not None:
            with suppress(ProcessLookupError):  # it has ended since
                os.kill(pid, signal.SIGINT)

    @property
    def stops_after(self) -> str:
        """What a stop waits for at present: the end of a run or of a preparation, then the server's restoration."""
        state = self.folder.journal.state
        run = next(iter(state.open_runs), None)
        first = f"run {run.number} to end its operations" if run else "the present step of the preparation of a run"
        parts = [name for name, kept in (("settings", state.changed), ("data", state.data_kept)) if kept]
        return f"{first}, and then for the server's {' and '.join(parts)} to be restored" if parts else first

    def wait(self, watch: Watcher = ignore_event, watch_run: OnRun | None = None, *, only_new: bool = False) -> Found:
        """Wait for the end of the experiment; an interrupt detaches, and the experiment continues.

        Args:
            watch: called at each step, including those before this call.
            watch_run: called several times per second with the present run.
            only_new: call ``watch`` only at steps after this call.

        Returns:
            The result, including that of a stopped experiment.

        Raises:
            ExperimentFailed: the experiment failed or was killed; its finished runs are kept.
            ServerDown: the experiment failed, and a server is down.
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
            raise ServerDown(f"experiment {self.experiment_id} failed: {ended.note}", self.experiment_id)
        if now.status in (ExperimentStatus.FAILED, ExperimentStatus.KILLED):
            raise ExperimentFailed(self.experiment_id, now.note)
        return self.result

    def _watch_present_run(self, now: ExperimentProgress, watch_run: OnRun | None) -> None:
        run = Running(RunHandle(RunFolder(self.folder.root / now.run_id)), self._workspace)
        if watch_run is None or not now.run_id:
            return
        with suppress(DamagedResult):  # it has no manifest yet
            if not run.status.ended:
                watch_run(run)

    def __repr__(self) -> str:
        now = self.progress()
        return f"<RunningExperiment {self.experiment_id}: {now.status.value}, {now.ended_runs} of {now.total} runs>"
