"""Searches for the highest rate within a limit, whose next cell follows from the results so far.

The first run is in a closed loop, unless the load names a rate to begin with. The rate of each further run follows
from the results of those before it (``analysis.statistics.limit_search``, a generator of trials): the same results
give the same rates, so that a killed search goes on as an uninterrupted one.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Generator, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from hdbkit.analysis.run.latency_limit import Limit
from hdbkit.analysis.statistics.limit_search import Block, LimitNotFound, Trial, search_limit
from hdbkit.config import Load, Preparation
from hdbkit.config.load import RateOf
from hdbkit.config.metric import Measure
from hdbkit.config.specs import AnyLoad, AnyWorkload
from hdbkit.errors import SearchFailed
from hdbkit.experiment.kind import Figure, Kind
from hdbkit.experiment.plan import Cell, OneTargetPlan, PlannedRun
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import RUN_ENDS, Step
from hdbkit.results.manifest import Manifest
from hdbkit.text import exact_number, number

CLOSED_LOOP = "closed loop"
_RATE = "rate"
_MAX_RATE = 1e7


class MaxRatePlan(OneTargetPlan):
    """The plan of a search for the highest rate, with the runs whose rates are known."""

    kind: Literal["max-rate"] = "max-rate"
    workload: AnyWorkload
    load: AnyLoad = Field(description="the load without the rates and seeds of the runs")
    limit: Limit
    blocks: int
    label: str
    prepared: Preparation = Preparation()

    @property
    def title(self) -> str:
        return f"the search for the highest rate with {self.limit}"

    def rate(self, planned: PlannedRun) -> float | None:
        """The rate of a run; None for a closed loop."""
        text = self.configurations[planned.configuration][_RATE]
        return None if text == CLOSED_LOOP else float(text)

    def cell(self, planned: PlannedRun) -> Cell:
        return Cell(
            self.target, self.workload, self.load.with_(rate=self.rate(planned), seed=planned.seed), label=self.label
        )

    @property
    def preparation(self) -> Preparation:
        return self.prepared.before(self.load)


class SearchState(NamedTuple):
    """What a search has found: the next trial, or the blocks when it has ended."""

    next: Trial | None
    blocks: Sequence[Block] = ()


def with_first_run(plan: MaxRatePlan) -> MaxRatePlan:
    """The plan with the run with which the search begins: in a closed loop, or at the rate of the load."""
    return _with(plan, outcome_of(plan, ()).next) if plan.load.rate else _with(plan, None)


def searched(plan: MaxRatePlan, folder: ExperimentFolder) -> MaxRatePlan:
    """The plan with the next run, once all planned ones have ended; unchanged when the search has.

    Raises:
        SearchFailed: the limit holds at every rate, or at none.
    """
    state = folder.journal.state
    if state.next_number <= len(plan.runs):
        return plan
    trial = outcome_of(plan, manifests_of(plan, folder)).next
    if trial is None:
        return plan
    longer = _with(plan, trial)
    folder.write_plan(longer)
    folder.append(Step.EXTENDED, blocks=trial.block, rate=trial.level)
    return longer


def _with(plan: MaxRatePlan, trial: Trial | None) -> MaxRatePlan:
    """The plan with one more run: a trial, or one in a closed loop."""
    rate = CLOSED_LOOP if trial is None else repr(trial.level)
    rates = list(dict.fromkeys((*(one[_RATE] for one in plan.configurations), rate)))
    run = PlannedRun(
        number=len(plan.runs) + 1,
        block=trial.block if trial else 0,
        configuration=rates.index(rate),
        virtual_users=plan.load.virtual_users,
        seed=plan.load.seed + len(plan.runs),
    )
    known = tuple({_RATE: one} for one in rates)
    return plan.model_copy(update={"configurations": known, "runs": (*plan.runs, run)})


def manifests_of(plan: MaxRatePlan, folder: ExperimentFolder) -> list[Manifest]:
    """The results of the runs that have ended, in order. Raises ``DamagedResult``."""
    lines = folder.journal.state.runs
    ended = [lines[one.number] for one in plan.runs if one.number in lines and lines[one.number].step in RUN_ENDS]
    return [RunFolder(folder.root / line.run_id).read() for line in ended]


def outcome_of(plan: MaxRatePlan, manifests: Sequence[Manifest]) -> SearchState:
    """What these results lead to. Raises ``SearchFailed``."""
    limit, results = plan.limit, list(manifests)
    first = plan.load.rate or capacity(plan.load, results.pop(0)) / 2
    bounds = (limit.min_operations / plan.load.duration_s, _MAX_RATE)
    trials = search_limit(first, plan.blocks, zlib.crc32(plan.label.encode()), bounds)
    try:
        return SearchState(_replayed(trials, [limit.excess(one) for one in results]))
    except StopIteration as end:
        return SearchState(None, end.value)
    except LimitNotFound as error:
        raise SearchFailed(_not_found(limit, error)) from None


def _replayed(trials: Generator[Trial, float, Sequence[Block]], excesses: Sequence[float]) -> Trial:
    trial = next(trials)
    for excess in excesses:
        trial = trials.send(excess)
    return trial


def capacity(load: Load, manifest: Manifest) -> float:
    """The rate of a closed loop, in what the rate of an open loop counts."""
    metric, value = manifest.metric, manifest.measured.metric_value
    if load.rate_of is RateOf.METRIC and metric.measure is Measure.RATE and value:
        return float(value) / metric.per_s
    return manifest.measured.operations_per_s or 0.0


def _not_found(limit: Limit, error: LimitNotFound) -> str:
    level = exact_number(error.level)
    if error.within:
        return f"{limit} holds even at {level} per second, the highest rate that is tried"
    return (
        f"{limit} does not hold even at {level} per second, and at lower rates a window has "
        "too few operations; raise the limit, or lengthen the window"
    )


class _MaxRate(Kind[MaxRatePlan]):
    def following(self, plan: MaxRatePlan, folder: ExperimentFolder) -> MaxRatePlan:
        return searched(plan, folder)

    def figure(self, plan: MaxRatePlan) -> Figure:
        """The latency that is limited, and whether it is within the limit; of a closed loop the metric."""

        def text(run: RunFolder, value: float) -> str:
            manifest = run.read()
            if manifest.plan.load.rate is None:
                return manifest.metric.number(value)
            held = "within" if plan.limit.excess(manifest) <= 0 else "beyond"
            value_ms = plan.limit.value_ms(manifest)
            return f"{held}, {'none' if math.isnan(value_ms) else f'{number(value_ms)} ms'}"

        return Figure(f"{plan.limit}: latency", text)


KIND = _MaxRate(MaxRatePlan)
