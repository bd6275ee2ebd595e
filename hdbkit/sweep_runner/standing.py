"""Where a sweep stands, seen from outside: from its plan and its journal alone, whatever process executes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from hdbkit.errors import DamagedResult
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.sweep_folder import JournalLine, Step, SweepFolder, SweepState
from hdbkit.sweep_plan import PlannedRun, SweepPlan, estimated_run_s
from hdbkit.sweep_runner.progress import KINDS, Kind, Progress, Watcher

_ENDS = (Step.RUN_FINISHED, Step.RUN_ENDED_EARLY, Step.RUN_FAILED)


class SweepStatus(StrEnum):
    """The life of a sweep. All but the first are ends; each of them but ``done`` can be resumed."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"  # its process ended without a word; the next sweep brings the settings back

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to the sweep by itself."""
        return self is not SweepStatus.RUNNING


@dataclass(frozen=True)
class Standing:
    """A sweep at one moment; ``note`` says why it was broken off.

    ``done``, ``ended_early`` and ``failed`` count runs of ``total``.

    ``planned`` is the run that is going on or was the last to begin, ``run_id`` its id; ``left_s`` is about how many
    seconds remain, from the pace so far.
    """

    status: SweepStatus
    total: int
    blocks: int
    done: int = 0
    ended_early: int = 0
    failed: int = 0
    planned: PlannedRun | None = None
    run_id: str = ""
    note: str = ""
    left_s: float = 0.0

    @property
    def ended_runs(self) -> int:
        """The runs that need not be done again."""
        return self.done + self.ended_early + self.failed


def standing(folder: SweepFolder) -> Standing:
    """Where the sweep stands now. Raises ``DamagedResult`` when its plan is missing or spoilt."""
    journal = folder.journal()
    plan = folder.read_plan(SweepPlan)  # after the journal: it has every run that the journal names
    state = SweepState(journal)
    status, note = _status(folder, state)
    steps = [line.step for line in state.runs.values()]
    begun = next((line for line in reversed(journal) if line.step is Step.RUN_STARTED), None)
    return Standing(
        status=status,
        total=len(plan.runs),
        blocks=plan.runs[-1].block,
        done=steps.count(Step.RUN_FINISHED),
        ended_early=steps.count(Step.RUN_ENDED_EARLY),
        failed=steps.count(Step.RUN_FAILED),
        planned=plan.runs[begun.number - 1] if begun and begun.number else None,
        run_id=begun.run_id if begun else "",
        note=note,
        left_s=0.0 if status.ended else _left_s(plan, journal, len(plan.runs) - len(state.ended)),
    )


def _status(folder: SweepFolder, state: SweepState) -> tuple[SweepStatus, str]:
    if state.executed_by is not None:
        return SweepStatus.RUNNING, ""
    if state.finished:
        return SweepStatus.DONE, ""
    if state.broken_off:
        stopped = state.broken_off.step is Step.STOPPED
        return SweepStatus.STOPPED if stopped else SweepStatus.FAILED, state.broken_off.note
    back = "the next sweep brings the settings back; " if state.changed else ""
    return SweepStatus.KILLED, f"its process was killed; {back}go on with: hdbkit sweep --resume {folder.sweep_id}"


def _left_s(plan: SweepPlan, journal: list[JournalLine], missing: int) -> float:
    """The runs that are missing at the pace since the sweep's process began; as planned, before its first run."""
    began = max((at for at, line in enumerate(journal) if line.step is Step.STARTED), default=0)
    here = journal[began:]
    ends = [line.at for line in here if line.step in _ENDS]
    pace_s, since = estimated_run_s(plan.spec), here[0].at if here else datetime.now(UTC)
    if ends:
        pace_s, since = (ends[-1] - since).total_seconds() / len(ends), ends[-1]
    return max(missing * pace_s - (datetime.now(UTC) - since).total_seconds(), 0.0)


class Follower:
    """Tells a watcher what the journal says, each line once: what ``sweep(watch=...)`` would have told it."""

    def __init__(self, folder: SweepFolder, watch: Watcher) -> None:
        self._folder, self._watch, self._told = folder, watch, 0
        self._plan = folder.read_plan(SweepPlan)

    def follow(self) -> None:
        """Tell what is new since the last look."""
        journal = self._folder.journal()
        if len(journal) > self._told:
            self._plan = self._folder.read_plan(SweepPlan)  # it may have become longer or shorter
        for line in journal[self._told :]:
            if kind := KINDS.get(line.step):
                self._watch(self._progress(kind, line))
        self._told = len(journal)

    def _progress(self, kind: Kind, line: JournalLine) -> Progress:
        planned = self._plan.runs[line.number - 1] if line.number else None
        manifest = self._manifest(line.run_id) if line.step in _ENDS and line.run_id else None
        return Progress(kind, len(self._plan.runs), planned, manifest, line.note)

    def _manifest(self, run_id: str) -> Manifest | None:
        try:
            return RunFolder(self._folder.root / run_id).read()
        except DamagedResult:
            return None
