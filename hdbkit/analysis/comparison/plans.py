"""The optimizer's plans of the same queries on two sides: which differ, and where, line by line.

Two plans are alike if they differ in numbers only: costs, estimated rows and parameters of a query are no other plan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from hdbkit.results.query_plans import QueryPlan

_NUMBER = re.compile(r"\d[\d,.]*(?:[eE][+-]?\d+)?")
_SPACE = re.compile("[\\s\N{BOX DRAWINGS LIGHT HORIZONTAL}]+")


@dataclass(frozen=True)
class PlanPair:
    """The plans of an operation on both sides, in lines next to each other; a line may be empty."""

    operation: str
    lines: tuple[tuple[str, str], ...]
    differs: tuple[bool, ...]
    """For each pair of lines, whether they differ in more than numbers."""

    @property
    def alike(self) -> bool:
        """Whether both sides have the same plan."""
        return not any(self.differs)


def plan_pairs(base: Mapping[str, QueryPlan], new: Mapping[str, QueryPlan]) -> list[PlanPair]:
    """The operations of which both sides kept the plan, in their order."""
    return [_pair(name, base[name].text, new[name].text) for name in base if name in new]


def _pair(operation: str, base: str, new: str) -> PlanPair:
    sides = base.splitlines(), new.splitlines()
    shapes = shape(base), shape(new)
    lines: list[tuple[str, str]] = []
    differs: list[bool] = []
    for what, first, end, other_first, other_end in SequenceMatcher(None, *shapes, autojunk=False).get_opcodes():
        left, right = sides[0][first:end], sides[1][other_first:other_end]
        height = max(len(left), len(right))
        left, right = left + [""] * (height - len(left)), right + [""] * (height - len(right))
        lines += zip(left, right, strict=True)
        differs += [what != "equal"] * height
    return PlanPair(operation, tuple(lines), tuple(differs))


def shape(text: str) -> tuple[str, ...]:
    """The lines of a plan without its numbers; plans of equal shape are alike."""
    return tuple(_SPACE.sub(" ", _NUMBER.sub("#", line)).strip() for line in text.splitlines())


def plans_note(pairs: Sequence[PlanPair]) -> str:
    """How many plans differ, as a sentence without its full stop; empty where no plan is known."""
    if not pairs:
        return ""
    different = [one.operation for one in pairs if not one.alike]
    which = f": {', '.join(different)}" if 0 < len(different) < len(pairs) else ""
    return f"{len(different)} of {len(pairs)} plans of queries differ{which}"
