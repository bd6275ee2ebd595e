"""Comparisons: two targets in turn, at the same time, or in slices that alternate between them."""

from __future__ import annotations

from typing import Final, Literal

from hdbkit.errors import ConfigErrors, Problem
from hdbkit.experiment.kind import Kind
from hdbkit.experiment.sides import Side, SidesPlan
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

    @property
    def title(self) -> str:
        return f"the comparison of {self.sides[0].target.given} and {self.sides[1].target.given}"


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
