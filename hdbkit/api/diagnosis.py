"""What must be right before a target is measured: account, server, schema, hosts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from hdbkit.api.discovery import DiscoveryVerbs, drivers, host_facts, kernel_facts, kernel_parameters
from hdbkit.api.left_settings import advised, left_settings, resume_command, unknown_settings
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.hosts import is_local
from hdbkit.contracts import (
    SERVER,
    ApplyBy,
    Capability,
    Database,
    ServerControl,
    Session,
    SessionOptions,
    Setting,
    Workload,
)
from hdbkit.control_groups import GroupLimits, limits
from hdbkit.databases import database, product_named
from hdbkit.errors import (
    CannotConnect,
    HdbkitError,
    InputError,
    MissingDriver,
    NoAccess,
    SchemaProblem,
    TransactionError,
)
from hdbkit.execution.network import network_facts
from hdbkit.readings import PoolMode, ServerRole
from hdbkit.servers import control
from hdbkit.text import many, size_text
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workloads.built import analyze_command, build_command
from hdbkit.workloads.present import denied_statements, schema_in

FEW_DAYS = 30
"""A certificate that ends within this many days is worth a warning."""
_UNVERIFIED = "make its files readable; if it is yours or you trust it: hdbkit resume ID --target TARGET --accept"
_NO_QUOTA = (
    "give it cores of its own without a quota: --cpuset-cpus instead of --cpus (Docker), the static CPU manager "
    "(Kubernetes), AllowedCPUs= instead of CPUQuota= (systemd)"
)
_RENEW = "renew the certificate on the server; clients that verify it cannot connect once it has expired"
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


class DiagnosisVerbs(DiscoveryVerbs):
    """Verbs that examine a target."""

    def doctor(
        self, target: Target | str | None = None, *, workload: WorkloadSpec | Path | str | None = None, **fields: Any
    ) -> pd.DataFrame:
        """Examine a target; without one, list the drivers and servers that are usable on this host.

        Args:
            target: the database.
            workload: the workload whose schema is examined: a name, a folder, or a specification.
            fields: fields of the specification, such as ``schema_from="hammerdb"``.

        Returns:
            With a target one row per finding: subject, state (ok, warning, problem), detail, advice. It connects and
            reads; on another product than the engine's own it also creates and drops a table and a routine
            ``hdbkit_probe_...``. What this account may not read is a warning. Without a target one row per driver and
            server: what, name, usable, detail.

        Example:
            >>> hdbkit.doctor("lab").query("state != 'ok'")  # doctest: +SKIP
        """
        if target is None:
            return drivers()
        asked = workload_of(specification(workload, **fields))
        found = list(_reached(self.target(target), self, asked))
        return pd.DataFrame([vars(one) for one in found], columns=["subject", "state", "detail", "advice"])


def _reached(target: Target, workspace: DiscoveryVerbs, asked: Workload) -> Findings:
    """The driver and the connection, then all that a connection can tell."""
    engine = database(target)
    try:
        yield Finding("driver", State.OK, engine.driver_version())
    except MissingDriver as error:
        yield Finding("driver", State.PROBLEM, str(error))
        return
    yield Finding("password", State.OK, workspace.password_source(target) or "none was found")
    for left in left_settings(workspace.results, target):
        text = f"{left} ended and left its settings on this server"
        yield Finding("settings of a sweep", State.WARNING, text, resume_command(left))
    for text in unknown_settings(workspace.results, target):
        yield Finding("settings of a sweep", State.WARNING, text, _UNVERIFIED)
    begun = time.monotonic()
    try:
        with advised(workspace.results, target), product_named(target):
            session = engine.connect(target)
    except (CannotConnect, InputError) as error:
        yield Finding("connection", State.PROBLEM, str(error))
        return
    took_ms = 1000 * (time.monotonic() - begun)
    with closing(session):
        at = _Connected(engine, session, target, took_ms)
        for subject, probe in _PROBES.items():
            yield from _asked(subject, partial(probe, at))
    yield from _asked("schema", lambda: _schema(engine, target, asked))
    yield from _asked("server's host", lambda: _hosts(target))


def _asked(subject: str, probe: Callable[[], Findings]) -> Findings:
    """The findings of a probe; what cannot be read is a finding too."""
    try:
        yield from probe()
    except (TransactionError, HdbkitError) as error:
        yield Finding(subject, State.WARNING, f"unknown: {error}")


def _connection(at: _Connected) -> Findings:
    text = f"{at.engine.version(at.session)}; connected in {at.took_ms:.0f} ms ({at.target.url})"
    yield Finding("connection", State.OK, text)


def _network(at: _Connected) -> Findings:
    found = network_facts(at.engine, at.session, at.target)
    if found.round_trip_ms is None:
        return
    known = found.bandwidth_mb_per_s
    bandwidth = f"{known:,.0f} MB/s" if known else "unknown"
    yield Finding("network", State.OK, f"round trip {found.round_trip_ms:.2f} ms; bandwidth {bandwidth}")


def _product(at: _Connected) -> Findings:
    """What the server is by its own answers, if it was asked."""
    found = at.engine.probed
    if not found.asked:
        return
    if found.hindrance:
        yield Finding("product", State.PROBLEM, f"nothing can be built: {found.hindrance}")
    name = found.product or at.engine.title
    if not found.unanswered:
        yield Finding("product", State.OK, f"{name}; it answers all {len(found.asked)} questions")
        return
    count = f"{len(found.unanswered)} of {len(found.asked)} questions are unanswered"
    what = "" if found.is_foreign else f", as by no {at.engine.title}"
    advice = f"hdbkit engine check {at.target.url} tries which rules it keeps, in an empty database"
    yield Finding("product", State.WARNING, f"{name}; {count}{what}: {', '.join(found.unanswered)}", advice)


def _encryption(at: _Connected) -> Findings:
    found = at.engine.encryption(at.session, at.target)
    if found is None:
        yield Finding("encryption", State.OK, "whether the connection is encrypted is unknown")
        return
    if not found.protocol and is_local(at.target.host):
        yield Finding("encryption", State.OK, "the connection is not encrypted; it stays on this host")
        return
    if not found.protocol:
        what = "the connection is not encrypted: passwords and data cross the network as they are"
        yield Finding("encryption", State.WARNING, what, "set the TLS options of the target (docs/servers.md)")
        return
    if found.expires is None:
        yield Finding("encryption", State.OK, f"{found.protocol}; the end of the server's certificate is unknown")
        return
    left = found.expires - datetime.now(UTC)
    if left < timedelta():
        ago = f"{(-left).days} days ago, {found.expires:%Y-%m-%d}"
        yield Finding(
            "encryption", State.PROBLEM, f"{found.protocol}; the server's certificate has expired ({ago})", _RENEW
        )
        return
    text = f"{found.protocol}; the server's certificate ends in {left.days} days ({found.expires:%Y-%m-%d})"
    few = left.days <= FEW_DAYS
    yield Finding("encryption", State.WARNING if few else State.OK, text, _RENEW if few else "")


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
        setting = at.engine.read_only_by(at.session)
        advice = f"hdbkit run ... --read-only, or {f'allow changes: {setting}' if setting else 'name the primary'}"
        yield Finding("role", State.WARNING, f"the server is {role.described}", advice)


def _grants(at: _Connected) -> Findings:
    missing = at.engine.advised_grants(at.session)
    if not missing:
        yield Finding("privileges", State.OK, "no privilege is missing that builds, runs and their samples need")
    for one in missing:
        yield Finding("privileges", State.WARNING, f"without it: {one.without}", f"{one.command};")


def _settings_control(at: _Connected) -> Findings:
    if Capability.SETTINGS not in at.engine.capabilities:
        return
    if not at.target.may_change_settings:
        what = "a sweep sets only what each session can set for itself (compare_by: slices)"
        text = f"hdbkit may not change settings of this server; {what}"
        yield Finding("sweeps", State.OK, text, "may_change_settings: true in the target allows it")
        return
    server = control(at.target)
    example = _changeable(server, at.engine.protected_settings)
    problems = server.problems({example.name: [example.value]})
    for problem in problems:
        yield Finding("sweeps", State.WARNING, f"to change {example.name}, for example: {problem}")
    if not problems:
        restarts = "restart the server" if server.can_restart else "not restart the server"
        yield Finding("sweeps", State.OK, f"hdbkit may change settings of this server, and may {restarts}")


def _changeable(server: ServerControl, protected: Collection[str]) -> Setting:
    """A setting as an example of what a sweep changes: one that needs a reload rather than a restart."""
    known = (one for one in server.settings().values() if one.name not in protected)
    return min(known, key=lambda one: (one.apply_by is not ApplyBy.RELOAD, one.kind == "string", one.name))


def _timeouts(at: _Connected) -> Findings:
    """Those of a session as users have it, without the limits of hdbkit's own."""
    with closing(at.engine.connect(at.target, SERVER, SessionOptions(is_own=False))) as session:
        found = at.engine.timeouts(session)
    for limit in found:
        yield Finding("timeouts", State.WARNING, str(limit))
    if not found:
        yield Finding("timeouts", State.OK, "the account's statements and transactions have no timeout")


