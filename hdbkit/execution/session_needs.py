"""What the sessions of a load need: connections and prepared statements of the server, open files and ports here."""

from __future__ import annotations

import resource
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hdbkit.config import Load, Target
from hdbkit.contracts import NO_ROUTES, Database, UserPlan
from hdbkit.errors import ErrorClass, TransactionError
from hdbkit.execution.diagnosis import Diagnoses, Diagnosis, Examined, State
from hdbkit.execution.virtual_user import session_options
from hdbkit.plan import RunPlan
from hdbkit.readings import POOL_LIMITS, PoolMode, answered
from hdbkit.workloads import workload

CONNECTIONS_BESIDE_CLIENTS = 2
"""Connections that a run opens beside those of its virtual users."""
_FEW_CONNECTIONS = 20
"""Fewer free connections of a target are worth a warning."""
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The first and the last port that the system gives to connections."""
_MANY_STATEMENTS = 256
"""A session of a load prepares fewer."""
_FILES_BESIDE = 64
"""Open files of a process beside the spools that it reads, or the connections that it serves."""


def free_connections(at: Examined) -> Diagnoses:
    """How many connections are free: a problem of a run that needs more."""
    free = answered(lambda: at.engine.free_connections(at.session), None)
    if at.plan is not None:
        yield from _connections_of_run(at, at.plan, free)
    elif free is None:
        yield Diagnosis("free connections", State.OK, "the server has no limit")
    elif at.pooling.mode is not PoolMode.DIRECT:
        text = f"the server allows {free} more to the pooler; how many the pooler allows is in its own configuration"
        yield Diagnosis("free connections", State.OK, text)
    else:
        state = State.OK if free >= _FEW_CONNECTIONS else State.WARNING
        users = max(free - 1, 0)
        yield Diagnosis("free connections", state, f"{free} more, enough for {users} virtual users")


def _connections_of_run(at: Examined, plan: RunPlan, free: int | None) -> Diagnoses:
    if at.pooling.mode is PoolMode.TRANSACTION:  # users share connections of the server
        return
    load, needed = plan.load, plan.load.sessions + CONNECTIONS_BESIDE_CLIENTS - 1  # this session is one of the two
    if free is not None and free < needed:
        detail = f"{_users_of(load)} need {needed} more connections, but {at.target.described} allows {free}"
        advice = f"use fewer {_sessions_of(load)} or raise the server's connection limit"
        yield Diagnosis("free connections", State.PROBLEM, detail, advice)
    elif at.pooling.mode is PoolMode.SESSION and (served := at.engine.served(at.target, needed)) < needed:
        detail = (
            f"{_users_of(load)} and the run's own {CONNECTIONS_BESIDE_CLIENTS} sessions need {needed + 1} "
            f"connections of the pool with session pooling, but the pooler of {at.target.described} gave {served + 1}"
        )
        advice = f"use fewer {_sessions_of(load)}, or raise the pooler's limit: {POOL_LIMITS}"
        yield Diagnosis("free connections", State.PROBLEM, detail, advice)


def open_files(engine: Database, target: Target, load: Load) -> Diagnoses:
    """Raise the limit of open files of this process, and so of the run's, as far as the run needs it."""
    if load.cluster:
        return
    slices = load.clients
    sessions = 1 + load.reads_replicas + len(target.nodes) * bool(load.routing)
    clients, each = len(slices), engine.files_per_session * sessions
    needed = max(clients, len(slices[0]) * each) + _FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY in (soft, hard) or needed <= hard:
        if soft != resource.RLIM_INFINITY and soft < needed:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
        return
    yield Diagnosis(
        "open files",
        State.PROBLEM,
        f"{_users_of(load)} in {clients} client processes need {needed} open files in one process, but {hard} are "
        f"allowed; raise the limit (ulimit -n {needed}), or change "
        f"{'users_per_process' if load.sessions_per_user == 1 else 'sessions_per_user'}",
    )


def ports(target: Target, load: Load) -> Diagnoses:
    """That this host has a port for each connection to an address."""
    if not target.host or target.host.startswith("/") or load.cluster:
        return
    try:
        first, last = map(int, _PORTS.read_text().split())
    except (OSError, ValueError):
        return
    if (available := last - first + 1) < load.sessions + CONNECTIONS_BESIDE_CLIENTS:
        yield Diagnosis(
            "ports",
            State.PROBLEM,
            f"{_users_of(load)} need {load.sessions} ports of this host to reach {target.described}, but {available} "
            f"are available; use fewer {_sessions_of(load)} or widen the range (sysctl net.ipv4.ip_local_port_range)",
        )


def prepared_statements(at: Examined, plan: RunPlan) -> Diagnoses:
    """Whether the server allows the statements that the sessions of a load prepare.

    All prepare the same ones; a session that executes nothing counts them.
    """
    engine, load, work = at.engine, plan.load, workload(plan.workload)
    limit = answered(lambda: engine.statement_limit(at.session), None)
    if limit is None or limit.free >= load.sessions * _MANY_STATEMENTS:
        return
    with closing(engine.connect(at.target, work.scope(engine.dialects), session_options(plan))) as of_user:
        try:
            work.user(of_user, load, UserPlan(0, load.seed), NO_ROUTES).next_batch()
            prepared = answered(lambda: engine.statement_limit(of_user), None)
        except TransactionError as error:
            if error.error_class is not ErrorClass.RESOURCES:
                raise
            prepared = replace(limit, of_session=limit.free + 1)
    each = prepared.of_session if prepared else 0
    if each * load.sessions > limit.free:
        yield Diagnosis(
            "statements",
            State.PROBLEM,
            f"{limit.setting} of {at.target.described} is {limit.value}, of which {limit.free} are free, but "
            f"{_users_of(load)} prepare at least {each} statements in each session; use fewer {_sessions_of(load)} "
            f"or raise {limit.setting}",
        )


def _users_of(load: Load) -> str:
    """The virtual users of a load, with their sessions, as text."""
    if load.sessions_per_user == 1:
        return f"{load.virtual_users} virtual users"
    return f"{load.virtual_users} virtual users with {load.sessions_per_user} sessions each"


def _sessions_of(load: Load) -> str:
    """The word for what has a connection of its own."""
    return "virtual users" if load.sessions_per_user == 1 else "sessions"
