"""Comparisons: two targets in turn, at the same time, or in slices that alternate between them."""

from __future__ import annotations

from typing import Final, Literal, Self

from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sessions import runs_of
from hdbkit.analysis.comparison.shared_operations import comparable_runs
from hdbkit.analysis.comparison.side_slices import sliced_sides
from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.config.until_decided import UntilDecided
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.experiment.kind import Kind
from hdbkit.experiment.plan import Design
from hdbkit.experiment.sides import Side, SidesPlan, finished_runs
from hdbkit.experiment.until_decided import finished_blocks, time_is_over
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.finding import Ratio
from hdbkit.results.journal import Step
from hdbkit.workloads import workload

SLICE_S: Final = 1.0
"""The default length of a slice."""
MIN_SLICE_S: Final = 0.05
"""Shorter slices hold no operation of most engines."""
_MIN_CYCLES: Final = 10
"""The number of whole cycles that a window must hold."""


class ComparisonPlan(SidesPlan):
    """The plan of a comparison of two sides."""

    kind: Literal["comparison"] = "comparison"
    names: tuple[str, str]
    smallest_effect: float

    @property
    def title(self) -> str:
        return f"the comparison of {self.sides[0].target.given} and {self.sides[1].target.given}"

    @property
    def design(self) -> Design | None:
        return None if self.until_decided else super().design

    @property
    def anytime(self) -> Anytime | None:
        """The intervals of one that ends when it is decided: at each count of users, and of the mean of several."""
        counts = len(self.virtual_users)
        return Anytime(counts + (counts > 1)) if self.until_decided else None

    def extended(self, blocks: int, done: int = 0) -> Self:
        """The same comparison with a total of ``blocks`` blocks and no maximum duration. Raises ``InputError``."""
        if self.ended_after is not None and blocks != self.blocks:
            raise InputError(
                f"{self.experiment_id} ended because everything was decided and takes no more blocks; start a new one"
            )
        longer = super().extended(blocks, done)
        return longer.model_copy(update={"until_decided": self.until_decided and UntilDecided()})

    def ended_at(self, blocks: int) -> Self:
        """The same comparison without the blocks after these."""
        kept = tuple(planned for planned in self.runs if planned.block <= blocks)
        return self.model_copy(update={"runs": kept, "blocks": blocks})


class _Comparison(Kind[ComparisonPlan]):
    def following(self, plan: ComparisonPlan, folder: ExperimentFolder) -> ComparisonPlan:
        """The plan that ends after the last finished block, if all is decided then or the time is over."""
        state = folder.journal.state
        blocks = finished_blocks(plan, state)
        if plan.until_decided is None or plan.ended_after is not None or blocks < 2:
            return plan
        undecided = sum(not ratio.verdict.is_decided for ratio in _ratios(plan, folder))
        if not any(line.step is Step.LOOKED and line.details["blocks"] == blocks for line in state.decisions):
            folder.append(Step.LOOKED, blocks=blocks, undecided=undecided)
        if not undecided:
            shorter = plan.ended_at(blocks).model_copy(update={"ended_after": blocks})
        elif time_is_over(plan, folder.journal.lines):
            shorter = plan.ended_at(blocks)
        else:
            return plan
        if shorter != plan:
            folder.write_plan(shorter)
        return shorter


def _ratios(plan: ComparisonPlan, folder: ExperimentFolder) -> tuple[Ratio, ...]:
    """Each verdict after the runs so far."""
    sides = dict(zip((BASE, NEW), finished_runs(plan, folder), strict=True))
    measured = {side: [(run, run.read()) for run in runs] for side, runs in sides.items()}
    shared, metric, _ = comparable_runs(measured)
    alike = {side: list(zip(sides[side], manifests, strict=True)) for side, manifests in shared.items()}
    runs, sliced = runs_of(shared), sliced_sides(alike, metric)
    counted = sliced.runs(runs) if sliced else runs
    return compared(counted, metric, plan.smallest_effect, anytime=plan.anytime).each


def require_sliceable(sides: tuple[Side, ...], slice_s: float) -> None:
    """Raise ``ConfigErrors`` if the load cannot alternate between sides in slices of so many seconds."""
    cycle_s = slice_s * len(sides)
    problems = [Problem("slice_s", f"{slice_s:g} s; at least {MIN_SLICE_S:g} s")] if slice_s < MIN_SLICE_S else []
    for side in sides:
        load = side.load
        reasons = {
            "rate": (load.is_open, "operations that are due in a slice of the other side would all begin late"),
            "keying_and_thinking": (load.keying_and_thinking, "users would think in the slices of the other side"),
            "steps": (load.steps is not None, "the steps have their own times"),
            "iterations": (load.iterations is not None, "slices need a window of a known length"),
            "faults": (bool(load.faults), "a fault falls into the slice of one side"),
            "cluster": (load.cluster is not None, "slices need one clock for the users of both sides"),
            "workload": (
                any(one.measured and one.duration_s is None for one in workload(side.workload).phases(load)),
                "slices need a window of a known length",
            ),
            "duration_s": (
                load.duration_s < _MIN_CYCLES * cycle_s,
                f"{_MIN_CYCLES} cycles need {_MIN_CYCLES * cycle_s:g} s; give a longer window or shorter slices",
            ),
        }
        problems += [Problem(name, why) for name, (applies, why) in reasons.items() if applies]
    if problems:
        raise ConfigErrors("the comparison by slices", list(dict.fromkeys(problems)))


KIND = _Comparison(ComparisonPlan)
