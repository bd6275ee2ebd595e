"""The checks before a run: access, schema, capabilities, connections."""

from __future__ import annotations

import importlib.util
import math
import resource
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from hdbkit.arrivals import rate_of
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.cluster import read_hosts, security_of
from hdbkit.config.fault import Thing, shared_outages
from hdbkit.config.load import Cache
from hdbkit.config.routing import Policy
from hdbkit.contracts import (
    NO_ROUTES,
    SERVER,
    Capability,
    Database,
    OverlappingSession,
    Prepared,
    Schema,
    Session,
    SessionOptions,
    UserPlan,
    Workload,
)
from hdbkit.databases import database
from hdbkit.errors import ErrorClass, InputError, MissingDriver, NoAccess, TransactionError
from hdbkit.execution.idle_sessions import idle_timeout, too_idle
from hdbkit.execution.network import network_facts
from hdbkit.execution.routes import check_routes, open_routes, policies_of
from hdbkit.execution.virtual_user import session_options
from hdbkit.execution.waits import require_waits
from hdbkit.plan import RunPlan
from hdbkit.processes import working_folder
from hdbkit.readings import POOL_LIMITS, Pooling, PoolMode, ServerRole, answered
from hdbkit.results.manifest import NetworkFacts, ServerFacts
from hdbkit.servers import control, power
from hdbkit.text import plural, with_article
from hdbkit.workloads import workload
from hdbkit.workloads.checking import run_checks
from hdbkit.workloads.present import require_permission, schema_in