def _connections(at: _Connected) -> Findings:
    free = at.engine.free_connections(at.session)
    if free is None:
        yield Finding("free connections", State.OK, "the server has no limit")
        return
    if at.engine.pooling(at.session, at.target).mode is not PoolMode.DIRECT:
        text = f"the server allows {free} more to the pooler; how many the pooler allows is in its own configuration"
        yield Finding("free connections", State.OK, text)
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
    process = at.engine.server_process(at.session)
    if process is None:
        return
    usable = limits(process)
    if footprint.cache_bytes > usable.memory_bytes:
        text = f"{footprint.cache} ({cache}) is larger than the server's memory ({size_text(usable.memory_bytes)})"
        yield Finding("memory", State.PROBLEM, text)
    yield from _quota("server's host", usable, "the server")


def _kernel(at: _Connected) -> Findings:
    """Whether the kernel of the database's host allows what the database needs."""
    needs = at.engine.host_needs(at.session)
    if needs is None:
        return
    kernel = kernel_facts(at.target, at.engine.daemon, here=needs.here)
    shared = f"{size_text(needs.shared_bytes)} of shared memory and {needs.semaphores:,} semaphores"
    parameters = kernel_parameters(needs, kernel)
    if not kernel:
        text = f"the database needs {shared}; its host is not read: start hdbkit agent there"
        yield Finding("server's host", State.OK, text, "; ".join(one.line for one in parameters))
        return
    small = [one for one in parameters if one.too_small]
    for one in small:
        has, least = (" ".join(map(str, values)) for values in (one.found, one.needed))
        text = f"{one.name} is {has}, and the database needs {shared}: at least {least}"
        yield Finding("server's host", State.WARNING, text, one.line)
    if not small:
        yield Finding("server's host", State.OK, f"its kernel allows what the database needs: {shared}")


