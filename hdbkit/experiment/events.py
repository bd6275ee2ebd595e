"""The events of an experiment, reported by its own process or read from its journal; its progress and status."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from hdbkit.errors import DamagedResult
from hdbkit.experiment.kinds import read_plan
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import RUN_ENDS, ExperimentState, JournalLine, Step
from hdbkit.results.manifest import Manifest


class EventKind(StrEnum):
    """The kind of an event."""

    SETTLED = "settled"  # the settings from before an earlier, killed sweep are restored
    SAVED = "saved"  # the original settings are on disk, the data is copied
    WAITING = "waiting"  # a wait that the note describes has begun or ended
    PREPARING = "preparing"  # a run's configuration is being applied
    STARTED = "started"
    FINISHED = "finished"
    ENDED_EARLY = "ended early"  # the note contains the reason
    DECIDED = "decided"  # by a look or a search; the note names what later blocks do not run, or the next step
    FAILED = "failed"
    RESTORED = "restored"
    SPENT = "spent"  # the experiment has ended; the note states on what its time was spent


@dataclass(frozen=True)
class ExperimentEvent:
    """One step of an experiment: ``planned`` is the run it is about, ``total`` the number of planned runs.

    ``described`` states what that run executes.
    """

    kind: EventKind
    total: int
    planned: PlannedRun | None = None
    manifest: Manifest | None = None
    note: str = ""
    described: str = ""


KINDS = {
    Step.SETTINGS_SAVED: EventKind.SAVED,
    Step.NOTED: EventKind.WAITING,
    Step.DECIDED: EventKind.DECIDED,
    Step.RUN_STARTED: EventKind.STARTED,
    Step.RUN_FINISHED: EventKind.FINISHED,
    Step.RUN_ENDED_EARLY: EventKind.ENDED_EARLY,
    Step.RUN_FAILED: EventKind.FAILED,
    Step.SETTINGS_RESTORED: EventKind.RESTORED,
    Step.FINISHED: EventKind.SPENT,
}
"""The event for a step of the journal; other steps are not events."""
Watcher = Callable[[ExperimentEvent], None]


def ignore_event(_: ExperimentEvent) -> None:
    """Ignore an event."""


class Follower:
    """Reports the lines of a journal as events, each line once, as ``watch`` of its verb does."""

    def __init__(self, folder: ExperimentFolder, watch: Watcher) -> None:
        self._folder, self._watch, self._seen = folder, watch, 0

    def skip(self) -> None:
        """Leave out the events until now."""
        self._seen = len(self._folder.journal.lines)

    def follow(self) -> None:
        """Report the events since the last call."""
        new = self._folder.journal.lines[self._seen :]
        if not new:
            return
        plan = read_plan(self._folder)  # it may have changed since
        for line in new:
            if kind := KINDS.get(line.step):
                self._watch(self._event(kind, plan, line))
        self._seen += len(new)

    def _event(self, kind: EventKind, plan: ExperimentPlan, line: JournalLine) -> ExperimentEvent:
        planned = plan.runs[line.number - 1] if line.number else None
        manifest = self._manifest(line.run_id) if line.step in RUN_ENDS and line.run_id else None
        described = plan.described(planned) if planned else ""
        return ExperimentEvent(kind, len(plan.runs), planned, manifest, line.note, described)

    def _manifest(self, run_id: str) -> Manifest | None:
        try:
            return RunFolder(self._folder.root / run_id).read()
        except DamagedResult:
            return None


class ExperimentStatus(StrEnum):
    """The status of an experiment. All but ``running`` are final; all final ones but ``done`` can be resumed."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"  # its process vanished; the next experiment on its servers restores the settings

    @property
    def ended(self) -> bool:
        """Whether the experiment is no longer running."""
        return self is not ExperimentStatus.RUNNING


@dataclass(frozen=True)
class ExperimentProgress:
    """The progress of an experiment at one moment.

    ``done``, ``ended_early`` and ``failed`` count runs of ``total``. ``planned`` is the present run or the last one
    that began, ``described`` what it executes, ``run_id`` its id. ``left_s`` estimates the remaining seconds from the
    pace so far, None before the first run has ended if runs have no window. ``note`` states why it was stopped
    or failed.
    """

    status: ExperimentStatus
    total: int
    blocks: int
    done: int = 0
    ended_early: int = 0
    failed: int = 0
    planned: PlannedRun | None = None
    described: str = ""
    run_id: str = ""
    note: str = ""
    left_s: float | None = 0.0

    @property
    def ended_runs(self) -> int:
        """The number of runs that are not repeated."""
        return self.done + self.ended_early + self.failed


def experiment_progress(folder: ExperimentFolder) -> ExperimentProgress:
    """Compute the progress of an experiment. Raises ``DamagedResult`` if its plan is missing or damaged."""
    state = folder.journal.state
    begun, ended = state.begun, state.ended
    plan = read_plan(folder)  # after the journal: it has every run that the journal names
    if not plan.runs or (begun and (begun.number or 0) > len(plan.runs)):
        raise DamagedResult(f"the journal of {folder.experiment_id} has runs that its plan does not have")
    status, note = _status(folder, state)
    planned = plan.runs[begun.number - 1] if begun and begun.number else None
    return ExperimentProgress(
        status=status,
        total=len(plan.runs),
        blocks=plan.runs[-1].block,
        done=state.counts[Step.RUN_FINISHED],
        ended_early=state.counts[Step.RUN_ENDED_EARLY],
        failed=state.counts[Step.RUN_FAILED],
        planned=planned,
        described=plan.described(planned) if planned else "",
        run_id=begun.run_id if begun else "",
        note=note,
        left_s=0.0 if status.ended else _left_s(plan, state, len(plan.runs) - ended),
    )


def _status(folder: ExperimentFolder, state: ExperimentState) -> tuple[ExperimentStatus, str]:
    if state.executed_by is not None:
        return ExperimentStatus.RUNNING, ""
    if state.broken_off:  # also of a finished one that was to have more blocks
        stopped = state.broken_off.step is Step.STOPPED
        return ExperimentStatus.STOPPED if stopped else ExperimentStatus.FAILED, state.broken_off.note
    if state.finished:
        return ExperimentStatus.DONE, ""
    back = "the next experiment on this server restores the settings; " if state.changed else ""
    return (
        ExperimentStatus.KILLED,
        f"its process was killed; {back}resume it with: hdbkit resume {folder.experiment_id}",
    )


def _left_s(plan: ExperimentPlan, state: ExperimentState, missing: int) -> float | None:
    """The estimated time of the missing runs, from the pace of the sweep's process, or from the plan at first."""
    now = datetime.now(UTC)
    since, ends = state.since or now, state.ends_since
    pace_s = plan.assumed_run_s
    if ends:
        pace_s, since = (ends[-1] - since).total_seconds() / len(ends), ends[-1]
    return None if pace_s is None else max(missing * pace_s - (now - since).total_seconds(), 0.0)