CONNECTIONS_BESIDE_CLIENTS = 2
"""Connections that a run opens beside those of its virtual users."""
_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The first and the last port that the system gives to connections."""
_LISTED = 5
"""How many tables a warning lists."""
_MIN_DUE = 20
"""Operations that a window needs at least; with fewer not even the median is known."""
_MANY_STATEMENTS = 256
"""A session of a load prepares fewer."""
_FILES_BESIDE = 64
"""Open files of a process beside the spools that it reads, or the connections that it serves."""


@dataclass(frozen=True)
class Ready:
    """A plan that can be run, and what the server reported about itself."""

    plan: RunPlan
    server: ServerFacts = field(default_factory=ServerFacts)
    network: NetworkFacts = field(default_factory=NetworkFacts)
    settings: dict[str, Any] = field(default_factory=dict)
    driver: str = ""
    client_path: str = ""
    """The code path of the measured calls."""
    warnings: tuple[str, ...] = ()
    """What is wrong with the schema and the load, though it can be run."""
    disturbed: str = ""
    """The server that the run disturbs by faults; no other run of the results folder may do so at the same time."""


Planner = Callable[[WorkloadSpec], RunPlan]
"""Makes the plan of a run from the specification of the schema in the database."""


def precheck(target: Target, wanted: WorkloadSpec, planned: Planner, results: Path) -> Ready:
    """Read the schema, make the plan for it, and check with the server that it can be run; in one connection.

    ``results`` is where the run's folder will be.

    Raises:
        InputError: with one sentence for the first obstacle; nothing was changed, but with ``analyze`` the statistics
            of tables may be new.
    """
    engine, asked = database(target), workload(wanted)
    driver = engine.driver_version()
    schema = engine.schema(target, asked)
    try:
        plan, session = _settled(planned(_found(schema, asked, planned)), engine), schema.session
        _check_capabilities(engine, workload(plan.workload), plan.load)
        _check_schedule(plan)
        _check_cluster(plan.load)
        _check_cache(target, plan.load)
        require_waits(target, plan.load)
        role = engine.role(session)
        _check_role(role, answered(lambda: engine.read_only_by(session), ""), plan)
        require_permission(schema, workload(plan.workload), plan.load)
        workload(plan.workload).require_data(session, plan.load)
        check_routes(engine, target, plan.load, workload(plan.workload))
        pooling = engine.pooling(session, target)
        _allow_open_files(engine, target, plan.load)
        _check_ports(target, plan.load)
        _check_connections(engine, session, plan, pooling)
        _check_statements(engine, session, plan)
        disturbed = _check_faults(plan, session, results)
        plan = plan.model_copy(update={"pooling": pooling})
        _check_slow_plans(engine, session, plan)
        settings = answered(lambda: engine.settings_of(session), {})
        server = _server(engine, session, plan, pooling, role)
        if plan.load.analyze:
            _analyze(schema, target)
        warnings = _warnings(engine, schema, plan)
        path = _client_path(engine, plan, session, pooling)
        return Ready(
            plan, server, network_facts(engine, session, target), settings, driver, path, warnings, disturbed
        )
    finally:
        schema.close()


def _found(schema: Schema, asked: Workload, planned: Planner) -> WorkloadSpec:
    """The specification of the schema; an account that may not read it gets the GRANTs of its load alone."""
    try:
        return schema_in(schema, schema.target, asked)
    except NoAccess:
        require_permission(schema, asked, planned(asked.spec).load)
        raise


def _settled(plan: RunPlan, engine: Database) -> RunPlan:
    """The plan with what its load leaves to the engine."""
    return plan.model_copy(update={"load": workload(plan.workload).settled(plan.load, engine.capabilities)})


def _check_schedule(plan: RunPlan) -> None:
    work = workload(plan.workload)
    if (plan.load.is_open or plan.load.steps) and work.listed(plan.load):
        raise InputError(f"users of {work.title} execute a list of {plural(work.noun)}; omit rate and steps")
    for option, given in (
        ("sessions_per_user", plan.load.sessions_per_user > 1),
        ("connect_per_operation", plan.load.connect_per_operation),
    ):
        if given and work.listed(plan.load):
            raise InputError(f"users of {work.title} execute a list of {plural(work.noun)}; omit {option}")
    if plan.load.keying_and_thinking and not work.waits:
        raise InputError(f"no {work.noun} of {work.title} has a keying or thinking time; omit keying_and_thinking")


def _check_cluster(load: Load) -> None:
    """What is known of a cluster before anything is connected."""
    if load.cluster is None:
        return
    if importlib.util.find_spec("distributed") is None:
        raise MissingDriver("a cluster", "distributed", "cluster")
    for fault in load.faults:
        if fault.thing in (Thing.CLIENT, Thing.NETWORK):
            raise InputError(f"'{fault}' concerns clients of this host; omit it, or omit cluster")
    try:
        security_of(load.cluster)
        if load.cluster.hosts is not None:
            read_hosts(load.cluster.hosts)
    except ValueError as error:
        raise InputError(str(error)) from None


def _check_cache(target: Target, load: Load) -> None:
    if load.cache is Cache.WARM:
        return
    if reason := power.obstacle(load.cache, target, control(target)):
        raise InputError(f"cache is {load.cache.value}, but {reason}")


def _analyze(schema: Schema, target: Target) -> None:
    try:
        schema.analyze()
    except TransactionError as error:
        raise InputError(f"the statistics in {target.described} cannot be updated: {error.text}") from None


def _warnings(engine: Database, schema: Schema, plan: RunPlan) -> tuple[str, ...]:
    """Missing parts and statistics of the schema, the workload's own hint, a short window; one sentence each."""
    planned = [one for one in workload(plan.workload).checks(engine.dialects) if one.of_catalog]
    if Capability.TABLES not in engine.capabilities:
        planned = []
    found = [one for one in run_checks(planned, engine, schema.session) if one.passed is False]
    warnings = [f"{one.name} of the schema: {one.detail}" for one in found]
    if tables := schema.unanalyzed():
        more = f" and {len(tables) - _LISTED} more" if len(tables) > _LISTED else ""
        advice = "this account may not update them" if plan.load.analyze else "--analyze updates them"
        listed = f"{', '.join(tables[:_LISTED])}{more}"
        warnings.append(f"the optimizer's statistics are missing or stale ({advice}): {listed}")
    if names := engine.influences(plan.target):
        warnings.append(f"the driver applied {', '.join(names)} of the environment, which decide how sessions work")
    warnings += shared_outages(plan.load.faults)
    warnings += [workload(plan.workload).hint(plan.load), served_in_order(engine, plan)]
    idle = answered(lambda: idle_timeout(engine, plan, schema.session), None)
    warnings += [_rare(plan), too_idle(plan, idle) if idle else ""]
    warnings += [plan.load.cluster.warning if plan.load.cluster else ""]
    warnings += [f"{name} has no effect without {missing}" for name, missing in plan.load.without_effect.items()]
    timed = all(phase.duration_s for phase in workload(plan.workload).phases(plan.load) if phase.measured)
    own = plan.target.server_folder is not None  # hdbkit set its cycle so that windows have none of that writing
    cycle = engine.write_cycle(schema.session) if timed and _changing(plan) and not own else None
    warnings.append(cycle.warning(plan.load.duration_s) if cycle else "")
    return tuple(filter(None, warnings))


