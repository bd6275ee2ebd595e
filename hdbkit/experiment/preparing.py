"""Brings the server to the same state before each run of an experiment, and records the duration of each step.

The load of the hosts is checked twice a second in a cooldown. If they stay busy, for example because of other users'
work, the run begins after the given maximum, and its plan records how busy the host was.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from hdbkit.config import Cache, Cooldown, Reset, Target, WorkloadSpec
from hdbkit.config.fault import Thing
from hdbkit.contracts import BUILT, ApplyBy, Change, ServerControl
from hdbkit.control_groups import limits
from hdbkit.databases import database
from hdbkit.errors import BuildFailed, Problem, SchemaProblem, ServerFailed
from hdbkit.execution import host
from hdbkit.execution.session_needs import CONNECTIONS_BESIDE_CLIENTS
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.loading import build, drop
from hdbkit.readings import IDLE_BUSY_PCT, HostLoad, PoolMode
from hdbkit.servers import power
from hdbkit.servers.values import number_of_value
from hdbkit.workloads import workload
from hdbkit.workloads.present import present_schema

_WAYS = "name a command that does it in 'control.commands.restore' of the target, or use 'none' or 'auto'"
_ADVICE = "the next run that needs this schema builds it anew"


# The data of a run: the original data, or a schema that is built for factors that need another one.
#
# The original data is copied before the first change, and nothing replaces that copy, so that it can be restored
# wherever an experiment is killed. A schema that factors need is built once for all its runs of a block and kept as
# a second copy. Each run starts from the copy of its schema.


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


def counted(target: Target, wanted: WorkloadSpec) -> float | None:
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


def unprepared(plan: ExperimentPlan, target: Target, control: ServerControl) -> list[Problem]:
    """The requested preparations that the server of one of its targets does not support."""
    found = [*unrestorable(plan, target, control), *_other_servers(plan, target), *_forgotten(plan, control)]
    if reason := power.obstacle(plan.preparation.cache, target, control):
        found.append(Problem("cache", reason))
    return found


def _other_servers(plan: ExperimentPlan, target: Target) -> list[Problem]:
    """Clients would go on at another address, whose server has neither the settings nor an empty cache."""
    elsewhere = target.fallbacks or (target.nodes and any(plan.cell(run).load.routing for run in plan.runs))
    if not elsewhere or not (plan.changes_server or plan.preparation.cache is not Cache.WARM):
        return []
    reason = "has several addresses, but a sweep changes or restarts the server of one; name that one alone"
    return [Problem("target", f"{target.described} {reason}")]


def _forgotten(plan: ExperimentPlan, control: ServerControl) -> list[Problem]:
    """The faults after which the rest of a run would be measured without the configuration's settings."""
    if not plan.changes_server:
        return []
    faults = {fault for run in plan.runs for fault in plan.cell(run).load.faults if fault.thing is Thing.SERVER}
    ends = {fault for fault in faults if fault.action in ("kill", "stop")}
    lost = {fault for fault in faults if fault.action == "failover"}
    if ends and not control.keeps_settings:
        lost |= ends
    otherwise = ", or name the server's settings file in 'control' (config_file or drop_in)"
    return [
        Problem(
            "load.fault",
            f"after '{fault}' the server runs without the settings of the sweep; leave it out"
            f"{otherwise if fault in ends else ''}",
        )
        for fault in sorted(lost, key=str)
    ]


