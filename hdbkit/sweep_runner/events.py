"""The events of a sweep, reported by its own process or read from its journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hdbkit.errors import DamagedResult
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import RUN_ENDS, JournalLine, Step
from hdbkit.results.manifest import Manifest
from hdbkit.results.sweep_folder import SweepFolder
from hdbkit.sweep_plan import PlannedRun, SweepPlan


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
class SweepEvent:
    """One step of a sweep: ``planned`` is the run it is about, ``total`` the number of planned runs.

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

Watcher = Callable[[SweepEvent], None]


def ignore_event(_: SweepEvent) -> None:
    """Ignore an event."""


class Follower:
    """Reports the lines of a journal as events, each line once, as ``sweep(watch=...)`` does."""

    def __init__(self, folder: SweepFolder, watch: Watcher) -> None:
        self._folder, self._watch, self._seen = folder, watch, 0

    def skip(self) -> None:
        """Leave out the events until now."""
        self._seen = len(self._folder.journal.lines)

    def follow(self) -> None:
        """Report the events since the last call."""
        new = self._folder.journal.lines[self._seen :]
        if not new:
            return
        plan = self._folder.read_plan(SweepPlan)  # it may have changed since
        for line in new:
            if kind := KINDS.get(line.step):
                self._watch(self._event(kind, plan, line))
        self._seen += len(new)

    def _event(self, kind: EventKind, plan: SweepPlan, line: JournalLine) -> SweepEvent:
        planned = plan.runs[line.number - 1] if line.number else None
        manifest = self._manifest(line.run_id) if line.step in RUN_ENDS and line.run_id else None
        described = plan.described(planned) if planned else ""
        return SweepEvent(kind, len(plan.runs), planned, manifest, line.note, described)

    def _manifest(self, run_id: str) -> Manifest | None:
        try:
            return RunFolder(self._folder.root / run_id).read()
        except DamagedResult:
            return None
