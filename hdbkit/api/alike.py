"""Which stored runs and sweeps are like a planned sweep."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from pydantic import BaseModel

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.plan import RunPlan

Work = tuple[Target, WorkloadSpec | None, Load]

OF_A_RUN = frozenset({"virtual_users", "seed"})
"""Fields of a load that differ between the runs of a sweep."""


def alike(planned: SweepPlan, found: Work, except_for: Set[str] = OF_A_RUN) -> bool:
    """Whether target, workload and load are those of the planned sweep; a scale that is not given may be any.

    Args:
        planned: the sweep.
        found: those of a run or a sweep.
        except_for: fields of the load that may differ.
    """
    target, workload, load = found
    wanted = {} if planned.spec.workload is None else planned.spec.workload.model_dump(exclude_unset=True)
    return (
        target.url == planned.target.url
        and _agree(wanted, workload)
        and _agree(planned.spec.load.model_dump(exclude=set(except_for)), load)
    )


def of_run(plan: RunPlan) -> Work:
    """What a run measured."""
    return plan.target, plan.workload, plan.load


def _agree(wanted: Mapping[str, Any], found: BaseModel | None) -> bool:
    known = {} if found is None else found.model_dump()
    return all(known[name] == value for name, value in wanted.items() if name in known)
