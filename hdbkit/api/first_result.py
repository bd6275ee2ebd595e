"""The quickstart: server, schema, one run, a sweep of two values and its report, as steps that can be watched.

Run and sweep are in processes of their own, as everywhere; stopping the quickstart stops the one in progress.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import TypeVar

from hdbkit.api.experiment_result import show
from hdbkit.api.experiments import ExperimentVerbs
from hdbkit.api.first_steps import sweep_of
from hdbkit.api.result import Result
from hdbkit.api.running import Running, default_load
from hdbkit.api.sweeping import SweepResult
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.config.notebook import PRIVATE
from hdbkit.control_groups import limits
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, InputError, SchemaProblem
from hdbkit.execution.live import LiveView
from hdbkit.experiment import ExperimentStatus
from hdbkit.experiment.events import EventKind, ExperimentEvent
from hdbkit.loading import Stage, estimate
from hdbkit.servers import find_binaries
from hdbkit.text import duration_text
from hdbkit.workloads import specification, workload
from hdbkit.workloads.present import present_schema

_CONNECT_S, _SERVER_S, _CHECKS_S, _FILES_S, _REPORT_S = 1.0, 5.0, 5.0, 4.0, 5.0
"""Estimated seconds of what is not computed from a plan: the files and checks of a run among them."""
_TICK_S = 1.0
_OWN_BLOCKS = 3
"""Blocks on a server of the user's own, whose runs last minutes."""


class StepState(StrEnum):
    """The state of a step."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class QuickStep:
    """A step of the quickstart: what it does, how long that takes, its state, and what it has found so far."""

    number: int
    title: str
    expected_s: float
    state: StepState = StepState.WAITING
    detail: str = ""
    begun_s: float = 0.0
    """When it began, by the monotonic clock."""
    ended_s: float = 0.0

    @property
    def spent_s(self) -> float:
        """The seconds that it has taken so far."""
        if self.state is StepState.WAITING:
            return 0.0
        return (self.ended_s or time.monotonic()) - self.begun_s


Made = TypeVar("Made")
OnStep = Callable[[QuickStep], None]
"""Called whenever the state or the detail of a step changes."""


@dataclass(frozen=True)
class QuickstartResult:
    """What the quickstart made: a target with a schema, a run, a sweep, and the path of the sweep's report."""

    target: Target
    run: Result
    sweep: SweepResult
    report: Path

    def _repr_html_(self) -> str:
        return f"{self.sweep._repr_html_()}<p>Report: <code>{html.escape(str(self.report))}</code></p>"

    def _ipython_display_(self) -> None:
        show(self._repr_html_(), str(self), self.sweep.charts)

    def __str__(self) -> str:
        return f"{self.run!r}\n{self.sweep.answer}\nReport: {self.report}"


