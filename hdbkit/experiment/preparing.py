"""Brings the server to the same state before each run of an experiment, and records the duration of each step.

The load of the hosts is checked twice a second in a cooldown. If they stay busy, for example because of other users'
work, the run begins after the given maximum, and its plan records how busy the host was.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from hdbkit.config import Cache, Cooldown, Target
from hdbkit.config.fault import Thing
from hdbkit.contracts import ApplyBy, Change, ServerControl
from hdbkit.databases import database
from hdbkit.errors import Problem
from hdbkit.execution import host
from hdbkit.execution.session_needs import CONNECTIONS_BESIDE_CLIENTS
from hdbkit.experiment.plan import ExperimentPlan, PlannedRun
from hdbkit.experiment.run_data import bring_data, unrestorable
from hdbkit.readings import IDLE_BUSY_PCT, HostLoad, PoolMode
from hdbkit.servers import power
from hdbkit.servers.values import number_of_value


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
