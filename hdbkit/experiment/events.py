"""The events of an experiment, reported by its own process or read from its journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hdbkit.errors import DamagedResult
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.experiment.sources import read_plan
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import RUN_ENDS, JournalLine, Step
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
    DECIDED = "decided"  # by a look; the note names the configurations that later blocks do not run
    FAILED = "failed"
    RESTORED = "restored"


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
