"""What a sweep tells while it goes on, for a table on the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hdbkit.results.manifest import Manifest
from hdbkit.results.sweep_folder import Step
from hdbkit.sweep_plan import PlannedRun


class Kind(StrEnum):
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
class Progress:
    """One step of a sweep: ``planned`` is the run it is about, ``total`` the number of planned runs."""

    kind: Kind
    total: int
    planned: PlannedRun | None = None
    manifest: Manifest | None = None
    note: str = ""


KINDS = {
    Step.SETTINGS_SAVED: Kind.SAVED,
    Step.NOTED: Kind.WAITING,
    Step.RUN_STARTED: Kind.STARTED,
    Step.RUN_FINISHED: Kind.FINISHED,
    Step.RUN_ENDED_EARLY: Kind.ENDED_EARLY,
    Step.RUN_FAILED: Kind.FAILED,
    Step.SETTINGS_RESTORED: Kind.RESTORED,
}
"""What a watcher is told of a step of the journal; of the others nothing."""

Watcher = Callable[[Progress], None]


def unwatched(_: Progress) -> None:
    """Nobody looks."""
