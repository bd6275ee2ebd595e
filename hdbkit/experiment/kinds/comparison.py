"""Comparisons: two targets in turn, or at the same time."""

from __future__ import annotations

from typing import Literal

from hdbkit.experiment.kind import Kind
from hdbkit.experiment.sides import SidesPlan


class ComparisonPlan(SidesPlan):
    """The plan of a comparison of two sides."""

    kind: Literal["comparison"] = "comparison"
    names: tuple[str, str]
    smallest_effect: float

    @property
    def title(self) -> str:
        return f"the comparison of {self.sides[0].target.given} and {self.sides[1].target.given}"


KIND = Kind(ComparisonPlan)
