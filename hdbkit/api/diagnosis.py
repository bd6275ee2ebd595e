"""What must be right before a target is measured: account, server, schema, hosts. Nothing is changed."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial

import pandas as pd
import psutil

from hdbkit.api.discovery import drivers, host_facts, password_place
from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.quantities import size_text
from hdbkit.contracts import Capability, Database, Session
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, HdbkitError, InputError, MissingDriver, SchemaProblem, TransactionError
from hdbkit.readings import PoolMode, ServerRole
from hdbkit.servers import control
from hdbkit.workloads import workload
from hdbkit.workloads.commands import build_command
from hdbkit.workspace import DEFAULT, Workspace

ROUND_TRIPS = 20
FEW_DAYS = 30
"""A certificate that ends within this many days is worth a warning."""
FEW_CONNECTIONS = 20
CLOCK_S = 1.0
"""Clocks that differ by more make the times of two hosts' logs hard to compare."""
BUSY_SHARE = 0.2
"""The load of a host per core from which on it is not idle."""


class State(StrEnum):
    """How a finding affects results."""

    OK = "ok"
    WARNING = "warning"  # results may differ from what is expected
    PROBLEM = "problem"  # runs fail


@dataclass(frozen=True)
class Finding:
    """One finding: ``advice`` is a command or a sentence; empty if there is nothing to do."""

    subject: str
    state: State
    detail: str
    advice: str = ""


Findings = Iterator[Finding]


@dataclass(frozen=True)
class _Connected:
    """What the probes of a connection look at."""

    engine: Database
    session: Session
    target: Target
    took_ms: float


def doctor(target: Target | str | None = None, *, workspace: Workspace | None = None) -> pd.DataFrame:
    """Examine a target; without one, list the drivers and servers that are usable on this host.

    Returns:
        With a target one row per finding: subject, state (ok, warning, problem), detail, advice. It connects and
        reads, and changes nothing; what this account may not read is a warning. Without a target one row per driver
        and server: what, name, usable, detail.

    Example:
        >>> hdbkit.doctor("lab").query("state != 'ok'")  # doctest: +SKIP
    """
    if target is None:
        return drivers()
    space = workspace or DEFAULT
    found = list(_reached(space.target(target), space))
    return pd.DataFrame([vars(one) for one in found], columns=["subject", "state", "detail", "advice"])


def _reached(target: Target, workspace: Workspace) -> Findings:
    """The driver and the connection, then all that a connection can tell."""
    engine = database(target.kind)
    try:
        yield Finding("driver", State.OK, engine.driver_version())
    except MissingDriver as error:
        yield Finding("driver", State.PROBLEM, str(error))
        return
    yield Finding("password", State.OK, password_place(target, workspace=workspace) or "none was found")
    begun = time.monotonic()
    try:
        session = engine.connect(target)
    except (CannotConnect, InputError) as error:
        yield Finding("connection", State.PROBLEM, str(error))
        return
    took_ms = 1000 * (time.monotonic() - begun)
    with closing(session):
        at = _Connected(engine, session, target, took_ms)
        for subject, probe in _PROBES.items():
            yield from _asked(subject, partial(probe, at))
    yield from _asked("schema", lambda: _schema(engine, target))
    yield from _asked("server's host", lambda: _hosts(target))


def _asked(subject: str, probe: Callable[[], Findings]) -> Findings:
    """The findings of a probe; what cannot be read is a finding too."""
    try:
        yield from probe()
    except (TransactionError, HdbkitError) as error:
        yield Finding(subject, State.WARNING, f"unknown: {error}")


def _connection(at: _Connected) -> Findings:
    times = []
    for _ in range(ROUND_TRIPS):
        begun = time.perf_counter()
        at.engine.version(at.session)
        times.append(1000 * (time.perf_counter() - begun))
    version, query_ms = at.engine.version(at.session), statistics.median(times)
    text = f"{version}; connected in {at.took_ms:.0f} ms, a query takes {query_ms:.2f} ms"
    yield Finding("connection", State.OK, f"{text} ({at.target.url})")


def _encryption(at: _Connected) -> Findings:
    found = at.engine.encryption(at.session, at.target)
    if not found.protocol:
        yield Finding("encryption", State.OK, "the connection is not encrypted")
        return
    if found.expires is None:
        yield Finding("encryption", State.OK, f"{found.protocol}; the end of the server's certificate is unknown")
        return
    days = (found.expires - datetime.now(UTC)).days
    text = f"{found.protocol}; the server's certificate ends in {days} days ({found.expires:%Y-%m-%d})"
    yield Finding("encryption", State.OK if days > FEW_DAYS else State.WARNING, text)


def _pooler(at: _Connected) -> Findings:
    pooling = at.engine.pooling(at.session, at.target)
    direct = pooling.mode is PoolMode.DIRECT
    advice = "" if direct else "name the server's own address to measure the server without the pooler"
    yield Finding("pooler", State.OK if direct else State.WARNING, str(pooling), advice)


def _role(at: _Connected) -> Findings:
    role = at.engine.role(at.session)
    if role is ServerRole.PRIMARY:
        yield Finding("role", State.OK, "the server accepts changes")
    else:
        what = "a standby" if role is ServerRole.STANDBY else "read-only"
        yield Finding(
            "role", State.WARNING, f"the server is {what}", "hdbkit run ... --read-only, or name the primary"
        )


