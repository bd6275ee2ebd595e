"""The progress of an experiment, computed from its plan and journal; works for one in any process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count, takewhile

from hdbkit.errors import DamagedResult
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.experiment.sides import SlowCommitPlan
from hdbkit.experiment.sources import read_plan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.journal import ExperimentState, Step


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
    """Compute the progress of an experiment; of a search for a commit, that of its present step.

    Raises ``DamagedResult`` if its plan is missing or damaged.
    """
    state = folder.journal.state
    begun, ended = state.begun, state.ended
    plan = read_plan(folder)  # after the journal: it has every run that the journal names
    if isinstance(plan, SlowCommitPlan) and (steps := search_steps(plan, folder)):
        (status, note), now = _status(folder, state), experiment_progress(steps[-1])
        return replace(now, status=status, note=note, left_s=0.0 if status.ended else now.left_s)
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


def search_steps(plan: SlowCommitPlan, folder: ExperimentFolder) -> list[ExperimentFolder]:
    """The steps of a search that have begun, in order."""
    steps = (experiment_folder(folder.root, plan.step_id(number)) for number in count())
    return list(takewhile(lambda step: step.planned, steps))


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
