"""The data of a run: the original data, or a schema that is built for factors that need another one.

The original data is copied before the first change, and nothing replaces that copy, so that it can be restored
wherever a sweep is killed. A schema that factors need is built once for all its runs of a block and kept as a second
copy. Each run starts from the copy of its schema.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from hdbkit.config import Reset, Target, WorkloadSpec
from hdbkit.config.sweep_factors import schema_factors
from hdbkit.contracts import BUILT, ServerControl
from hdbkit.errors import BuildFailed, Problem, SchemaProblem, ServerFailed
from hdbkit.loading import build, drop
from hdbkit.sweep_plan import PlannedRun, SweepPlan
from hdbkit.workloads.present import present_schema

_ADVICE = "the next run that needs this schema builds it anew"


def restores_data(plan: SweepPlan, control: ServerControl) -> bool:
    """Whether the data is restored before each run: as requested, or by default if the server can."""
    reset = plan.spec.reset
    return reset is Reset.RESTORE or (reset is Reset.AUTO and control.can_restore_data)


def keeps_data(plan: SweepPlan, control: ServerControl) -> bool:
    """Whether the original data is copied before the first change."""
    return restores_data(plan, control) or bool(_of_schema(plan))


def unrestorable(plan: SweepPlan, control: ServerControl) -> list[Problem]:
    """The requests for the data that this server cannot fulfil."""
    found = []
    if plan.spec.reset is Reset.RESTORE and not control.can_restore_data:
        found.append(Problem("reset", f"the data of {control.identity} cannot be restored; use 'none' or 'auto'"))
    if _of_schema(plan) and (not control.can_restore_data or plan.target.control.agent):
        need = f"{' and '.join(_of_schema(plan))} need the schema to be rebuilt"
        advice = "use a private server on this host, or a file whose target sets 'may_change_settings: true'"
        found.append(Problem("factors", f"{need}, but the data of {control.identity} cannot be kept; {advice}"))
    return found


def bring_data(plan: SweepPlan, planned: PlannedRun, control: ServerControl) -> tuple[float, float]:
    """Provide the data of a run; return the seconds spent on restoring a copy and on building a schema.

    Raises:
        HdbkitError: a copy could not be restored, or a schema could not be built.
    """
    wanted, restores = plan.workload_of(planned), restores_data(plan, control)
    if not _of_schema(plan):
        return (control.restore_data() if restores else 0.0), 0.0
    there = _schema_there(plan.target, wanted)
    if wanted == plan.spec.workload:
        return (control.restore_data() if restores or there != wanted else 0.0), 0.0
    restored_s = 0.0
    if there == wanted and restores:
        with suppress(ServerFailed):  # there is no copy yet
            restored_s = control.restore_data(BUILT)
        there = _schema_there(plan.target, wanted)
    if there == wanted:
        return restored_s, 0.0
    return _build(plan.target, wanted, control)


def _build(target: Target, wanted: WorkloadSpec, control: ServerControl) -> tuple[float, float]:
    began = time.monotonic()
    with suppress(SchemaProblem):  # there is no schema
        drop(target, wanted)
    try:
        built = build(target, wanted, loaders=os.cpu_count() or 1)
    except BuildFailed as error:  # its own advice continues a build outside a sweep
        raise BuildFailed(error.step, error.reason, _ADVICE) from error.__cause__
    if not built.passed:
        failed = ", ".join(check.name for check in built.checks if check.passed is False)
        raise BuildFailed("the checks", f"{failed} did not pass", _ADVICE)
    control.keep_data(BUILT)
    return control.restore_data(BUILT), time.monotonic() - began


def _of_schema(plan: SweepPlan) -> list[str]:
    """The factors that need the schema to be rebuilt."""
    return [name for name in plan.spec.factors if name in schema_factors()]


def _schema_there(target: Target, wanted: WorkloadSpec) -> WorkloadSpec | None:
    """The complete schema in the database; None if it is missing or incomplete."""
    try:
        return present_schema(target, wanted.identity)
    except SchemaProblem:
        return None
