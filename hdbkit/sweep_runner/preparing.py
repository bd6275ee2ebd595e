"""Brings the server to the same state before each run of a sweep, and records the duration of each step."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from hdbkit.config import Cache, Target
from hdbkit.config.fault import Thing
from hdbkit.contracts import ApplyBy, Change, ServerControl
from hdbkit.databases import database
from hdbkit.errors import Problem
from hdbkit.execution.precheck import CONNECTIONS_BESIDE_CLIENTS
from hdbkit.readings import PoolMode
from hdbkit.servers import caches
from hdbkit.servers.values import number_in
from hdbkit.sweep_plan import PlannedRun, SweepPlan
from hdbkit.sweep_runner.cooling import cool_down
from hdbkit.sweep_runner.data import bring_data, unrestorable


def unprepared(plan: SweepPlan, control: ServerControl) -> list[Problem]:
    """The requested preparations that this server does not support."""
    found = [*unrestorable(plan, control), *_other_servers(plan), *_forgotten(plan, control)]
    if reason := caches.obstacle(plan.spec.cache, plan.target, control):
        found.append(Problem("cache", reason))
    return found


def _other_servers(plan: SweepPlan) -> list[Problem]:
    """Clients would go on at another address, whose server has neither the settings nor an empty cache."""
    elsewhere = plan.target.fallbacks or (plan.target.nodes and any(plan.load_of(run).routing for run in plan.runs))
    if not elsewhere or not (plan.changes_server or plan.spec.cache is not Cache.WARM):
        return []
    reason = "has several addresses, but a sweep changes or restarts the server of one; name that one alone"
    return [Problem("target", f"{plan.target.described} {reason}")]


def _forgotten(plan: SweepPlan, control: ServerControl) -> list[Problem]:
    """The faults after which the rest of a run would be measured without the configuration's settings."""
    if not plan.changes_server:
        return []
    faults = {fault for run in plan.runs for fault in plan.load_of(run).faults if fault.thing is Thing.SERVER}
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


def too_few_connections(plan: SweepPlan, control: ServerControl) -> list[str]:
    """The configurations with which the server accepts fewer connections than their runs need, one sentence each."""
    limits, found = database(plan.target).connection_settings, {}
    known = control.settings() if limits.keys() & plan.spec.settings.keys() else {}
    cases = {
        (run.virtual_users, run.virtual_users * plan.load_of(run).sessions_per_user, one)
        for run in plan.runs
        for one in plan.configurations_of(run)
    }
    for virtual_users, sessions, configuration in sorted(cases):
        settings = plan.settings_in(configuration)
        values = {name: settings.get(name, known[name].value) for name in limits if name in known}
        changed = {name: value for name, value in values.items() if name in plan.spec.settings}
        allowed = sum(limits[name] * (number_in(known[name], value) or 0) for name, value in values.items())
        needed = sessions + CONNECTIONS_BESIDE_CLIENTS
        if changed and allowed < needed:
            listed = ", ".join(f"{name} = {value}" for name, value in changed.items())
            found[listed] = (
                f"with {listed} the server accepts {max(0, allowed):g} connections, but a run of {virtual_users} "
                f"virtual users needs {needed}"
            )
    return [] if found and _shares_connections(plan.target) else list(found.values())


def _shares_connections(target: Target) -> bool:
    """Whether a pooler assigns the server's connections to transactions, so that users share them."""
    engine = database(target)
    with closing(engine.connect(target)) as session:
        return engine.pooling(session, target).mode is PoolMode.TRANSACTION


def prepare_run(plan: SweepPlan, planned: PlannedRun, control: ServerControl) -> dict[str, Any]:
    """Apply settings, provide data, run maintenance, restart, cool down; return the fields for ``SweepPosition``.

    Settings come first, so that a rejected one costs no copy of the data, and the state of the caches does not depend
    on whether the settings needed a restart. Maintenance reads the data, so the cache is emptied after it.
    """
    spec = plan.spec
    settings = plan.settings_of(planned) if plan.changes_server else {}
    change = control.apply(settings) if settings else Change(ApplyBy.SESSION, 0.0)
    restored_s, rebuilt_s = bring_data(plan, planned, control)
    maintained_s = control.maintain()
    restarted_s = caches.empty(spec.cache, control)
    rest = cool_down(spec.cooldown, spec.max_cooldown_s, control)
    return {
        "applied_by": change.applied_by.value,
        "applied_s": change.duration_s,
        "restored_s": restored_s,
        "rebuilt_s": rebuilt_s,
        "maintained_s": maintained_s,
        "restarted_s": restarted_s,
        "rested_s": rest.rested_s,
        "busy_pct": rest.busy_pct,
    }
