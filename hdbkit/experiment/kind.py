"""The contract of a kind of experiment: all that the runner and what shows experiments ask of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hdbkit.errors import InputError
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.plan import RequiredRate
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.workloads import metric_of, workload

Plan = TypeVar("Plan", bound=ExperimentPlan)
Say = Callable[[str], None]
"""Reports what an experiment waits for."""


@dataclass(frozen=True)
class Figure:
    """What finished runs are shown as in the grid of runs."""

    heading: str
    text: Callable[[RunFolder, float], str]
    """The text of a run, from its folder and the value of its metric."""


class Kind(Generic[Plan]):
    """A kind of experiment, by the class of its plans. The methods are for kinds that differ from most.

    What the plan alone tells (its cells, its order, whether it has servers of its own) is in the plan.
    """

    def __init__(self, plan: type[Plan]) -> None:
        self.plan = plan

    @property
    def name(self) -> str:
        """The ``kind`` of its plans."""
        return str(self.plan.model_fields["kind"].default)

    def following(self, plan: Plan, folder: ExperimentFolder) -> Plan:
        """The plan after what the results so far decide; the plan on disk and the journal follow it.

        A longer plan is on disk when this returns, and derives from plan, journal and results alone.
        """
        return plan

    def required_rate(self, plan: Plan, folder: ExperimentFolder, planned: PlannedRun) -> RequiredRate | None:
        """The rate below which a run ends early; None without."""
        return None

    def servers(self, plan: Plan, say: Say) -> AbstractContextManager[Plan]:
        """The plan with the targets of its own servers, which run for the block; other plans are unchanged.

        Raises:
            ServerFailed: a build failed, or a server did not start; the text names the log of the build.
            HdbkitError: a schema failed a check.
        """
        return nullcontext(plan)

    def figure(self, plan: Plan) -> Figure:
        """What a finished run is shown as: the value of its metric."""
        first = plan.cell(plan.runs[0])
        metric = metric_of(workload(first.workload), first.load)
        return Figure(metric.name, lambda _, value: metric.number(value))

    def result(self, workspace: Any, folder: ExperimentFolder) -> Any:
        """The result so far, an ``ExperimentResult``. Raises ``InputError`` if there is none."""
        raise InputError(f"{folder.experiment_id} has no result but its runs; see: hdbkit experiments")
