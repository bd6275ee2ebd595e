"""Searches for a slow commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from hdbkit.config import Preparation, Target
from hdbkit.experiment.kind import Kind
from hdbkit.experiment.kinds.releases import ReleasesPlan
from hdbkit.experiment.plan import Cell, ExperimentPlan, PlannedRun


class SlowCommitPlan(ExperimentPlan):
    """The plan of a search for the commit between two that made a server slower.

    Its steps are experiments of their own, which its process executes: ``first`` compares both commits, each further
    step the first of them with one between.
    """

    own_servers: ClassVar[bool] = True
    builds_programs: ClassVar[bool] = True

    kind: Literal["slow-commit"] = "slow-commit"
    first: ReleasesPlan
    max_blocks: int

    @property
    def title(self) -> str:
        return f"the search for a slow commit between {' and '.join(map(str, self.first.commits))}"

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.first.targets

    def at(self, targets: Sequence[Target]) -> Self:
        return self.model_copy(update={"first": self.first.at(targets)})

    def cell(self, planned: PlannedRun) -> Cell:
        return self.first.cell(planned)

    @property
    def preparation(self) -> Preparation:
        return self.first.preparation

    def step_id(self, number: int) -> str:
        """The id of a step; by name and time it comes before the search, so that ``last`` is the search."""
        return f"{self.experiment_id.replace(self.kind, self.first.kind)}-{number}"


KIND = Kind(SlowCommitPlan)
