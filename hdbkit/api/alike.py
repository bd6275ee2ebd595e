"""Which stored runs and sweeps are like a planned experiment."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from pydantic import BaseModel

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.plan import RunPlan

Work = tuple[Target, WorkloadSpec | None, Load]

OF_A_RUN = frozenset({"virtual_users", "seed"})
"""Fields of a load that differ between the runs of a sweep."""


def alike(planned: ExperimentPlan, found: Work, except_for: Set[str] = OF_A_RUN) -> bool:
    """Whether target, workload and load are those of the planned experiment; a scale that is not given may be any.

    Args:
        planned: the experiment; with several targets, the first.
        found: those of a run or a sweep.
        except_for: fields of the load that may differ.
    """
    target, workload, load = found
    at, asked, driven = _work_of(planned)
    wanted = {} if asked is None else asked.model_dump(exclude_unset=True)
    return (
        target.url == at.url and _agree(wanted, workload) and _agree(driven.model_dump(exclude=set(except_for)), load)
    )


def _work_of(planned: ExperimentPlan) -> Work:
    if isinstance(planned, SweepPlan):
        return planned.target, planned.spec.workload, planned.spec.load
    first = planned.cell(planned.runs[0])
    return first.target, first.workload, first.load


def of_run(plan: RunPlan) -> Work:
    """What a run measured."""
    return plan.target, plan.workload, plan.load


def _agree(wanted: Mapping[str, Any], found: BaseModel | None) -> bool:
    known = {} if found is None else found.model_dump()
    return all(known[name] == value for name, value in wanted.items() if name in known)