def _rare(plan: RunPlan) -> str:
    """That hardly any operation is due in the window; empty otherwise."""
    due = (rate_of(plan.workload, plan.load) or math.inf) * plan.load.duration_s
    if due >= _MIN_DUE:
        return ""
    return (
        f"at this rate about {due:.3g} {plural(workload(plan.workload).noun)} are due in a window of "
        f"{plan.load.duration_s:g} s, too few for quantiles; use a higher rate or a longer window"
    )


def _client_path(engine: Database, plan: RunPlan, session: Session, pooling: Pooling) -> str:
    """The code path of the measured calls; sessions of clients differ from ``session`` behind a pooler only."""
    work = workload(plan.workload)
    if pooling.mode is PoolMode.DIRECT:
        return session.client_path(work.needs(plan.load))
    options = SessionOptions(pooling=pooling)
    with closing(engine.connect(plan.target, work.scope(engine.dialects), options)) as of_client:
        return of_client.client_path(work.needs(plan.load))


def _server(engine: Database, session: Session, plan: RunPlan, pooling: Pooling, role: ServerRole) -> ServerFacts:
    """What the manifest keeps of the server."""
    facts: dict[str, Any] = {"kind": engine.kind, "title": engine.title, "version": engine.version(session)}
    if pooling.mode is not PoolMode.DIRECT:
        facts["pooler"] = str(pooling)
    if role is not ServerRole.PRIMARY:
        facts["role"] = role.value
    policies = set(policies_of(plan.load, workload(plan.workload)).values())
    if Policy.REPLICA in policies:
        facts["replicas"] = ", ".join(plan.target.replicas)
    if policies - {Policy.REPLICA}:
        facts["nodes"] = ", ".join(plan.target.nodes)
    if footprint := answered(lambda: engine.footprint(session), None):
        facts |= {"cache": footprint.cache, "cache_bytes": footprint.cache_bytes}
        facts["on_this_host"] = engine.server_process(session) is not None
    if idle := answered(lambda: idle_timeout(engine, plan, session), None):
        facts |= {"idle_timeout_s": idle.seconds, "idle_timeout": str(idle)}
    return ServerFacts(**facts)


def _check_faults(plan: RunPlan, session: Session, results: Path) -> str:
    """Check that the faults can be caused; return what identifies the server if it or its disk is disturbed.

    The identity is the same for each of the server's names on this host.
    """
    if not plan.load.faults:
        return ""
    from hdbkit.faults.actions import check_faults
    from hdbkit.servers.server_access import host_of

    target, engine = plan.target, database(plan.target)
    disturbs_server = any(fault.thing in (Thing.SERVER, Thing.DISK) for fault in plan.load.faults)
    with ExitStack() as block:
        if disturbs_server and target.fallbacks:  # the session may be that of another server
            session = block.enter_context(closing(engine.connect(target.first)))
        check_faults(target, plan.load.faults, len(plan.load.clients), session, results)
        pid = engine.server_process(session) if disturbs_server else None
    folder = working_folder(pid) if pid else None
    address = f"{host_of(target)}{target.port or 'default'}"
    return str(folder or address) if disturbs_server else ""


_NEEDED_BY = {
    "isolation": Capability.ISOLATION,
    "lock_timeout_ms": Capability.LOCK_TIMEOUT,
    "statement_timeout_ms": Capability.STATEMENT_TIMEOUT,
    "parallel_workers": Capability.PARALLEL_WORKERS,
    "traceparent_share": Capability.COMMENTS,
    "slow_plans_ms": Capability.SLOW_PLANS,
}
"""By option of a load, what an engine must have for it."""


def _check_capabilities(engine: Database, asked: Workload, load: Load) -> None:
    for needed in sorted(asked.needs(load) - engine.capabilities):
        advice = f"; {asked.instead[needed]}" if needed in asked.instead else ""
        raise InputError(f"{engine.title} has no {needed.value.replace('_', ' ')}, which this load needs{advice}")
    for option, needed in _NEEDED_BY.items():
        if getattr(load, option) and needed not in engine.capabilities:
            raise InputError(f"{engine.title} has no {needed.value.replace('_', ' ')}; omit {option}")


def _check_slow_plans(engine: Database, session: Session, plan: RunPlan) -> None:
    """Connect as the users of a load with ``slow_plans_ms`` will."""
    if not plan.load.slow_plans_ms:
        return
    if plan.pooling and plan.pooling.mode is not PoolMode.DIRECT:
        raise InputError("slow_plans_ms needs connections without a pooler; omit it or name the server itself")
    if rows := session.ask("slow_plans_obstacle"):
        raise InputError(f"slow_plans_ms is {plan.load.slow_plans_ms}, but {rows[0][0]}; omit slow_plans_ms")
    engine.connect(plan.target, SERVER, session_options(plan)).close()


