"""The data of a run: the original data, or a schema that is built for factors that need another one.

The original data is copied before the first change, and nothing replaces that copy, so that it can be restored
wherever an experiment is killed. A schema that factors need is built once for all its runs of a block and kept as
a second copy. Each run starts from the copy of its schema.
"""

from __future__ import annotations

import time
from contextlib import closing, suppress

from hdbkit.config import Reset, Target, WorkloadSpec
from hdbkit.contracts import BUILT, ServerControl
from hdbkit.control_groups import limits
from hdbkit.databases import database
from hdbkit.errors import BuildFailed, Problem, SchemaProblem, ServerFailed
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.loading import build, drop
from hdbkit.workloads import workload
from hdbkit.workloads.present import present_schema

_WAYS = "name a command that does it in 'control.commands.restore' of the target, or use 'none' or 'auto'"
_ADVICE = "the next run that needs this schema builds it anew"


def restores_data(plan: ExperimentPlan, control: ServerControl) -> bool:
    """Whether the data is restored before each run: as requested, or by default if the server can."""
    reset = plan.preparation.reset
    return reset is Reset.RESTORE or (reset is Reset.AUTO and control.can_restore_data)


def keeps_data(plan: ExperimentPlan, control: ServerControl) -> bool:
    """Whether the original data is copied before the first change."""
    return restores_data(plan, control) or bool(plan.schema_factors)


def unrestorable(plan: ExperimentPlan, target: Target, control: ServerControl) -> list[Problem]:
    """The requests for the data that this server cannot fulfil."""
    found = []
    if plan.preparation.reset is Reset.RESTORE and not control.can_restore_data:
        found.append(Problem("reset", f"the data of {control.identity} cannot be restored; {_WAYS}"))
    copies = control.can_restore_data and not (target.control.agent or target.control.commands.restore)
    if plan.schema_factors and not copies:
        need = f"{' and '.join(plan.schema_factors)} need the schema to be rebuilt"
        advice = "use a private server on this host, or a file whose target sets 'may_change_settings: true'"
        found.append(Problem("factors", f"{need}, but the data of {control.identity} cannot be kept; {advice}"))
    return found


def bring_data(plan: ExperimentPlan, planned: PlannedRun, control: ServerControl) -> tuple[float, float]:
    """Provide the data of a run; return the seconds spent on restoring a copy and on building a schema.

    Raises:
        HdbkitError: a copy could not be restored, or a schema could not be built.
    """
    cell, restores = plan.cell(planned), restores_data(plan, control)
    if not plan.schema_factors:
        return (control.restore_data() if restores else 0.0), 0.0
    target, wanted = cell.target, cell.workload
    there = _schema_there(target, wanted)
    if wanted == plan.found:
        return (control.restore_data() if restores or there != wanted else 0.0), 0.0
    restored_s = 0.0
    if there == wanted and restores:
        with suppress(ServerFailed):  # there is no copy yet
            restored_s = control.restore_data(BUILT)
        there = _schema_there(target, wanted)
    if there == wanted:
        return restored_s, 0.0
    return _build(target, wanted, control)


def committed_count(target: Target, wanted: WorkloadSpec) -> float | None:
    """The schema's own count of what was committed; None for a workload that has none."""
    engine, work = database(target), workload(wanted)
    if work.metric.counter is None:
        return None
    with closing(engine.connect(target, work.scope(engine.dialects))) as session:
        return float(session.ask(work.metric.counter)[0][0])


def _build(target: Target, wanted: WorkloadSpec, control: ServerControl) -> tuple[float, float]:
    began = time.monotonic()
    with suppress(SchemaProblem):  # there is no schema
        drop(target, wanted)
    try:
        built = build(target, wanted, loaders=limits().cores)
    except BuildFailed as error:  # its own advice continues a build outside a sweep
        raise BuildFailed(error.step, error.reason, _ADVICE) from error.__cause__
    if not built.passed:
        failed = ", ".join(check.name for check in built.checks if check.passed is False)
        raise BuildFailed("the checks", f"{failed} did not pass", _ADVICE)
    control.keep_data(BUILT)
    return control.restore_data(BUILT), time.monotonic() - began


def _schema_there(target: Target, wanted: WorkloadSpec) -> WorkloadSpec | None:
    """The complete schema in the database; None if it is missing or incomplete."""
    try:
        return present_schema(target, wanted.identity)
    except SchemaProblem:
        return None
