"""The questions about a target: its server, its account, the schema in it, and both hosts.

``doctor`` asks all of them. A run asks some of them, which then concern its plan, beside those about its load
(:mod:`hdbkit.execution.precheck`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from hdbkit.config import Load, Target
from hdbkit.config.hosts import is_local
from hdbkit.contracts import (
    SERVER,
    ApplyBy,
    Capability,
    Database,
    Schema,
    ServerControl,
    SessionOptions,
    Setting,
    Workload,
)
from hdbkit.control_groups import GroupLimits, limits
from hdbkit.errors import NoAccess, SchemaProblem
from hdbkit.execution.diagnosis import Diagnoses, Diagnosis, Examined, State, answers
from hdbkit.execution.idle_sessions import idle_timeout, too_idle
from hdbkit.execution.network import network_facts
from hdbkit.execution.server_host import host_facts, kernel_facts, kernel_parameters
from hdbkit.execution.session_needs import free_connections
from hdbkit.later import psutil
from hdbkit.plan import RunPlan
from hdbkit.readings import PoolMode, ServerRole, answered
from hdbkit.servers import control
from hdbkit.text import many, size_text
from hdbkit.workloads import workload
from hdbkit.workloads.built import analyze_command, build_command
from hdbkit.workloads.present import denied_statements, schema_in

FEW_DAYS = 30
"""A certificate that ends within this many days is worth a warning."""
_NO_QUOTA = (
    "give it cores of its own without a quota: --cpuset-cpus instead of --cpus (Docker), the static CPU manager "
    "(Kubernetes), AllowedCPUs= instead of CPUQuota= (systemd)"
)
_RENEW = "renew the certificate on the server; clients that verify it cannot connect once it has expired"
CLOCK_S = 1.0
"""Clocks that differ by more make the times of two hosts' logs hard to compare."""
BUSY_SHARE = 0.2
"""The load of a host per core from which on it is not idle."""
_LISTED = 5
"""How many tables a warning of a run lists."""


def examined(at: Examined) -> Diagnoses:
    """All answers of a server over one session."""
    for subject, question in OF_SERVERS.items():
        yield from answers(subject, partial(question, at))


def examined_beside(engine: Database, target: Target, asked: Workload) -> Diagnoses:
    """The schema of a workload, over a session of its own, and both hosts."""
    yield from answers("schema", lambda: _schema(engine, target, asked))
    yield from answers("server's host", lambda: _hosts(target))


def _network(at: Examined) -> Diagnoses:
    found = network_facts(at.engine, at.session, at.target)
    if found.round_trip_ms is None:
        return
    known = found.bandwidth_mb_per_s
    bandwidth = f"{known:,.0f} MB/s" if known else "unknown"
    yield Diagnosis("network", State.OK, f"round trip {found.round_trip_ms:.2f} ms; bandwidth {bandwidth}")


def _product(at: Examined) -> Diagnoses:
    """What the server is by its own answers, if it was asked."""
    found = at.engine.probed
    if not found.asked:
        return
    if found.hindrance:
        yield Diagnosis("product", State.PROBLEM, f"nothing can be built: {found.hindrance}")
    name = found.product or at.engine.title
    if not found.unanswered:
        yield Diagnosis("product", State.OK, f"{name}; it answers all {len(found.asked)} questions")
        return
    count = f"{len(found.unanswered)} of {len(found.asked)} questions are unanswered"
    what = "" if found.is_foreign else f", as by no {at.engine.title}"
    advice = f"hdbkit engine check {at.target.url} tries which rules it keeps, in an empty database"
    yield Diagnosis("product", State.WARNING, f"{name}; {count}{what}: {', '.join(found.unanswered)}", advice)