def _check_role(role: ServerRole, setting: str, plan: RunPlan) -> None:
    work, changing = workload(plan.workload), _changing(plan)
    if role is ServerRole.PRIMARY or not changing:
        return
    advice = f"--read-only runs only {' and '.join(sorted(work.reading))}, or " if work.reading else ""
    raise InputError(
        f"the server of {plan.target.described} is {role.described}, and {', '.join(changing)} change its data; "
        f"{advice}{f'allow this account changes: {setting}' if setting else 'name the primary'}"
    )


def _changing(plan: RunPlan) -> list[str]:
    """The operations of the load that change data."""
    work = workload(plan.workload)
    weights = work.mix(plan.load) or dict.fromkeys(work.operations, 1.0)
    return [name for name, weight in weights.items() if weight and name not in work.reading]


def _check_connections(engine: Database, session: Session, plan: RunPlan, pooling: Pooling) -> None:
    if pooling.mode is PoolMode.TRANSACTION:  # users share connections of the server
        return
    free = answered(lambda: engine.free_connections(session), None)
    needed = plan.load.sessions + CONNECTIONS_BESIDE_CLIENTS - 1  # this session is one of the two
    if free is not None and free < needed:
        raise InputError(
            f"{_users(plan.load)} need {needed} more connections, but {plan.target.described} allows {free}; use "
            f"fewer {_noun(plan.load)} or raise the server's connection limit"
        )
    if pooling.mode is PoolMode.SESSION and (served := engine.served(plan.target, needed)) < needed:
        raise InputError(
            f"{_users(plan.load)} and the run's own {CONNECTIONS_BESIDE_CLIENTS} sessions need {needed + 1} "
            f"connections of the pool with session pooling, but the pooler of {plan.target.described} gave "
            f"{served + 1}; use fewer {_noun(plan.load)}, or raise the pooler's limit: {POOL_LIMITS}"
        )


def _check_statements(engine: Database, session: Session, plan: RunPlan) -> None:
    """The sessions of a load prepare the same statements, which one that executes nothing counts."""
    limit, load, work = answered(lambda: engine.statement_limit(session), None), plan.load, workload(plan.workload)
    if limit is None or limit.free >= load.sessions * _MANY_STATEMENTS:
        return
    with closing(engine.connect(plan.target, work.scope(engine.dialects), session_options(plan))) as of_user:
        try:
            work.user(of_user, load, UserPlan(0, load.seed), NO_ROUTES).next_batch()
            prepared = answered(lambda: engine.statement_limit(of_user), None)
        except TransactionError as error:
            if error.error_class is not ErrorClass.RESOURCES:
                raise
            prepared = replace(limit, of_session=limit.free + 1)
    each = prepared.of_session if prepared else 0
    if each * load.sessions > limit.free:
        raise InputError(
            f"{limit.setting} of {plan.target.described} is {limit.value}, of which {limit.free} are free, but "
            f"{_users(load)} prepare at least {each} statements in each session; use fewer {_noun(load)} or raise "
            f"{limit.setting}"
        )


def _users(load: Load) -> str:
    if load.sessions_per_user == 1:
        return f"{load.virtual_users} virtual users"
    return f"{load.virtual_users} virtual users with {load.sessions_per_user} sessions each"


def _noun(load: Load) -> str:
    return "virtual users" if load.sessions_per_user == 1 else "sessions"


def _check_ports(target: Target, load: Load) -> None:
    """Each connection to an address has a port of this host."""
    if not target.host or target.host.startswith("/") or load.cluster:
        return
    try:
        first, last = map(int, _PORTS.read_text().split())
    except (OSError, ValueError):
        return
    if (ports := last - first + 1) < load.sessions + CONNECTIONS_BESIDE_CLIENTS:
        raise InputError(
            f"{_users(load)} need {load.sessions} ports of this host to reach {target.described}, but "
            f"{ports} are available; use fewer {_noun(load)} or widen the range (sysctl net.ipv4.ip_local_port_range)"
        )


def _allow_open_files(engine: Database, target: Target, load: Load) -> None:
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
    raise InputError(
        f"{_users(load)} in {clients} client processes need {needed} open files in one process, "
        f"but {hard} are allowed; raise the limit (ulimit -n {needed}), or change "
        f"{'users_per_process' if load.sessions_per_user == 1 else 'sessions_per_user'}"
    )


# Whether the sessions of a client process wait for each other, by a user of the run that executes nothing.

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
