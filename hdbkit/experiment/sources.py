"""The sources of cells: the kinds of plans that there are, and how a plan goes on after results."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, RootModel

from hdbkit.experiment.deciding import decide, required_rate_for
from hdbkit.experiment.max_rate import MaxRatePlan, searched
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.experiment.sides import ComparisonPlan, EnginesPlan, ProfilePlan, ReleasesPlan, SlowCommitPlan
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.plan import RequiredRate
from hdbkit.results.experiment_folder import ExperimentFolder


class _AnyPlan(
    RootModel[
        Annotated[
            SweepPlan | ComparisonPlan | ProfilePlan | MaxRatePlan | ReleasesPlan | SlowCommitPlan | EnginesPlan,
            Field(discriminator="kind"),
        ]
    ]
):
    """A plan of any kind, as the folder of an experiment has it."""


def read_plan(folder: ExperimentFolder) -> ExperimentPlan:
    """The plan of an experiment of any kind. Raises ``DamagedResult``."""
    return folder.read_plan(_AnyPlan).root


def following(plan: ExperimentPlan, folder: ExperimentFolder) -> ExperimentPlan:
    """The plan after what the results so far decide; the plan on disk and the journal follow it."""
    match plan:
        case SweepPlan():
            return decide(plan, folder)
        case MaxRatePlan():
            return searched(plan, folder)
    return plan


def required_rate(plan: ExperimentPlan, folder: ExperimentFolder, planned: PlannedRun) -> RequiredRate | None:
    """The rate below which a run ends early; None without."""
    return required_rate_for(plan, folder, planned) if isinstance(plan, SweepPlan) else None
