"""The check before a run: all that would prevent it, reported together, and what makes its result doubtful."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from hdbkit.arrivals import rate_of
from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.cluster import read_hosts, security_of
from hdbkit.config.fault import Thing, shared_outages
from hdbkit.config.load import Cache
from hdbkit.config.routing import Policy
from hdbkit.contracts import SERVER, Capability, Schema, Session, SessionOptions, Workload
from hdbkit.databases import database
from hdbkit.errors import InputError, MissingDriver, NoAccess, TransactionError
from hdbkit.execution.diagnosis import Diagnoses, Diagnosis, Examined, Refusals, State
from hdbkit.execution.idle_sessions import idle_timeout
from hdbkit.execution.network import network_facts
from hdbkit.execution.questions import changing, driver_environment, role, session_timeouts, statistics
from hdbkit.execution.routes import check_routes, policies_of
from hdbkit.execution.serving_order import served_in_order
from hdbkit.execution.session_needs import free_connections, open_files, ports, prepared_statements
from hdbkit.execution.shared_processes import with_shared_processes
from hdbkit.execution.virtual_user import session_options
from hdbkit.execution.waits import require_waits
from hdbkit.plan import RunPlan
from hdbkit.processes import working_folder
from hdbkit.readings import PoolMode, ServerRole, answered
from hdbkit.results.manifest import NetworkFacts, ServerFacts
from hdbkit.servers import control, power
from hdbkit.text import plural
from hdbkit.workloads import workload
from hdbkit.workloads.checking import run_checks
from hdbkit.workloads.present import require_permission, schema_in

_MIN_DUE = 20
"""Operations that a window needs at least; with fewer not even the median is known."""


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


@dataclass(frozen=True)
class _Examined(Examined):
    """The target of a run, its schema, and the folder in which the run's will be."""

    plan: RunPlan = field()
    schema: Schema
    results: Path

    @property
    def work(self) -> Workload:
        """The workload of the plan."""
        return workload(self.plan.workload)


Planner = Callable[[WorkloadSpec], RunPlan]
"""Makes the plan of a run from the specification of the schema in the database."""
_Questions = Mapping[str, Callable[[_Examined], Diagnoses | None]]


def precheck(target: Target, wanted: WorkloadSpec, planned: Planner, results: Path) -> Ready:
    """Read the schema, make the plan for it, and check with the server that it can be run; in one connection.

    Tables are analyzed last, if the load asks for it, so that a run that is refused has changed nothing.

    Args:
        target: the database.
        wanted: the schema that must be there.
        planned: makes the plan.
        results: the folder in which the run's will be.

    Raises:
        InputError: there is no connection or no such schema, or one problem prevents the run, or tables cannot be
            analyzed: those before may have new statistics.
        ConfigErrors: several problems prevent the run.
    """
    engine, asked = database(target), workload(wanted)
    driver = engine.driver_version()
    with closing(engine.schema(target, asked)) as schema:
        plan = planned(_present(schema, asked, planned))
        load = workload(plan.workload).settled(plan.load, engine.capabilities)
        plan = plan.model_copy(update={"load": load, "pooling": engine.pooling(schema.session, target)})
        at = _Examined(engine, target, schema.session, plan, schema, results)
        _refuse(at)
        settings = answered(lambda: engine.settings_of(at.session), {})
        order = served_in_order(engine, plan)
        if not order:  # else users would wait for each other
            plan = plan.model_copy(update={"load": with_shared_processes(plan.load, at.work)})
            at = replace(at, plan=plan)
        path = _client_path(at)
        if plan.load.analyze:
            _analyze(schema, target)
        return Ready(
            plan,
            _server(at),
            network_facts(engine, at.session, target),
            settings,
            driver,
            path,
            _warnings(at, order),
            _disturbed(at),
        )


def _present(schema: Schema, asked: Workload, planned: Planner) -> WorkloadSpec:
    """The specification of the schema; an account that may not read it gets the GRANTs of its load alone."""
    try:
        return schema_in(schema, schema.target, asked)
    except NoAccess:
        require_permission(schema, asked, planned(asked.spec).load)
        raise


def _refuse(at: _Examined) -> None:
    """Raise all problems of the run together."""
    refusals = Refusals(f"the run in {at.target.described}")
    refusals.ask(at, _OF_LOADS)
    if "capabilities" not in refusals.subjects:
        refusals.ask(at, _OF_STATEMENTS)
    if not refusals.subjects:
        refusals.ask(at, _OF_USERS)
    refusals.refuse()


