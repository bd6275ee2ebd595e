"""Experiments of every kind: start one in a process of its own, list, attach, resume, read; and the handle on one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from hdbkit.api.compare import ComparisonVerbs
from hdbkit.api.executing import Given, executed, launch, result_so_far, resumed, resumed_targets
from hdbkit.api.experiment_result import ExperimentResult
from hdbkit.api.first_steps import FirstStepVerbs
from hdbkit.api.max_rate import MaxRateVerbs
from hdbkit.api.profiles import ProfileVerbs
from hdbkit.api.releases import ReleaseVerbs
from hdbkit.api.running import OnRun, Running
from hdbkit.api.sweeping import SweepResult, as_spec, plan_checked
from hdbkit.config import SweepSpec, Target
from hdbkit.errors import DamagedResult, ExperimentFailed, InputError, ServerDown
from hdbkit.execution.handle import RunHandle
from hdbkit.experiment import (
    ExperimentProgress,
    ExperimentStatus,
    Follower,
    Watcher,
    experiment_progress,
    prepare,
    take_over,
)
from hdbkit.experiment.events import ignore_event
from hdbkit.experiment.kinds import read_plan
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.later import pandas as pd
from hdbkit.programs import Process
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folders, find_experiment
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import SERVER_DOWN
from hdbkit.servers import control
from hdbkit.workspace import BareWorkspace

_COLUMNS = ["experiment_id", "kind", "status", "runs", "ended", "failed", "target", "note"]


class ExperimentVerbs(FirstStepVerbs, ComparisonVerbs, ProfileVerbs, MaxRateVerbs, ReleaseVerbs):
    """Verbs about experiments of every kind."""

    def start_sweep(
        self,
        target: Target | str,
        spec: SweepSpec | Path | str,
        *,
        blocks: int | None = None,
        until_decided: bool = False,
        within_s: float | None = None,
        command: str = "",
    ) -> RunningExperiment[SweepResult]:
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
        wanted = as_spec(spec, blocks, until_decided, within_s)
        return self.start_experiment(plan_checked(target, wanted, None, command, self))

    def start_experiment(
        self,
        experiment: ExperimentPlan | str,
        target: Given | Sequence[Given] | None = None,
        *,
        accept: bool = False,
        blocks: int | None = None,
    ) -> RunningExperiment[Any]:
        """Start a planned experiment, or continue one, in a separate process and return immediately.

        Args:
            experiment: the plan, as ``plan_comparison``, ``plan_profile`` and ``plan_max_rate`` make it; or the id of
                an experiment to continue.
            target, accept, blocks: of an experiment to continue, as for :func:`resume_experiment`.

        Raises:
            InputError: it is not possible, or is running already; nothing was started or changed.

        Example:
            >>> planned = hdbkit.plan_profile("nightly", "lab", blocks=3)  # doctest: +SKIP
            >>> hdbkit.start_experiment(planned).wait().scaling  # doctest: +SKIP
        """
        if isinstance(experiment, ExperimentPlan):
            folder = prepare(experiment, self.results, control)
            return self._running(folder, launch(folder, experiment.targets))
        folder = find_experiment(self.results, experiment)
        with folder.starting():
            if experiment_progress(folder).status is ExperimentStatus.RUNNING:
                raise InputError(
                    f"{folder.experiment_id} is already running; watch it with: hdbkit attach {folder.experiment_id}"
                )
            at = resumed_targets(folder, target, accept, self)
            if list(map(_dumped, at)) != list(map(_dumped, read_plan(folder).targets)):
                take_over(folder, at, control)  # its process takes the targets from the plan
            return self._running(folder, launch(folder, at, blocks))

    def run_experiment(
        self, planned: ExperimentPlan, *, watch: Watcher = ignore_event, watch_run: OnRun | None = None
    ) -> ExperimentResult:
        """Execute a planned experiment and wait for the result; Ctrl-C stops it.

        Args:
            planned: the plan, as ``plan_comparison``, ``plan_profile`` and ``plan_max_rate`` make it.
            watch: called at each step of the experiment.
            watch_run: called several times per second with the present run.

        Raises:
            InputError: it is not possible; nothing was started or changed.
            ExperimentFailed: a run failed of which the others depend; ``resume_experiment`` continues.
            KeyboardInterrupt: stopped; the settings are restored, and ``resume_experiment`` continues.

        Example:
            >>> hdbkit.run_experiment(hdbkit.plan_profile("nightly", "lab", blocks=3)).scaling  # doctest: +SKIP
        """
        return self._read(executed(self, planned, watch, watch_run))

    def resume_experiment(
        self,
        experiment_id: str = "last",
        target: Given | Sequence[Given] | None = None,
        *,
        accept: bool = False,
        blocks: int | None = None,
        watch: Watcher = ignore_event,
        watch_run: OnRun | None = None,
    ) -> ExperimentResult:
        """Continue an experiment that was stopped, failed or was killed, or give it more blocks; wait for the result.

        Args:
            experiment_id: its id, a unique part of the id, or ``last``.
            target: its target, or its targets in their order, by default as planned; such as with another password.
            accept: continue also an experiment of another account, or from elsewhere, on this target: its settings,
                and those it saved, are used.
            blocks: the total number of blocks.
            watch: called at each step of the experiment.
            watch_run: called several times per second with the present run.

        Raises:
            InputError: there is no such experiment, or it cannot be continued.
            KeyboardInterrupt: stopped; the settings are restored, and the same call continues the experiment.

        Example:
            >>> hdbkit.resume_experiment("last", blocks=8).answer  # doctest: +SKIP
        """
        folder = find_experiment(self.results, experiment_id)
        targets = resumed_targets(folder, target, accept, self)
        return self._read(resumed(self, folder, targets, blocks, watch, watch_run))

    def attach_experiment(self, experiment_id: str = "last") -> RunningExperiment[Any]:
        """Return a handle on an experiment of any process, given by its id, a unique part of the id, or ``last``.

        Raises:
            InputError: there is no such experiment.

        Example:
            >>> hdbkit.attach_experiment("last").stop()  # doctest: +SKIP
        """
        return self._running(find_experiment(self.results, experiment_id))

    def running_experiments(self) -> list[RunningExperiment[Any]]:
        """List the running experiments of all processes, newest first; without those with an unreadable journal."""
        running = []
        for folder in experiment_folders(self.results):
            with suppress(DamagedResult):
                running += [self._running(folder)] if folder.journal.state.executed_by else []
        return running

    def experiments(self) -> pd.DataFrame:
        """List all experiments, newest first; one row each: experiment_id, kind, status, runs, ended, failed, target,
        note. One that cannot be read is ``damaged``, and its note says why."""
        rows: list[list[Any]] = []
        for folder in experiment_folders(self.results):
            try:
                plan, now = read_plan(folder), experiment_progress(folder)
            except DamagedResult as damage:
                rows.append([folder.experiment_id, "", "damaged", 0, 0, 0, "", str(damage)])
                continue
            at = ", ".join(target.given for target in plan.targets)
            rows.append([folder.experiment_id, plan.kind, now.status.value, now.total, now.ended_runs, now.failed,
                         at, now.note])  # fmt: skip
        return pd.DataFrame(rows, columns=_COLUMNS)

    def experiment_result(self, experiment_id: str = "last") -> ExperimentResult:
        """Read the result of an experiment, given by its id, a unique part of the id, or ``last``."""
        return self._read(find_experiment(self.results, experiment_id))

    def _running(self, folder: ExperimentFolder, process: Any = None) -> RunningExperiment[Any]:
        return RunningExperiment(folder, self, self._read, process)

    def _read(self, folder: ExperimentFolder) -> ExperimentResult:
        """The result of an experiment by its kind."""
        found: ExperimentResult = result_so_far(self, folder)
        return found


def _dumped(target: Target) -> dict[str, Any]:
    return target.model_dump(exclude={"name"})


_Result = TypeVar("_Result")
_POLL_S = 0.2


class RunningExperiment(Generic[_Result]):
    """A handle on an experiment, which does not depend on it: ``attach_experiment`` returns another one.

    ``read`` makes the result of its kind from its folder.
    """

    def __init__(
        self,
        folder: ExperimentFolder,
        workspace: BareWorkspace,
        read: Callable[[ExperimentFolder], _Result],
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
    def result(self) -> _Result:
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

    def wait(
        self, watch: Watcher = ignore_event, watch_run: OnRun | None = None, *, only_new: bool = False
    ) -> _Result:
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