def too_few_connections(plan: ExperimentPlan, target: Target, control: ServerControl) -> list[str]:
    """The configurations with which the server accepts fewer connections than their runs need, one sentence each."""
    limits, found = database(target).connection_settings, {}
    known = control.settings() if limits.keys() & plan.tried.keys() else {}
    cases = {
        (run.virtual_users, plan.cell(run).load.sessions, one)
        for run in plan.runs
        for one in plan.configurations_of(run)
    }
    for virtual_users, sessions, configuration in sorted(cases):
        settings = plan.settings_in(configuration)
        values = {name: settings.get(name, known[name].value) for name in limits if name in known}
        changed = {name: value for name, value in values.items() if name in plan.tried}
        allowed = sum(limits[name] * (number_of_value(known[name], value) or 0) for name, value in values.items())
        needed = sessions + CONNECTIONS_BESIDE_CLIENTS
        if changed and allowed < needed:
            listed = ", ".join(f"{name} = {value}" for name, value in changed.items())
            found[listed] = (
                f"with {listed} the server accepts {max(0, allowed):g} connections, but a run of {virtual_users} "
                f"virtual users needs {needed}"
            )
    return [] if found and shares_connections(target) else list(found.values())


def shares_connections(target: Target) -> bool:
    """Whether a pooler assigns the server's connections to transactions, so that users share them."""
    engine = database(target)
    with closing(engine.connect(target)) as session:
        return engine.pooling(session, target).mode is PoolMode.TRANSACTION


def prepare_run(plan: ExperimentPlan, planned: PlannedRun, control: ServerControl) -> dict[str, Any]:
    """Apply settings, provide data, run maintenance, restart, cool down; return fields for ``ExperimentPosition``.

    Settings come first, so that a rejected one costs no copy of the data, and the state of the caches does not depend
    on whether the settings needed a restart. Maintenance reads the data, so the cache is emptied after it.
    """
    wanted = plan.preparation
    settings = dict(plan.cell(planned).settings) if plan.changes_server else {}
    change = control.apply(settings) if settings else Change(ApplyBy.SESSION, 0.0)
    restored_s, rebuilt_s = bring_data(plan, planned, control)
    maintained_s = control.maintain()
    restarted_s = power.empty(wanted.cache, plan.cell(planned).target, control)
    rest = cool_down(wanted.cooldown, wanted.cooldown_s or 0.0, control)
    return {
        "applied_by": change.applied_by.value,
        "applied_s": change.duration_s,
        "rounded": {name: change.read_back[name] for name in sorted(change.rounded)},
        "restored_s": restored_s,
        "rebuilt_s": rebuilt_s,
        "maintained_s": maintained_s,
        "restarted_s": restarted_s,
        "rested_s": rest.rested_s,
        "busy_pct": rest.busy_pct,
    }


IDLE_DIRTY = 0.01
"""A host is not idle while dirty pages that wait for its disks take more than this share of its memory."""
_LOOK_S = 0.5


@dataclass(frozen=True)
class Rest:
    """A completed cooldown: its duration, and how busy the busier host was at its end (None: not measured)."""

    rested_s: float = 0.0
    busy_pct: float | None = None


def cool_down(cooldown: Cooldown, max_s: float, control: ServerControl) -> Rest:
    """Wait before a run, at most ``max_s``; 0 means no cooldown, and the load is not measured."""
    began = time.monotonic()
    if cooldown is Cooldown.FIXED or not max_s:
        time.sleep(max_s)
        return Rest(max_s)
    before = _loads(control)
    while True:
        time.sleep(min(_LOOK_S, max_s))
        now = _loads(control)
        busy_pct = max(busy_share_pct(*pair) for pair in zip(before, now, strict=False))
        rested_s = time.monotonic() - began
        if (busy_pct <= IDLE_BUSY_PCT and not any(map(writes, now))) or rested_s >= max_s:
            return Rest(rested_s, busy_pct)
        before = now


def _loads(control: ServerControl) -> Sequence[HostLoad]:
    """The load of this host, and of the server's host if that is another one."""
    other = control.host_load()
    return [host.load(), *([other] if other else [])]


def busy_share_pct(before: HostLoad, now: HostLoad) -> float:
    """The busy share of a host's CPU time between two readings, in percent."""
    spent_s = now.total_s - before.total_s
    return 100 * (now.busy_s - before.busy_s) / spent_s if spent_s > 0 else 0.0


def writes(load: HostLoad) -> bool:
    """Whether many dirty pages wait to be written to the host's disks."""
    return load.dirty_bytes > IDLE_DIRTY * load.memory_bytes
