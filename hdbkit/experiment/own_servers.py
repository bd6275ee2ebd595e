"""What experiments with servers of their own have in common: a schema for each side, on servers that have started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hdbkit.config import Target
from hdbkit.control_groups import limits
from hdbkit.experiment.kind import Say
from hdbkit.experiment.sides import SidesPlan
from hdbkit.loading import build

Sides = TypeVar("Sides", bound=SidesPlan)


def with_schemas(plan: Sides, targets: Sequence[Target], say: Say) -> Sides:
    """The plan on these targets in place of its own, with the schema of each side built on its target.

    Raises ``HdbkitError`` if a schema fails a check.
    """
    ready = plan.at(targets)
    for side in ready.sides:
        if side.target in targets:
            say(f"building the schema on {side.target.url}")
            build(side.target, side.workload, loaders=limits().cores).require_sound()
    return ready