def _environment(at: _Connected) -> Findings:
    if names := at.engine.influences(at.target):
        text = f"the driver applies {', '.join(names)} of the environment, which no result states"
        yield Finding("environment", State.WARNING, text, "unset them, or write them as options of the target")


def _settings(at: _Connected) -> Findings:
    found = at.engine.disturbances(at.session)
    if not found:
        yield Finding("settings", State.OK, "none is known to disturb a run")
    for one in found:
        yield Finding("settings", State.WARNING, f"{one.setting} = {one.value}: {one.effect}")


def _snapshots(at: _Connected) -> Findings:
    if notice := at.engine.snapshot_notice(at.target):
        yield Finding("snapshots", State.WARNING, f"runs take snapshots of the server's own repository; {notice}")


def _clock(at: _Connected) -> Findings:
    begun = time.time()
    now_s = at.engine.clock_s(at.session)
    middle = (begun + time.time()) / 2
    if now_s is None:
        return
    apart_s = now_s - middle
    state = State.OK if abs(apart_s) <= CLOCK_S else State.WARNING
    text = f"the server's is {abs(apart_s):.2f} s {'ahead of' if apart_s > 0 else 'behind'} this host's"
    yield Finding("clock", state, text)


_PROBES: dict[str, Callable[[_Connected], Findings]] = {
    "connection": _connection,
    "network": _network,
    "product": _product,
    "encryption": _encryption,
    "pooler": _pooler,
    "role": _role,
    "privileges": _grants,
    "sweeps": _settings_control,
    "timeouts": _timeouts,
    "free connections": _connections,
    "memory": _memory,
    "server's host": _kernel,
    "settings": _settings,
    "environment": _environment,
    "clock": _clock,
    "snapshots": _snapshots,
}


