"""What is asked of the server before anything is made: does it let us in, is the schema there, is there room."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.workloads.tproc_c.spec import Routines, SchemaFrom
from hdbkit.contracts import Capability, Database, Session
from hdbkit.databases import database
from hdbkit.errors import InputError, SchemaProblem
from hdbkit.plan import RunPlan
from hdbkit.workloads import workload

_CONNECTIONS_BESIDE_CLIENTS = 2


@dataclass(frozen=True)
class Ready:
    """A plan that can be run, and what the server said of itself."""

    plan: RunPlan
    server: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    driver: str = ""


def precheck(plan: RunPlan) -> Ready:
    """Ask the server whether ``plan`` can be run; the plan then holds the schema's own specification.

    Raises:
        InputError: with one sentence for the first thing that is in the way; nothing was changed.
    """
    engine = database(plan.target.kind)
    driver = engine.driver_version()
    _check_routines(engine, plan.load)
    session = engine.connect(plan.target, plan.workload.group)
    try:
        spec = schema_of(session, plan.target, plan.workload)
        _check_room(engine, session, plan)
        server = _server(engine, session)
        settings = engine.settings_of(session)
    finally:
        session.close()
    return Ready(plan.model_copy(update={"workload": spec}), server, settings, driver)


def schema_of(session: Session, target: Target, wanted: WorkloadSpec | None) -> WorkloadSpec:
    """The specification of the schema that is there. Raises ``SchemaProblem`` when it is not the wanted one.

    A number of warehouses that nobody asked for may be any.
    """
    asked = wanted or WorkloadSpec()
    ours = asked.schema_from is SchemaFrom.HDBKIT
    name = asked.kind if ours else f"{asked.kind} of HammerDB"
    build = f"hdbkit build {target.url} --warehouses {asked.warehouses}"
    found = workload(asked.group).schema(session)
    if found is None:
        advice = f"run: {build}" if ours else "build it with HammerDB, or leave out schema_from"
        raise SchemaProblem(f"there is no schema {name} in {target.url}; {advice}")
    if "warehouses" in asked.model_fields_set and found.warehouses != asked.warehouses:
        advice = f"run: hdbkit drop {target.url}, then {build}" if ours else "ask for that many, or for none"
        raise SchemaProblem(
            f"schema {name} in {target.url} has {found.warehouses} warehouses, but the plan needs "
            f"{asked.warehouses}; {advice}"
        )
    return found


def _server(engine: Database, session: Session) -> dict[str, Any]:
    """What the manifest keeps of the server."""
    facts = {"kind": engine.kind, "title": engine.title, "version": engine.version(session)}
    footprint = engine.footprint(session)
    if footprint is None:
        return facts
    here = engine.server_process(session) is not None
    return {**facts, "cache": footprint.cache, "cache_bytes": footprint.cache_bytes, "on_this_host": here}


def _check_routines(engine: Database, load: Load) -> None:
    needed = Capability.STORED_ROUTINES if load.routines is Routines.STORED else Capability.CLIENT_ROUTINES
    if needed not in engine.capabilities:
        raise InputError(f"{engine.title} has no {needed.value.replace('_', ' ')}; choose the other kind of routines")


def _check_room(engine: Database, session: Session, plan: RunPlan) -> None:
    free = engine.free_connections(session)
    needed = plan.load.virtual_users + _CONNECTIONS_BESIDE_CLIENTS - 1  # this session is one of the two
    if free is not None and free < needed:
        raise InputError(
            f"{plan.load.virtual_users} virtual users need {needed} more connections, but {plan.target.url} allows "
            f"{free}; take fewer virtual users or raise the server's limit of connections"
        )
