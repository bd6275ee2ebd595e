"""The events of a sweep, for whoever watches it: reported by its own process, or read from its journal."""

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
    """What has just happened."""

    SETTLED = "settled"  # an earlier sweep that was killed: its settings are restored
    SAVED = "saved"  # the settings as they were are on disk, the data is kept
    WAITING = "waiting"  # for what the note says, or no longer
    PREPARING = "preparing"  # the server is brought to a run's configuration
    STARTED = "started"
    FINISHED = "finished"
    ENDED_EARLY = "ended early"  # for the reason in the note
    FAILED = "failed"
    RESTORED = "restored"


@dataclass(frozen=True)
class SweepEvent:
    """One step of a sweep: ``planned`` is the run it is about, ``total`` the number of planned runs."""

    kind: EventKind
    total: int
    planned: PlannedRun | None = None
    manifest: Manifest | None = None
    note: str = ""


KINDS = {
    Step.SETTINGS_SAVED: EventKind.SAVED,
    Step.NOTED: EventKind.WAITING,
    Step.RUN_STARTED: EventKind.STARTED,
    Step.RUN_FINISHED: EventKind.FINISHED,
    Step.RUN_ENDED_EARLY: EventKind.ENDED_EARLY,
    Step.RUN_FAILED: EventKind.FAILED,
    Step.SETTINGS_RESTORED: EventKind.RESTORED,
}
"""The event that a step of the journal is; the other steps are none."""

Watcher = Callable[[SweepEvent], None]


def unwatched(_: SweepEvent) -> None:
    """Nobody looks."""


class Follower:
    """Reports what the journal has as events, each line once: those that ``sweep(watch=...)`` would have reported."""

    def __init__(self, folder: SweepFolder, watch: Watcher) -> None:
        self._folder, self._watch, self._seen = folder, watch, 0

    def follow(self) -> None:
        """Report what is new since the last look."""
        new = self._folder.journal.lines[self._seen :]
        if not new:
            return
        plan = self._folder.read_plan(SweepPlan)  # it may have become longer or shorter
        for line in new:
            if kind := KINDS.get(line.step):
                self._watch(self._event(kind, plan, line))
        self._seen += len(new)

    def _event(self, kind: EventKind, plan: SweepPlan, line: JournalLine) -> SweepEvent:
        planned = plan.runs[line.number - 1] if line.number else None
        manifest = self._manifest(line.run_id) if line.step in RUN_ENDS and line.run_id else None
        return SweepEvent(kind, len(plan.runs), planned, manifest, line.note)

    def _manifest(self, run_id: str) -> Manifest | None:
        try:
            return RunFolder(self._folder.root / run_id).read()
        except DamagedResult:
            return None