def _grants(at: _Connected) -> Findings:
    missing = at.session.ask("advised_grants")
    if not missing:
        yield Finding("privileges", State.OK, "the account has all that runs and builds need")
    for command, without in missing:
        yield Finding("privileges", State.WARNING, f"without it: {without}", f"{command};")


def _settings_control(at: _Connected) -> Findings:
    if Capability.SETTINGS not in at.engine.capabilities:
        return
    if not at.target.may_change_settings:
        text = "hdbkit may not change settings of this server, so a sweep of settings is refused"
        yield Finding("sweeps", State.OK, text, "may_change_settings: true in the target allows it")
        return
    restarts = "restart the server" if control(at.target).can_restart else "not restart the server"
    yield Finding("sweeps", State.OK, f"hdbkit may change settings of this server, and may {restarts}")


def _timeouts(at: _Connected) -> Findings:
    limit = at.engine.statement_timeout(at.session)
    if limit:
        yield Finding("timeouts", State.WARNING, f"statements end after {limit[0]:g} s, which {limit[1]} sets")
    else:
        yield Finding("timeouts", State.OK, "the account's statements have no timeout")


def _connections(at: _Connected) -> Findings:
    free = at.engine.free_connections(at.session)
    if free is None:
        yield Finding("free connections", State.OK, "the server has no limit")
        return
    state = State.OK if free >= FEW_CONNECTIONS else State.WARNING
    users = max(free - 1, 0)
    yield Finding("free connections", state, f"{free} more, enough for {users} virtual users")


def _memory(at: _Connected) -> Findings:
    footprint = at.engine.footprint(at.session)
    if footprint is None:
        return
    data, cache = size_text(footprint.data_bytes), size_text(footprint.cache_bytes)
    if footprint.data_bytes > footprint.cache_bytes:
        text = f"the data ({data}) are larger than {footprint.cache} ({cache}): runs read from files"
        yield Finding("memory", State.WARNING, text)
    else:
        yield Finding("memory", State.OK, f"the data ({data}) fit into {footprint.cache} ({cache})")
    here = at.engine.server_process(at.session) is not None
    if here and footprint.cache_bytes > psutil.virtual_memory().total:
        total = size_text(psutil.virtual_memory().total)
        yield Finding(
            "memory", State.PROBLEM, f"{footprint.cache} ({cache}) is larger than this host's memory ({total})"
        )


def _settings(at: _Connected) -> Findings:
    found = at.session.ask("disturbing_settings")
    if not found:
        yield Finding("settings", State.OK, "none is known to disturb a run")
    for name, value, effect in found:
        yield Finding("settings", State.WARNING, f"{name} = {value}: {effect}")


def _clock(at: _Connected) -> Findings:
    begun = time.time()
    rows = at.session.ask("clock")
    middle = (begun + time.time()) / 2
    if not rows:
        return
    apart_s = float(rows[0][0]) - middle
    state = State.OK if abs(apart_s) <= CLOCK_S else State.WARNING
    text = f"the server's is {abs(apart_s):.2f} s {'ahead of' if apart_s > 0 else 'behind'} this host's"
    yield Finding("clock", state, text)


_PROBES: dict[str, Callable[[_Connected], Findings]] = {
    "connection": _connection,
    "encryption": _encryption,
    "pooler": _pooler,
    "role": _role,
    "privileges": _grants,
    "sweeps": _settings_control,
    "timeouts": _timeouts,
    "free connections": _connections,
    "memory": _memory,
    "settings": _settings,
    "clock": _clock,
}


def _schema(engine: Database, target: Target) -> Findings:
    """The schema of the default workload, its statistics, and which it is."""
    asked = workload(WorkloadSpec())
    build = build_command(target, asked.spec)
    with closing(engine.schema(target, asked)) as schema:
        try:
            there = asked.found(schema)
        except SchemaProblem as error:
            yield Finding("schema", State.WARNING, str(error))
            return
        if there is None:
            yield Finding("schema", State.WARNING, f"there is no schema of {asked.title}", build)
            return
        found = workload(there)
        yield Finding("schema", State.OK, f"{found.title}, {found.scale}")
        if tables := schema.unanalyzed():
            text = f"missing or stale: {', '.join(tables)}"
            yield Finding("statistics", State.WARNING, text, f"hdbkit run {target.given} --analyze")
        else:
            yield Finding("statistics", State.OK, "those of all tables are there")


def _hosts(target: Target) -> Findings:
    """This host, on which the clients run, and the server's, if its agent reports it."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    state = State.OK if load <= BUSY_SHARE * cores else State.WARNING
    text = f"{cores} cores, {size_text(psutil.virtual_memory().total)} of memory, load {load:.2f}"
    yield Finding("this host", state, text, "" if state is State.OK else "wait until other processes have ended")
    swapped = psutil.swap_memory().used
    if swapped > psutil.virtual_memory().total // 100:
        yield Finding("this host", State.WARNING, f"{size_text(swapped)} of memory are swapped out")
    if target.control.agent:
        facts = host_facts(target)
        yield Finding("server's host", State.OK, f"by its agent: {facts['cpus']} cores, {facts['ram']} of memory")
