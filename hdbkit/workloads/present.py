"""Reads the schema in a target's database and compares it with the requested one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from hdbkit.config import Load, Target, WorkloadSpec, spec_from
from hdbkit.contracts import Schema, Workload
from hdbkit.databases import database
from hdbkit.errors import HalfBuilt, InputError, NoAccess, SchemaProblem
from hdbkit.readings import ServerRole
from hdbkit.workloads import workload
from hdbkit.workloads.built import differences, grown, require_access
from hdbkit.workloads.commands import build_command, drop_command

_WAIT = "wait until it has ended, or stop it"


def present_schema(target: Target, wanted: WorkloadSpec | None = None) -> WorkloadSpec:
    """Read the specification of the schema in the target's database.

    Args:
        target: the database.
        wanted: the required specification; a field that is not set may have any value. None: the default workload.

    Raises:
        SchemaProblem: the schema is missing, differs, or is incomplete.
        CannotConnect: the server rejected the connection.
    """
    asked = workload(wanted or spec_from({}))
    schema = database(target).schema(target, asked)
    try:
        return schema_in(schema, target, asked)
    finally:
        schema.close()


def require_privileges(target: Target, spec: WorkloadSpec, loads: Iterable[Load]) -> None:
    """Check that the account may run each of the loads on a schema that is there. Raises ``NoAccess``."""
    work, engine = workload(spec), database(target)
    with closing(engine.schema(target, work)) as schema:
        for load in loads:
            require_access(schema, work.access(load, engine.dialects))


def require_claim(schema: Schema, described: str) -> None:
    """Reserve a schema until it is closed. Raises ``SchemaProblem`` if another process builds or drops it."""
    if not schema.claim():
        raise SchemaProblem(f"another process builds or drops {described}", _WAIT)


def described_schema(target: Target, spec: WorkloadSpec) -> str:
    """Which schema of which workload is meant: ``schema things of My things (my-folder) in postgresql://...``."""
    work = workload(spec)
    name = work.scope(database(target).dialects).schema
    schema = f"schema {name}" if name else "the schema"
    folder = f" ({spec.named})" if spec.named != spec.kind else ""
    return f"{schema} of {work.title}{folder} in {target.described}"


def schema_in(schema: Schema, target: Target, asked: Workload) -> WorkloadSpec:
    """As :func:`present_schema`, over an open connection."""
    try:
        return _schema_in(schema, target, asked)
    except SchemaProblem as problem:
        raise advised(problem, schema) from None


def advised(problem: SchemaProblem, schema: Schema) -> SchemaProblem:
    """``problem``; its advice refers to the primary, or to another build, if that prevents this one."""
    role = database(schema.target).role(schema.session)
    if role is ServerRole.PRIMARY and isinstance(problem, HalfBuilt) and not schema.claim():
        return HalfBuilt(f"{problem.reason}, and another process builds or drops it", _WAIT)
    if role is ServerRole.PRIMARY or not problem.advice or isinstance(problem, NoAccess):
        return problem
    return type(problem)(problem.reason, f"this server is {role.described}: build it on the primary")


def require_primary(schema: Schema) -> None:
    """Check that the schema can be built and dropped. Raises ``InputError`` if its server accepts no changes."""
    role = database(schema.target).role(schema.session)
    if role is not ServerRole.PRIMARY:
        raise InputError(
            f"the server of {schema.target.described} is {role.described} and accepts no changes; name its primary"
        )


def _schema_in(schema: Schema, target: Target, asked: Workload) -> WorkloadSpec:
    spec, found = asked.spec, asked.found(schema)
    build = build_command(target, spec)
    if found is None:
        raise SchemaProblem(
            f"there is no schema of {asked.title} in {target.described}", asked.advice_to_build(build)
        )
    different = differences(found, spec)
    if different:
        name, value, other = different[0]
        rebuild = build if grown(found, asked) else f"{drop_command(target, spec.named)}, then: {build}"
        raise SchemaProblem(
            f"the schema of {asked.title} in {target.described} has {name} {value}, but the plan needs {other}",
            f"omit {name}, or {asked.advice_to_build(rebuild)}",
        )
    return found
