"""Verbs about experiments of every kind: start one in a process of its own, list, attach, resume, read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from hdbkit.api.compare import ComparisonVerbs
from hdbkit.api.demo_engines import EngineDemoVerbs
from hdbkit.api.executing import Given, executed, launch, resumed, resumed_targets
from hdbkit.api.experiment_result import ExperimentResult
from hdbkit.api.max_rate import MaxRateVerbs
from hdbkit.api.profiles import ProfileVerbs
from hdbkit.api.running import OnRun
from hdbkit.api.running_experiment import RunningExperiment
from hdbkit.api.slow_commit import SlowCommitVerbs
from hdbkit.api.sweeping import SweepResult, SweepVerbs, plan_checked
from hdbkit.config import SweepSpec, Target
from hdbkit.errors import DamagedResult, InputError
from hdbkit.experiment import ExperimentStatus, Watcher, experiment_progress, prepare, take_over
from hdbkit.experiment.events import ignore_event
from hdbkit.experiment.max_rate import MaxRatePlan
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.sides import ComparisonPlan, EnginesPlan, ProfilePlan, ReleasesPlan, SlowCommitPlan
from hdbkit.experiment.sources import read_plan
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folders, find_experiment
from hdbkit.servers import control

_COLUMNS = ["experiment_id", "kind", "status", "runs", "ended", "failed", "target", "note"]


class ExperimentVerbs(SweepVerbs, ComparisonVerbs, ProfileVerbs, MaxRateVerbs, SlowCommitVerbs, EngineDemoVerbs):
    """Verbs about experiments of every kind."""

    def start_sweep(
        self, target: Target | str, spec: SweepSpec | Path | str, *, blocks: int | None = None, command: str = ""
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
        return self.start_experiment(plan_checked(target, spec, blocks, command, self))

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
        note."""
        rows = []
        for folder in experiment_folders(self.results):
            with suppress(DamagedResult):
                plan, now = read_plan(folder), experiment_progress(folder)
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
        readers: dict[type[ExperimentPlan], Callable[[ExperimentFolder], ExperimentResult]] = {
            SweepPlan: SweepResult,
            ComparisonPlan: self._comparison,
            ProfilePlan: lambda _: self.history(folder.read_plan(ProfilePlan).name),
            MaxRatePlan: self._max_rate,
            ReleasesPlan: self._releases,
            SlowCommitPlan: self._slow_commit,
            EnginesPlan: self._engines,
        }
        return readers[type(read_plan(folder))](folder)


def _dumped(target: Target) -> dict[str, Any]:
    return target.model_dump(exclude={"name"})