class Quickstart:
    """The steps of one quickstart; ``run`` does them, ``stop`` ends them from another thread.

    Args:
        workspace: the workspace for runs and server.
        target: a private server that stays until this process ends (``private``), or a target of your own, whose
            settings may be changed.
        load: the load of the run; by default that of the sweep: seconds on a private server, else minutes.
        spec: the sweep; by default two values of one setting.

    Raises:
        InputError: there is no such target, no private server can be started, or there is no sweep for this engine.
    """

    def __init__(
        self,
        workspace: QuickstartVerbs,
        target: Target | str = PRIVATE,
        *,
        load: Load | None = None,
        spec: SweepSpec | Path | str | None = None,
    ) -> None:
        self._workspace = workspace
        self._given = None if target == PRIVATE else self._workspace.target(target)
        example = self._given or Target(kind=_kind_to_start(), server_folder=Path())
        self._kind, default = example.kind, default_load(example)
        self._spec = _sweep(self._kind, spec, default)
        self._load = load or self._spec.load.model_copy(update={"virtual_users": self._spec.virtual_users[0]})
        self._stop, self._looked_s = Event(), 0.0
        self._watch: OnStep = lambda _: None
        self.target: Target | None = self._given
        """The target; None until the private server runs."""
        self.steps: list[QuickStep] = self._planned(example)

    @property
    def expected_s(self) -> float:
        """The estimated duration of all steps, in seconds."""
        return sum(step.expected_s for step in self.steps)

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stop.is_set()

    def stop(self) -> None:
        """End the step in progress, and do none after it; what was measured is kept, and so is the server."""
        self._stop.set()

    def run(self, watch: OnStep = lambda _: None) -> QuickstartResult:
        """Do all steps. Ctrl-C stops the step in progress.

        Raises:
            HdbkitError: a step failed or was stopped; the steps before it are kept.
        """
        self._watch = watch
        try:
            target = self._step(0, self._open)
            self._step(1, lambda: self._build(target))
            done = self._step(2, lambda: self._measure(target))
            swept = self._step(3, lambda: self._compare(target))
            report = self._step(4, lambda: self._report(swept))
        except KeyboardInterrupt:
            self.stop()
            raise
        return QuickstartResult(target, done, swept, report)

    # -- the steps ------------------------------------------------------------------------------------------

    def _planned(self, example: Target) -> list[QuickStep]:
        spec, title = self._workload, database(example).title
        built, planned = workload(spec), self._workspace.plan_sweep(example, self._spec)
        users = f"{self._load.virtual_users} virtual users"
        steps = [
            (f"Connect to {example.described}", _CONNECT_S)
            if self._given
            else (f"Start a private {title} server", _SERVER_S),
            (
                f"Build a schema of {', '.join(filter(None, [built.title, built.scale]))}",
                estimate(spec, limits().cores).duration_s + _CHECKS_S,
            ),
            (f"Run {users} for {duration_text(self._load.duration_s)}", self._load.max_duration_s + _FILES_S),
            (
                f"Sweep, {len(planned.runs)} runs: {self._spec.question or self._spec.name}",
                planned.estimated_s or 0.0,
            ),
            ("Write the report", _REPORT_S),
        ]
        return [QuickStep(number, *step) for number, step in enumerate(steps, 1)]

    @property
    def _workload(self) -> WorkloadSpec:
        return self._spec.workload or specification()

    def _open(self) -> Target:
        connection = self._workspace.connect(self._given or self._workspace.private(self._kind))
        self._tell(connection.version)
        self.target = connection.target
        return connection.target

    def _build(self, target: Target) -> None:
        """Build the schema, unless there is one of this workload at any scale, which the sweep then uses."""
        try:
            found = present_schema(target, self._workload.identity)
            self._spec = self._spec.with_(workload=found)
            self._tell(f"{workload(found).scale or 'it'} is already there")
        except SchemaProblem:
            connection = self._workspace.connect(target)
            built = connection.build(self._workload, progress=_BuildWords(self._tell), stop=self._stop)
            built.require_sound()
            self._tell(f"{built.rows:,} rows, {len(built.checks)} checks passed")

    def _measure(self, target: Target) -> Result:
        running = self._workspace.start(target, self._workload.identity, self._load, label="quickstart")
        try:
            with closing(running.live()) as view:
                result = running.wait(lambda _: self._watched(running, view))
        except KeyboardInterrupt:
            running.stop()
            raise
        self._tell(f"{result.metric.text(result.metric_value)}" if result.metric_value is not None else "no result")
        return result

    def _watched(self, running: Running, view: LiveView) -> None:
        """Look at the run in progress, once a second."""
        if self.stopped:
            running.stop()
        if time.monotonic() - self._looked_s >= _TICK_S:
            tick, self._looked_s = view.tick(), time.monotonic()
            self._tell(f"{tick.status.value}, {tick.metric.text(tick.metric_value)}")

    def _compare(self, target: Target) -> SweepResult:
        running = self._workspace.start_sweep(target, self._spec)

        def hear(event: ExperimentEvent) -> None:
            if event.kind is EventKind.STARTED and event.planned is not None:
                self._tell(f"run {event.planned.number} of {event.total}: {event.described}")

        def look(_: object) -> None:
            if self.stopped:
                running.stop()

        try:
            result = running.wait(hear, look)
        except KeyboardInterrupt:
            running.stop()
            raise
        if running.status is ExperimentStatus.DONE:
            self._tell(result.answer)
        return result

    def _report(self, swept: SweepResult) -> Path:
        path = swept.report()
        self._tell(str(path))
        return path

    # -- their states -----------------------------------------------------------------------------------------

    def _step(self, index: int, work: Callable[[], Made]) -> Made:
        """Do a step; its state changes at its begin and end. Raises ``HdbkitError`` if it was stopped."""
        self._set(index, state=StepState.RUNNING, begun_s=time.monotonic())
        try:
            made = work()
            if self.stopped:
                raise HdbkitError("the quickstart was stopped; what it measured is kept")
        except BaseException as error:
            said = "stopped" if self.stopped or isinstance(error, KeyboardInterrupt) else str(error)
            self._set(index, state=StepState.FAILED, detail=said, ended_s=time.monotonic())
            raise
        self._set(index, state=StepState.DONE, ended_s=time.monotonic())
        return made

    def _tell(self, detail: str) -> None:
        """Note what the step in progress has found."""
        now = next(index for index, step in enumerate(self.steps) if step.state is StepState.RUNNING)
        self._set(now, detail=detail)

    def _set(self, index: int, **changes: object) -> None:
        self.steps[index] = replace(self.steps[index], **changes)  # type: ignore[arg-type]
        self._watch(self.steps[index])


