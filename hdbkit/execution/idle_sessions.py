"""Whether the sessions of a load are idle for longer than their server allows."""

from __future__ import annotations

from collections.abc import Iterator

from hdbkit.arrivals import rate_of
from hdbkit.config import Load
from hdbkit.config.load import Arrivals
from hdbkit.config.steps import active_s
from hdbkit.contracts import Database, Session, Workload
from hdbkit.execution.pacing import MAX_MEANS
from hdbkit.plan import RunPlan
from hdbkit.readings import IDLE_SESSIONS, Timeout
from hdbkit.workloads import workload


def idle_timeout(engine: Database, plan: RunPlan, session: Session) -> Timeout | None:
    """What ends an idle session of the load; None if nothing does, or each operation has a session of its own."""
    if plan.load.connect_per_operation:
        return None
    idle = [one for one in engine.timeouts(session) if one.ends == IDLE_SESSIONS]
    return min(idle, key=lambda one: one.seconds, default=None)


def too_idle(plan: RunPlan, limit: Timeout) -> str:
    """That users pause for longer than their sessions may be idle; empty if they do not."""
    pause_s = longest_pause_s(plan.load, workload(plan.workload), rate_of(plan.workload, plan.load))
    if pause_s < limit.seconds:
        return ""
    return (
        f"{limit}, and users of this load pause for up to {pause_s:,.3g} s: they will lose their connections; "
        "raise or disable that timeout, or use a load with shorter pauses"
    )


def longest_pause_s(load: Load, work: Workload, rate_per_s: float | None) -> float:
    """For how long a session of a load is idle, at most to be expected; of random times ten times their mean."""
    return max(_pauses_s(load, work, rate_per_s))


def _pauses_s(load: Load, work: Workload, rate_per_s: float | None) -> Iterator[float]:
    yield load.starting_s + load.login_s(load.sessions)
    if load.keying_and_thinking:
        for one in work.waits.values():
            yield one.keying_s * load.keying_scale + MAX_MEANS * one.thinking_s * load.thinking_scale
    if rate_per_s:
        means = 1.0 if load.arrivals is Arrivals.UNIFORM else MAX_MEANS
        yield means * load.sessions / rate_per_s
    if load.steps and not load.steps.are_rates:
        pieces = load.steps.pieces(load.starting_s + load.rampup_s)
        for user in range(load.virtual_users):
            until_s = 0.0
            for from_s, next_s in active_s(pieces, user):
                yield from_s - until_s
                until_s = next_s
