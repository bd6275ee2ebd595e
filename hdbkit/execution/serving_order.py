"""Whether the sessions of a client process wait for each other, by a user of the run that executes nothing."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Final, cast

from hdbkit.config import Target
from hdbkit.contracts import Capability, Database, OverlappingSession, Prepared, Session, UserPlan
from hdbkit.execution.routes import open_routes, policies_of
from hdbkit.execution.virtual_user import session_options
from hdbkit.plan import RunPlan
from hdbkit.text import plural, with_article
from hdbkit.workloads import workload

_DRAWN: Final = 500
"""So many operations are drawn at least; a rarer one may be missed."""


def served_in_order(engine: Database, plan: RunPlan) -> str:
    """Why the sessions of a client process wait for each other; empty if all operations overlap, or it has only one.

    Raises ``InputError`` or ``TransactionError`` if the user cannot connect or prepare its operations.
    """
    load, work = plan.load, workload(plan.workload)
    if len(load.clients[0]) == 1:
        return ""
    whose = "sessions" if load.sessions_per_user > 1 else "virtual users"
    in_order = f"the {whose} of a client process are served in order, because "
    if Capability.OVERLAPS not in engine.capabilities:
        return f"{in_order}the driver of {engine.title} waits for each answer"
    if work.listed(load):
        return ""
    in_one_step, drawn = _in_one_step(engine, plan)
    if in_one_step == drawn:
        return f"{in_order}each {work.noun} of this load is performed in one step"
    if not in_one_step:
        return ""
    names = [name for code, name in enumerate(work.operations) if code in in_one_step]
    listed = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)
    one = f"{with_article(work.noun)} that is" if len(names) == 1 else f"{plural(work.noun)} that are"
    return f"during {listed}, {one} performed in one step, the other {whose} of a client process wait"


def _in_one_step(engine: Database, plan: RunPlan) -> tuple[set[int], set[int]]:
    """Which operations cannot be sent without waiting for the answer, and which were looked at."""
    load, work = plan.load, workload(plan.workload)
    options, scope, of_user = session_options(plan), work.scope(engine.dialects), UserPlan(0, load.seed)

    def elsewhere(target: Target) -> Session:
        return engine.connect(target, scope, replace(options, pooling=None))

    with ExitStack() as opened:
        session = engine.connect(plan.target, scope, options)
        opened.callback(session.close)
        routes = open_routes(plan.target, policies_of(load, work), of_user, session, elsewhere, opened)
        user = work.user(session, load, of_user, routes)
        batch: list[Prepared] = []
        while len(batch) < _DRAWN:
            batch += user.next_batch()
        sender = cast("OverlappingSession", session).sender
        return {one.operation for one in batch if sender(one.perform) is None}, {one.operation for one in batch}
