"""Comparisons: two targets in turn, at the same time, or in slices that alternate between them."""

from __future__ import annotations

import zlib
from typing import Final, Literal

from pydantic import Field

from hdbkit.errors import ConfigErrors, Problem
from hdbkit.experiment.kind import Kind
from hdbkit.experiment.plan import PlannedRun
from hdbkit.experiment.sides import Side, SidesPlan
from hdbkit.slices import SideSlices
from hdbkit.workloads import workload

SLICE_S: Final = 1.0
"""The default length of a slice."""
_MIN_CYCLES: Final = 10
"""The number of whole cycles that a window must hold."""


class ComparisonPlan(SidesPlan):
    """The plan of a comparison of two sides."""

    kind: Literal["comparison"] = "comparison"
    names: tuple[str, str]
    smallest_effect: float
    slice_s: float | None = Field(
        default=None, gt=0, description="the load alternates between the sides in slices of so many seconds"
    )

    @property
    def title(self) -> str:
        return f"the comparison of {self.sides[0].target.given} and {self.sides[1].target.given}"

    def side_slices(self, planned: PlannedRun, origin_ns: int) -> SideSlices | None:
        if self.slice_s is None:
            return None
        return SideSlices(
            configurations=tuple(range(len(self.sides))),
            slice_s=self.slice_s,
            seed=zlib.crc32(f"{self.seed}/{planned.block}/{planned.virtual_users}".encode()),
            side=planned.configuration,
            origin_ns=origin_ns,
        )


def require_sliceable(sides: tuple[Side, ...], slice_s: float) -> None:
    """Raise ``ConfigErrors`` if the load cannot alternate between sides in slices of so many seconds."""
    cycle_s = slice_s * len(sides)
    problems = []
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


KIND = Kind(ComparisonPlan)