def _schema(engine: Database, target: Target, asked: Workload) -> Findings:
    """The schema of a workload, and its statistics."""
    with closing(engine.schema(target, asked)) as schema:
        try:
            found = workload_of(schema_in(schema, target, asked))
        except SchemaProblem as problem:
            state = State.PROBLEM if isinstance(problem, NoAccess) else State.WARNING
            yield Finding("schema", state, problem.reason, problem.advice.removeprefix("run: "))
            return
        yield Finding("schema", State.OK, ", ".join(filter(None, (found.title, found.scale))))
        if lacking := schema.routine_problem(found.access(Load(), engine.dialects).routines):
            yield Finding("routines", State.PROBLEM, f"the schema {lacking}", build_command(target, found.spec))
        for command in schema.missing_grants(found.access(Load(), engine.dialects)):
            yield Finding("privileges", State.WARNING, "without it: runs of the whole mix are refused", f"{command};")
        for one in denied_statements(schema, found, Load()):
            text = f"{one.user}, statement {one.statement}: {one.reason}; runs of the whole mix are refused"
            for command in one.grants or ("",):
                yield Finding("privileges", State.WARNING, text, command and f"{command};")
        if tables := schema.unanalyzed():
            text = f"missing or stale: {', '.join(tables)}"
            yield Finding("statistics", State.WARNING, text, analyze_command(target, found.spec))
        else:
            yield Finding("statistics", State.OK, "those of all tables are there")


def _quota(subject: str, usable: GroupLimits, who: str) -> Findings:
    """That a CPU quota, as of a container or a service, will pause processes."""
    if usable.quota is not None:
        text = f"{who} are paused" if who == "clients" else f"{who} is paused"
        text += f" when more than {usable.quota:g} cores' time is used, by the CPU quota of a control group"
        yield Finding(subject, State.WARNING, f"{text}: pauses count as latency", _NO_QUOTA)


def _hosts(target: Target) -> Findings:
    """This host, on which the clients run, and the server's, if its agent reports it."""
    whole, usable = GroupLimits(os.cpu_count() or 1, psutil.virtual_memory().total, None), limits()
    load = os.getloadavg()[0]
    state = State.OK if load <= BUSY_SHARE * whole.cores else State.WARNING
    cores = many(usable.cores, "core") + (f" of {whole.cores}" if usable.cores < whole.cores else "")
    memory = size_text(usable.memory_bytes)
    if usable.memory_bytes < whole.memory_bytes:
        memory += f" of {size_text(whole.memory_bytes)}"
    text = f"{cores}, {memory} of memory, load {load:.2f}"
    yield from _quota("this host", usable, "clients")
    yield Finding("this host", state, text, "" if state is State.OK else "wait until other processes have ended")
    swapped = psutil.swap_memory().used
    if swapped > psutil.virtual_memory().total // 100:
        yield Finding("this host", State.WARNING, f"{size_text(swapped)} of memory are swapped out")
    if target.control.agent:
        facts = host_facts(target)
        yield Finding("server's host", State.OK, f"by its agent: {facts['cpus']} cores, {facts['ram']} of memory")