def _problem(subject: str, detail: str) -> Diagnosis:
    return Diagnosis(subject, State.PROBLEM, detail)


_NEEDED_BY = {
    "isolation": Capability.ISOLATION,
    "lock_timeout_ms": Capability.LOCK_TIMEOUT,
    "statement_timeout_ms": Capability.STATEMENT_TIMEOUT,
    "parallel_workers": Capability.PARALLEL_WORKERS,
    "traceparent_share": Capability.COMMENTS,
    "slow_plans_ms": Capability.SLOW_PLANS,
}
"""By option of a load, what an engine must have for it."""


def _capabilities(at: _Examined) -> Diagnoses:
    has = at.engine.capabilities
    missing = {
        needed: f", which this load needs{f'; {at.work.instead[needed]}' if needed in at.work.instead else ''}"
        for needed in sorted(at.work.needs(at.plan.load) - has)
    }
    missing |= {
        needed: f"; omit {option}"
        for option, needed in _NEEDED_BY.items()
        if getattr(at.plan.load, option) and needed not in has
    }
    for needed, rest in missing.items():
        yield _problem("capabilities", f"{at.engine.title} has no {needed.value.replace('_', ' ')}{rest}")


def _schedule(at: _Examined) -> Diagnoses:
    load, work = at.plan.load, at.work
    listed = f"users of {work.title} execute a list of {plural(work.noun)}" if work.listed(load) else ""
    if listed and (load.is_open or load.steps):
        yield _problem("schedule", f"{listed}; omit rate and steps")
    if listed and load.sessions_per_user > 1:
        yield _problem("schedule", f"{listed}; omit sessions_per_user")
    if listed and load.connect_per_operation:
        yield _problem("schedule", f"{listed}; omit connect_per_operation")
    if load.keying_and_thinking and not work.waits:
        text = f"no {work.noun} of {work.title} has a keying or thinking time; omit keying_and_thinking"
        yield _problem("schedule", text)


def _cluster(at: _Examined) -> Diagnoses:
    """What is known of a cluster before anything is connected."""
    load = at.plan.load
    if load.cluster is None:
        return
    if importlib.util.find_spec("distributed") is None:
        raise MissingDriver("a cluster", "distributed", "cluster")
    for fault in load.faults:
        if fault.thing in (Thing.CLIENT, Thing.NETWORK):
            yield _problem("cluster", f"'{fault}' concerns clients of this host; omit it, or omit cluster")
    try:
        security_of(load.cluster)
        if load.cluster.hosts is not None:
            read_hosts(load.cluster.hosts)
    except ValueError as error:
        yield _problem("cluster", str(error))


def _cache(at: _Examined) -> Diagnoses:
    cache = at.plan.load.cache
    if cache is not Cache.WARM and (reason := power.obstacle(cache, at.target, control(at.target))):
        yield _problem("cache", f"cache is {cache.value}, but {reason}")


def _slow_plans(at: _Examined) -> Diagnoses:
    """Connect as the users of a load with ``slow_plans_ms`` will."""
    slow_ms = at.plan.load.slow_plans_ms
    if not slow_ms:
        return
    if at.pooling.mode is not PoolMode.DIRECT:
        text = "slow_plans_ms needs connections without a pooler; omit it or name the server itself"
        yield _problem("slow plans", text)
    elif rows := at.session.ask("slow_plans_obstacle"):
        yield _problem("slow plans", f"slow_plans_ms is {slow_ms}, but {rows[0][0]}; omit slow_plans_ms")
    else:
        at.engine.connect(at.target, SERVER, session_options(at.plan)).close()


def _faults(at: _Examined) -> None:
    """That they can be caused."""
    if at.plan.load.faults:
        from hdbkit.faults.actions import check_faults

        with _disturbed_session(at) as session:
            check_faults(at.target, at.plan.load.faults, len(at.plan.load.clients), session, at.results)


_OF_LOADS: Final[_Questions] = {
    "capabilities": _capabilities,
    "schedule": _schedule,
    "cluster": _cluster,
    "cache": _cache,
    "waits": lambda at: require_waits(at.target, at.plan.load),
    "role": role,
    "open files": lambda at: open_files(at.engine, at.target, at.plan.load),
    "ports": lambda at: ports(at.target, at.plan.load),
    "free connections": free_connections,
}
"""By subject, what is asked first."""
_OF_STATEMENTS: Final[_Questions] = {
    "privileges": lambda at: require_permission(at.schema, at.work, at.plan.load),
    "data": lambda at: at.work.require_data(at.session, at.plan.load),
    "routing": lambda at: check_routes(at.engine, at.target, at.plan.load, at.work),
    "faults": _faults,
}
"""What is asked where the engine has all that the load needs."""
_OF_USERS: Final[_Questions] = {"statements": lambda at: prepared_statements(at, at.plan), "slow plans": _slow_plans}
"""What is asked over connections as the users', where nothing else is wrong."""