def _encryption(at: Examined) -> Diagnoses:
    found = at.engine.encryption(at.session, at.target)
    if found is None:
        yield Diagnosis("encryption", State.OK, "whether the connection is encrypted is unknown")
        return
    if not found.protocol and is_local(at.target.host):
        yield Diagnosis("encryption", State.OK, "the connection is not encrypted; it stays on this host")
        return
    if not found.protocol:
        what = "the connection is not encrypted: passwords and data cross the network as they are"
        yield Diagnosis("encryption", State.WARNING, what, "set the TLS options of the target (docs/servers.md)")
        return
    if found.expires is None:
        yield Diagnosis("encryption", State.OK, f"{found.protocol}; the end of the server's certificate is unknown")
        return
    left = found.expires - datetime.now(UTC)
    if left < timedelta():
        ago = f"{(-left).days} days ago, {found.expires:%Y-%m-%d}"
        yield Diagnosis(
            "encryption", State.PROBLEM, f"{found.protocol}; the server's certificate has expired ({ago})", _RENEW
        )
        return
    text = f"{found.protocol}; the server's certificate ends in {left.days} days ({found.expires:%Y-%m-%d})"
    few = left.days <= FEW_DAYS
    yield Diagnosis("encryption", State.WARNING if few else State.OK, text, _RENEW if few else "")


def _pooler(at: Examined) -> Diagnoses:
    direct = at.pooling.mode is PoolMode.DIRECT
    advice = "" if direct else "name the server's own address to measure the server without the pooler"
    yield Diagnosis("pooler", State.OK if direct else State.WARNING, str(at.pooling), advice)


def role(at: Examined) -> Diagnoses:
    """Whether the server accepts changes; a problem of a run that makes some."""
    if at.role is ServerRole.PRIMARY:
        yield Diagnosis("role", State.OK, "the server accepts changes")
        return
    setting = answered(lambda: at.engine.read_only_by(at.session), "")
    if at.plan is None:
        advice = f"hdbkit run ... --read-only, or {f'allow changes: {setting}' if setting else 'name the primary'}"
        yield Diagnosis("role", State.WARNING, f"the server is {at.role.described}", advice)
    elif names := changing(at.plan):
        reading = " and ".join(sorted(workload(at.plan.workload).reading))
        detail = f"the server of {at.target.described} is {at.role.described}, and {', '.join(names)} change its data"
        remedy = f"allow this account changes: {setting}" if setting else "name the primary"
        advice = f"--read-only runs only {reading}, or {remedy}" if reading else remedy
        yield Diagnosis("role", State.PROBLEM, detail, advice)


def changing(plan: RunPlan) -> list[str]:
    """The operations of a load that change data."""
    work = workload(plan.workload)
    weights = work.mix(plan.load) or dict.fromkeys(work.operations, 1.0)
    return [name for name, weight in weights.items() if weight and name not in work.reading]


def _grants(at: Examined) -> Diagnoses:
    missing = at.engine.advised_grants(at.session)
    if not missing:
        yield Diagnosis("privileges", State.OK, "no privilege is missing that builds, runs and their samples need")
    for one in missing:
        yield Diagnosis("privileges", State.WARNING, f"without it: {one.without}", f"{one.command};")


def _settings_control(at: Examined) -> Diagnoses:
    if Capability.SETTINGS not in at.engine.capabilities:
        return
    if not at.target.may_change_settings:
        what = "a sweep sets only what each session can set for itself (compare_by: slices)"
        text = f"hdbkit may not change settings of this server; {what}"
        yield Diagnosis("sweeps", State.OK, text, "may_change_settings: true in the target allows it")
        return
    server = control(at.target)
    example = _changeable(server, at.engine.protected_settings)
    problems = server.problems({example.name: [example.value]})
    for problem in problems:
        yield Diagnosis("sweeps", State.WARNING, f"to change {example.name}, for example: {problem}")
    if not problems:
        restarts = "restart the server" if server.can_restart else "not restart the server"
        yield Diagnosis("sweeps", State.OK, f"hdbkit may change settings of this server, and may {restarts}")


