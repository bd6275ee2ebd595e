"""Brings the server to the same state before each run of a sweep, and records the duration of each step."""

from __future__ import annotations

from typing import Any

from hdbkit.config import Cache
from hdbkit.contracts import ApplyBy, Change, ServerControl
from hdbkit.errors import Problem
from hdbkit.sweep_plan import PlannedRun, SweepPlan
from hdbkit.sweep_runner.cooling import cool_down
from hdbkit.sweep_runner.data import bring_data, unrestorable


def unprepared(plan: SweepPlan, control: ServerControl) -> list[Problem]:
    """The requested preparations that this server does not support."""
    found = unrestorable(plan, control)
    if plan.spec.cache is Cache.RESTART and not control.can_restart:
        advice = "use 'warm', or a target with 'may_restart: true' and commands in 'control'"
        found.append(Problem("cache", f"hdbkit cannot restart {control.identity}; {advice}"))
    return found


def prepare_run(plan: SweepPlan, planned: PlannedRun, control: ServerControl) -> dict[str, Any]:
    """Apply settings, provide data, run maintenance, restart, cool down; return the fields for ``SweepPlace``.

    Settings come first, so that a rejected one costs no copy of the data, and the state of the caches does not depend
    on whether the settings needed a restart. Maintenance reads the data, so the cache is emptied after it.
    """
    spec = plan.spec
    settings = plan.settings_of(planned)
    change = control.apply(settings) if settings else Change(ApplyBy.SESSION, 0.0)
    restored_s, rebuilt_s = bring_data(plan, planned, control)
    maintained_s = control.maintain()
    restarted_s = control.restart() if spec.cache is Cache.RESTART else 0.0
    rest = cool_down(spec.cooldown, spec.cooldown_s, control)
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