def _analyze(schema: Schema, target: Target) -> None:
    try:
        schema.analyze()
    except TransactionError as error:
        raise InputError(f"the statistics in {target.described} cannot be updated: {error.text}") from None


def _warnings(at: _Examined, order: str) -> tuple[str, ...]:
    """What is wrong with the schema, the load and the server; one sentence each."""
    engine, load, work = at.engine, at.plan.load, at.work
    planned = [check for check in work.checks(engine.dialects) if check.of_catalog]
    if Capability.TABLES not in engine.capabilities:
        planned = []
    failed = [check for check in run_checks(planned, engine, at.session) if check.passed is False]
    warnings = [f"{check.name} of the schema: {check.detail}" for check in failed]
    warnings += map(str, (*statistics(at.schema, load), *driver_environment(at)))
    warnings += [
        *shared_outages(load.faults),
        work.hint(load),
        order,
        _rare(at.plan),
        *map(str, session_timeouts(at)),
    ]
    warnings += [load.cluster.warning if load.cluster else ""]
    warnings += [f"{name} has no effect without {missing}" for name, missing in load.without_effect.items()]
    timed = all(phase.duration_s for phase in work.phases(load) if phase.measured)
    own = at.target.server_folder is not None  # hdbkit set its cycle so that windows have none of that writing
    cycle = engine.write_cycle(at.session) if timed and changing(at.plan) and not own else None
    warnings.append(cycle.warning(load.duration_s) if cycle else "")
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


def _client_path(at: _Examined) -> str:
    """The code path of the measured calls; sessions of clients differ from the examined one behind a pooler only."""
    if at.pooling.mode is PoolMode.DIRECT:
        return at.session.client_path()
    options = SessionOptions(pooling=at.pooling)
    with closing(at.engine.connect(at.target, at.work.scope(at.engine.dialects), options)) as of_client:
        return of_client.client_path()


def _server(at: _Examined) -> ServerFacts:
    """What the manifest keeps of the server."""
    engine, session, target = at.engine, at.session, at.target
    facts: dict[str, Any] = {"kind": engine.kind, "title": engine.title, "version": engine.version(session)}
    if at.pooling.mode is not PoolMode.DIRECT:
        facts["pooler"] = str(at.pooling)
    if at.role is not ServerRole.PRIMARY:
        facts["role"] = at.role.value
    policies = set(policies_of(at.plan.load, at.work).values())
    if Policy.REPLICA in policies:
        facts["replicas"] = ", ".join(target.replicas)
    if policies - {Policy.REPLICA}:
        facts["nodes"] = ", ".join(target.nodes)
    if footprint := answered(lambda: engine.footprint(session), None):
        facts |= {"cache": footprint.cache, "cache_bytes": footprint.cache_bytes}
        facts["on_this_host"] = engine.server_process(session) is not None
    if idle := answered(lambda: idle_timeout(engine, at.plan, session), None):
        facts |= {"idle_timeout_s": idle.seconds, "idle_timeout": str(idle)}
    return ServerFacts(**facts)


def _disturbs_server(plan: RunPlan) -> bool:
    return any(fault.thing in (Thing.SERVER, Thing.DISK) for fault in plan.load.faults)


@contextmanager
def _disturbed_session(at: _Examined) -> Iterator[Session]:
    """A session of the server that faults disturb: with several addresses that of the first."""
    if _disturbs_server(at.plan) and at.target.fallbacks:
        with closing(at.engine.connect(at.target.first)) as session:
            yield session
    else:
        yield at.session


def _disturbed(at: _Examined) -> str:
    """What identifies the server if it or its disk is disturbed: the same for each of its names on this host."""
    if not _disturbs_server(at.plan):
        return ""
    from hdbkit.servers.server_access import host_of

    with _disturbed_session(at) as session:
        pid = at.engine.server_process(session)
    folder = working_folder(pid) if pid else None
    return str(folder or f"{host_of(at.target)}{at.target.port or 'default'}")