def _changeable(server: ServerControl, protected: Collection[str]) -> Setting:
    """A setting as an example of what a sweep changes: one that needs a reload rather than a restart."""
    known = (one for one in server.settings().values() if one.name not in protected)
    return min(known, key=lambda one: (one.apply_by is not ApplyBy.RELOAD, one.kind == "string", one.name))


def session_timeouts(at: Examined) -> Diagnoses:
    """The timeouts of a session as users have it, without hdbkit's own limits; of a run those that it will reach."""
    if plan := at.plan:
        idle = answered(lambda: idle_timeout(at.engine, plan, at.session), None)
        if idle and (text := too_idle(plan, idle)):
            yield Diagnosis("timeouts", State.WARNING, text)
        return
    with closing(at.engine.connect(at.target, SERVER, SessionOptions(is_own=False))) as session:
        limits_of_session = at.engine.timeouts(session)
    for limit in limits_of_session:
        yield Diagnosis("timeouts", State.WARNING, str(limit))
    if not limits_of_session:
        yield Diagnosis("timeouts", State.OK, "the account's statements and transactions have no timeout")


def _memory(at: Examined) -> Diagnoses:
    footprint = at.engine.footprint(at.session)
    if footprint is None:
        return
    data, cache = size_text(footprint.data_bytes), size_text(footprint.cache_bytes)
    if footprint.data_bytes > footprint.cache_bytes:
        text = f"the data ({data}) are larger than {footprint.cache} ({cache}): runs read from files"
        yield Diagnosis("memory", State.WARNING, text)
    else:
        yield Diagnosis("memory", State.OK, f"the data ({data}) fit into {footprint.cache} ({cache})")
    process = at.engine.server_process(at.session)
    if process is None:
        return
    usable = limits(process)
    if footprint.cache_bytes > usable.memory_bytes:
        text = f"{footprint.cache} ({cache}) is larger than the server's memory ({size_text(usable.memory_bytes)})"
        yield Diagnosis("memory", State.PROBLEM, text)
    yield from _quota("server's host", usable, "the server")


def _kernel(at: Examined) -> Diagnoses:
    """Whether the kernel of the database's host allows what the database needs."""
    needs = at.engine.host_needs(at.session)
    if needs is None:
        return
    kernel = kernel_facts(at.target, at.engine.daemon, here=needs.here)
    shared = f"{size_text(needs.shared_bytes)} of shared memory and {needs.semaphores:,} semaphores"
    parameters = kernel_parameters(needs, kernel)
    if not kernel:
        text = f"the database needs {shared}; its host is not read: start hdbkit agent there"
        yield Diagnosis("server's host", State.OK, text, "; ".join(one.line for one in parameters))
        return
    small = [one for one in parameters if one.too_small]
    for one in small:
        has, least = (" ".join(map(str, values)) for values in (one.found, one.needed))
        text = f"{one.name} is {has}, and the database needs {shared}: at least {least}"
        yield Diagnosis("server's host", State.WARNING, text, one.line)
    if not small:
        yield Diagnosis("server's host", State.OK, f"its kernel allows what the database needs: {shared}")


def driver_environment(at: Examined) -> Diagnoses:
    """Variables of the environment that the driver applies."""
    if names := at.engine.influences(at.target):
        text = f"the driver applies {', '.join(names)} of the environment, which decide how sessions work"
        yield Diagnosis("environment", State.WARNING, text, "unset them, or write them as options of the target")


def _settings(at: Examined) -> Diagnoses:
    found = at.engine.disturbances(at.session)
    if not found:
        yield Diagnosis("settings", State.OK, "none is known to disturb a run")
    for one in found:
        yield Diagnosis("settings", State.WARNING, f"{one.setting} = {one.value}: {one.effect}")


def _snapshots(at: Examined) -> Diagnoses:
    if notice := at.engine.snapshot_notice(at.target):
        yield Diagnosis("snapshots", State.WARNING, f"runs take snapshots of the server's own repository; {notice}")