class QuickstartVerbs(ExperimentVerbs):
    """Verbs for a first result."""

    def quickstart(
        self,
        target: Target | str = PRIVATE,
        *,
        load: Load | None = None,
        spec: SweepSpec | Path | str | None = None,
        watch: OnStep | None = None,
    ) -> QuickstartResult:
        """A first result: start a private server, build a schema, run for 20 s, sweep two values, write the report.

        It prints the expected time first and then each step, unless ``watch`` is given. The server stays until this
        process ends, as that of ``ready("private")``, which is the same one.

        Args:
            target, load, spec: as for :class:`Quickstart`.
            watch: called whenever the state or the detail of a step changes.

        Raises:
            HdbkitError: a step failed; the steps before it are kept.

        Example:
            >>> done = hdbkit.quickstart()  # doctest: +SKIP
            >>> hdbkit.run(done.target, load=hdbkit.Load(virtual_users=8, duration_s=20))  # doctest: +SKIP
        """
        planned = Quickstart(self, target, load=load, spec=spec)
        if watch is None:
            _say(f"{len(planned.steps)} steps, about {duration_text(planned.expected_s)}")
        return planned.run(watch or _print)


def _print(step: QuickStep) -> None:
    """Write the title of a step when it begins, and what it found when it has ended."""
    if step.state is StepState.RUNNING and not step.detail:
        _say(f"{step.number}. {step.title}")
    elif step.state is not StepState.RUNNING:
        _say(f"   {step.state}: {step.detail} ({duration_text(step.spent_s)})")


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a first look that shows nothing for minutes would be stopped


class _BuildWords:
    """The progress of a build (contract: ``BuildProgress``) as a detail of its step."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def stage(self, stage: Stage) -> None:
        """A stage starts."""
        self._tell(str(stage))

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        """Rows are loaded."""
        self._tell(f"{rows:,} of {total_rows:,} rows")

    def checking(self, what: str) -> None:
        """A statement of a check is sent."""


def _kind_to_start() -> str:
    """The first kind of server whose binaries are installed. Raises ``InputError`` if there is none."""
    found = find_binaries()
    if not found:
        raise InputError("hdbkit can start no server on this machine; run: hdbkit doctor, or name a target of yours")
    return found[0].kind


def _sweep(kind: str, given: SweepSpec | Path | str | None, default: Load) -> SweepSpec:
    """The sweep that was given, else the quick one of the engine; on a server of the user's own with its phases."""
    if given is not None:
        return given if isinstance(given, SweepSpec) else SweepSpec.read(Path(given))
    quick = sweep_of(kind, "sweep-quick")
    return quick if default != Load() else quick.with_(load=default, blocks=_OWN_BLOCKS)
