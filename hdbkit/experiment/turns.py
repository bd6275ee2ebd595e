"""One turn of an experiment: the server is prepared, a run is executed, or several at the same time, and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hdbkit.contracts import ApplyBy, ServerControl
from hdbkit.errors import (
    AgentLost,
    HdbkitError,
    InputError,
    NoneFree,
    ServerDown,
    ServerFailed,
    innermost_reason,
    is_caused_by,
    is_disk_full,
    states_disk_full,
)
from hdbkit.experiment.course import Course, given_up, outcome
from hdbkit.experiment.events import EventKind
from hdbkit.experiment.kinds import kind_of
from hdbkit.experiment.plan import Cell, PlannedRun, run_plan
from hdbkit.experiment.preparing import prepare_run
from hdbkit.experiment.run_data import committed_count
from hdbkit.experiment.servers import Servers
from hdbkit.experiment.switching import switching
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import CAUSE, GIVES_UP, SERVER_DOWN, Step
from hdbkit.results.manifest import Manifest, Status

RunOne = Callable[[RunPlan], Manifest]
"""Executes one run to its end. Raises ``HdbkitError`` if it cannot, and ``KeyboardInterrupt`` on Ctrl-C."""
RunTogether = Callable[[Sequence[RunPlan]], list[Manifest]]
"""Executes several runs at the same time, all to their end; errors as those of ``RunOne``."""


@dataclass(frozen=True)
class Turns:
    """Executes the turns of an experiment."""

    course: Course
    servers: Servers
    run_one: RunOne
    run_together: RunTogether | None = None
    restored: dict[str, float] = field(default_factory=dict)
    """The schema's count after the first restoration by a target's command; each later one must give the same."""

    def execute(self, turn: Sequence[PlannedRun]) -> None:
        """Execute the runs of a turn, and record how they ended.

        Raises what ends the experiment; runs without an end are then repeated on resume.
        """
        course = self.course
        if reason := next(filter(None, (given_up(course.plan, course.folder, one) for one in turn)), ""):
            for planned in turn:
                course.failed(planned, "", reason)
            return
        controls = [self._control(one) for one in turn]
        befores = [course.folder.read_before(control.identity) or None for control in controls]
        with self._left_by_the_run_before(turn[0]):
            for control, before in zip(controls, befores, strict=True):
                control.start(before)
        repeats = all(control.can_restart and before for control, before in zip(controls, befores, strict=True))
        if not self._tried(turn, repeats=repeats):
            with self._left_by_the_run_before(turn[0]):
                for control, before in zip(controls, befores, strict=True):
                    control.restore(before or {})
            self._tried(turn)

    def _control(self, planned: PlannedRun) -> ServerControl:
        return self.servers.of(self.course.plan.cell(planned).target)

    @contextmanager
    def _left_by_the_run_before(self, planned: PlannedRun) -> Iterator[None]:
        """A server that is down before a run has set anything: the settings of the run before do not run again.

        This holds for a run before that failed with settings that took effect by a restart; others prevent no start.
        """
        try:
            yield
        except ServerDown:
            folder = self.course.folder
            begun = folder.journal.state.begun
            line = folder.journal.state.runs.get(planned.number - 1)
            if begun is None or line is None or line.step is not Step.RUN_FAILED or begun.number != line.number:
                raise
            restarted = begun.details.get("applied_by") == ApplyBy.RESTART.value
            if restarted and self.course.plan.runs[planned.number - 2].configuration:
                down = {**line.details, SERVER_DOWN: True, GIVES_UP: True}
                folder.append(line.step, line.number, line.run_id, line.note, **down)
            raise

    def _tried(self, turn: Sequence[PlannedRun], *, repeats: bool = False) -> bool:
        """Execute the runs of a turn and record their ends.

        With ``repeats``, runs that failed because all connections of a server are in use, as with the settings of the
        run before, are not recorded; False: they are to be repeated with the original settings restored first.
        """
        begun: dict[int, str] = {}
        try:
            manifests = self._executed(turn, begun)
        except AgentLost:
            raise
        except HdbkitError as error:
            if repeats and is_caused_by(error, NoneFree) and not isinstance(error, ServerDown):
                self.course.waits(
                    f"{innermost_reason(error)}; the server's original settings are restored, and run "
                    f"{turn[0].number} repeated"
                )
                return False
            self._could_not(turn[0], begun, error)
        else:
            self._ended(turn, begun, manifests)
        return True

    def _executed(self, turn: Sequence[PlannedRun], begun: dict[int, str]) -> list[Manifest]:
        """Prepare the servers and execute the runs; ``begun`` gets their ids."""
        course, origin_ns = self.course, time.monotonic_ns()
        plans, details = [], []
        for planned in turn:
            course.report(EventKind.PREPARING, planned)
            prepared = prepare_run(course.plan, planned, self._control(planned))
            if prepared["restored_s"]:
                self._check_restored(course.plan.cell(planned))
            required = kind_of(course.plan).required_rate(course.plan, course.folder, planned)
            plans.append(run_plan(course.plan, planned, datetime.now(UTC), prepared, required, origin_ns))
            details.append(prepared)
        for planned, plan, prepared in zip(turn, plans, details, strict=True):
            begun[planned.number] = plan.run_id
            course.folder.append(Step.RUN_STARTED, planned.number, plan.run_id, **prepared)
            course.report(EventKind.STARTED, planned)
        if len(plans) > 1:
            assert self.run_together is not None
            return self.run_together(plans)
        (plan,) = plans
        with switching(plan, RunFolder(course.folder.root / plan.run_id), self._control(turn[0])):
            return [self.run_one(plan)]

    def _check_restored(self, cell: Cell) -> None:
        """Raise ``ServerFailed`` if a command of the target has not brought the data back."""
        url = cell.target.url
        if (
            cell.target.control.commands.restore
            and (count := committed_count(cell.target, cell.workload)) is not None
        ):
            first = self.restored.setdefault(url, count)
            if count != first:
                raise ServerFailed(
                    f"control.commands.restore of {url} has not restored the data: the schema counts {count:,.0f}, "
                    f"and {first:,.0f} after the first restoration"
                )

    def _could_not(self, planned: PlannedRun, begun: dict[int, str], error: HdbkitError) -> None:
        """Record runs that could not be executed; raise the error if it ends the experiment."""
        course, cause = self.course, innermost_reason(error)
        unusable = isinstance(error, InputError) and (planned.configuration == 0 or is_disk_full(error))
        if unusable or not course.plan.keeps_failures:
            course.repeated(begun, cause)
            course.report(EventKind.FAILED, planned, note=cause)
            raise error
        run_id = begun.get(planned.number, "")
        if isinstance(error, ServerDown):
            down: dict[str, Any] = {SERVER_DOWN: True, GIVES_UP: planned.configuration != 0}
            course.failed(planned, run_id, f"the server is down: {cause}", None, **down)
            raise error
        known = {CAUSE: cause} if cause not in ("", str(error)) else {}
        course.failed(planned, run_id, str(error), None, **known)

    def _ended(self, turn: Sequence[PlannedRun], begun: dict[int, str], manifests: Sequence[Manifest]) -> None:
        """Record the ends of runs; those at the same time count together or not at all."""
        ends = [(planned, one, outcome(one)) for planned, one in zip(turn, manifests, strict=True)]
        without = next(((planned, one) for planned, one, end in ends if end is None), None)
        if without is None:
            for planned, one, end in ends:
                assert end is not None
                self.course.ended(planned, one, end)
            return
        planned, manifest = without
        why = next((event.note for event in reversed(manifest.history) if event.note), "")
        why = why or f"it ended as {manifest.status.value}"
        if manifest.status is Status.STOPPED:
            self.course.repeated(begun, why)
            raise KeyboardInterrupt(f"{manifest.run_id} was stopped, which also stops the experiment")
        if states_disk_full(why):
            self.course.repeated(begun, why)
            raise self.course.disk_full()
        if self.course.plan.keeps_failures:
            self.course.failed(planned, manifest.run_id, why, manifest)
            return
        self.course.repeated(begun, why)
        self.course.report(EventKind.FAILED, planned, manifest, why)
        kept = "finished runs are kept; correct the cause, then run"
        raise self.course.failure(f"run {manifest.run_id} failed: {why}; {kept}")
