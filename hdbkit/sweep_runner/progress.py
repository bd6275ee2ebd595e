"""The progress of a sweep, computed from its plan and journal; works for a sweep in any process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from hdbkit.results.journal import Step, SweepState
from hdbkit.results.sweep_folder import SweepFolder
from hdbkit.sweep_plan import PlannedRun, SweepPlan, estimated_run_s


class SweepStatus(StrEnum):
    """The status of a sweep. All except ``running`` are final; all final ones except ``done`` can be resumed."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"  # its process vanished; the next sweep restores the settings

    @property
    def ended(self) -> bool:
        """Whether the sweep is no longer running."""
        return self is not SweepStatus.RUNNING


@dataclass(frozen=True)
class SweepProgress:
    """The progress of a sweep at one moment.

    ``done``, ``ended_early`` and ``failed`` count runs of ``total``. ``planned`` is the present run or the last one
    that began, ``described`` what it executes, ``run_id`` its id. ``left_s`` estimates the remaining seconds from the
    pace so far, None before the first run has ended if runs have no window. ``note`` states why the sweep was stopped
    or failed.
    """

    status: SweepStatus
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


def sweep_progress(folder: SweepFolder) -> SweepProgress:
    """Compute the progress of a sweep. Raises ``DamagedResult`` if its plan is missing or damaged."""
    state = folder.journal.state
    begun, ended = state.begun, state.ended
    plan = folder.read_plan(SweepPlan)  # after the journal: it has every run that the journal names
    status, note = _status(folder, state)
    planned = plan.runs[begun.number - 1] if begun and begun.number else None
    return SweepProgress(
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


def _status(folder: SweepFolder, state: SweepState) -> tuple[SweepStatus, str]:
    if state.executed_by is not None:
        return SweepStatus.RUNNING, ""
    if state.finished:
        return SweepStatus.DONE, ""
    if state.broken_off:
        stopped = state.broken_off.step is Step.STOPPED
        return SweepStatus.STOPPED if stopped else SweepStatus.FAILED, state.broken_off.note
    back = "the next sweep restores the settings; " if state.changed else ""
    return (
        SweepStatus.KILLED,
        f"its process was killed; {back}resume it with: hdbkit sweep --resume {folder.sweep_id}",
    )


def _left_s(plan: SweepPlan, state: SweepState, missing: int) -> float | None:
    """The estimated time of the missing runs, from the pace of the sweep's process, or from the plan at first."""
    now = datetime.now(UTC)
    since, ends = state.since or now, state.ends_since
    if ends:
        pace_s, since = (ends[-1] - since).total_seconds() / len(ends), ends[-1]
    elif plan.estimated_s is None:
        return None
    else:
        pace_s = estimated_run_s(plan.spec)
    return max(missing * pace_s - (now - since).total_seconds(), 0.0)