def _clock(at: Examined) -> Diagnoses:
    begun = time.time()
    now_s = at.engine.clock_s(at.session)
    middle = (begun + time.time()) / 2
    if now_s is None:
        return
    apart_s = now_s - middle
    state = State.OK if abs(apart_s) <= CLOCK_S else State.WARNING
    text = f"the server's is {abs(apart_s):.2f} s {'ahead of' if apart_s > 0 else 'behind'} this host's"
    yield Diagnosis("clock", state, text)


OF_SERVERS: Final[Mapping[str, Callable[[Examined], Diagnoses]]] = {
    "network": _network,
    "product": _product,
    "encryption": _encryption,
    "pooler": _pooler,
    "role": role,
    "privileges": _grants,
    "sweeps": _settings_control,
    "timeouts": session_timeouts,
    "free connections": free_connections,
    "memory": _memory,
    "server's host": _kernel,
    "settings": _settings,
    "environment": driver_environment,
    "clock": _clock,
    "snapshots": _snapshots,
}
"""By subject, what a server is asked in general."""


def _schema(engine: Database, target: Target, asked: Workload) -> Diagnoses:
    """The schema of a workload, what the account may do with it, and its statistics."""
    with closing(engine.schema(target, asked)) as schema:
        try:
            work = workload(schema_in(schema, target, asked))
        except SchemaProblem as problem:
            state = State.PROBLEM if isinstance(problem, NoAccess) else State.WARNING
            yield Diagnosis("schema", state, problem.reason, problem.advice.removeprefix("run: "))
            return
        yield Diagnosis("schema", State.OK, ", ".join(filter(None, (work.title, work.scale))))
        access = work.access(Load(), engine.dialects)
        if lacking := schema.routine_problem(access.routines):
            yield Diagnosis("routines", State.PROBLEM, f"the schema {lacking}", build_command(target, work.spec))
        for command in schema.missing_grants(access):
            yield Diagnosis(
                "privileges", State.WARNING, "without it: runs of the whole mix are refused", f"{command};"
            )
        for denied in denied_statements(schema, work, Load()):
            text = f"{denied.user}, statement {denied.statement}: {denied.reason}; runs of the whole mix are refused"
            for command in denied.grants or ("",):
                yield Diagnosis("privileges", State.WARNING, text, command and f"{command};")
        if tables := schema.unanalyzed():
            text = f"missing or stale: {', '.join(tables)}"
            yield Diagnosis("statistics", State.WARNING, text, analyze_command(target, work.spec))
        else:
            yield Diagnosis("statistics", State.OK, "those of all tables are there")


def statistics(schema: Schema, load: Load) -> Diagnoses:
    """The statistics that a run finds; of many tables the first are listed."""
    if tables := schema.unanalyzed():
        more = f" and {len(tables) - _LISTED} more" if len(tables) > _LISTED else ""
        advice = "this account may not update them" if load.analyze else "--analyze updates them"
        listed = f"{', '.join(tables[:_LISTED])}{more}"
        text = f"the optimizer's statistics are missing or stale ({advice}): {listed}"
        yield Diagnosis("statistics", State.WARNING, text)


def _quota(subject: str, usable: GroupLimits, who: str) -> Diagnoses:
    """That a CPU quota, as of a container or a service, will pause processes."""
    if usable.quota is not None:
        text = f"{who} are paused" if who == "clients" else f"{who} is paused"
        text += f" when more than {usable.quota:g} cores' time is used, by the CPU quota of a control group"
        yield Diagnosis(subject, State.WARNING, f"{text}: pauses count as latency", _NO_QUOTA)


def _hosts(target: Target) -> Diagnoses:
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
    yield Diagnosis("this host", state, text, "" if state is State.OK else "wait until other processes have ended")
    swapped = psutil.swap_memory().used
    if swapped > psutil.virtual_memory().total // 100:
        yield Diagnosis("this host", State.WARNING, f"{size_text(swapped)} of memory are swapped out")
    if target.control.agent:
        facts = host_facts(target)
        yield Diagnosis("server's host", State.OK, f"by its agent: {facts['cpus']} cores, {facts['ram']} of memory")
