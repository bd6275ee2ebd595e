"""The specification of a schema that hdbkit built, from the record that the build keeps in it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from pydantic import ValidationError

from hdbkit.config import Load, Target, WorkloadSpec, spec_from
from hdbkit.config.specs import DEFAULT_KIND
from hdbkit.contracts import Access, Schema, Workload
from hdbkit.errors import ConfigErrors, HalfBuilt, NoAccess, SchemaProblem, TransactionError
from hdbkit.workloads import workload


def built_spec(schema: Schema, of: Workload, advice: str = "") -> WorkloadSpec | None:
    """The specification of the complete schema; None if there is no schema.

    Args:
        schema: the schema in a database.
        of: the workload, of which only the kind and the names of the tables are used.
        advice: an additional suggestion if another tool created the tables.

    Raises:
        HalfBuilt: a build of the schema is unfinished.
        NoAccess: this account lacks privileges to read it.
        SchemaProblem: the schema contains tables that hdbkit did not create, or cannot be read.
    """
    kind = of.spec.kind
    try:
        log = schema.log()
    except TransactionError as error:
        require_access(schema, of.access(Load()))
        raise SchemaProblem(
            f"schema {kind} exists, but this account may not read it ({error.text}); "
            "use the account that built it, or grant it that schema, its tables and routines"
        ) from None
    foreign = sorted(log.tables if log.spec is None else log.tables - of.tables.keys())
    if foreign:
        other = advice if log.tables >= of.tables.keys() else ""
        raise SchemaProblem(
            f"schema {kind} contains tables that hdbkit did not create ({', '.join(foreign)}); "
            f"use another database{other}"
        )
    if log.spec is None:
        require_sight(schema, of.access(Load()))
        return None
    drop = drop_command(schema.target, of.spec.named)
    try:
        spec = spec_from(json.loads(log.spec))
    except (ValidationError, ConfigErrors):
        raise SchemaProblem(
            f"schema {kind} was built by another version of hdbkit, whose record this one cannot read", f"run: {drop}"
        ) from None
    if not log.finished:
        parts = workload(spec).parts_for(1, log.parts)
        raise HalfBuilt(
            f"schema {kind} is incomplete ({len(log.parts)} of {len(parts)} parts are loaded)",
            f"to resume, run: {build_command(schema.target, spec)}; to remove it, run: {drop}",
        )
    return spec


def require_access(schema: Schema, access: Access) -> None:
    """Check that the account may use the schema so. Raises ``NoAccess`` with the commands that grant the rest."""
    if missing := schema.missing_grants(access):
        raise NoAccess(
            f"{schema.target.account} lacks privileges on the schema in {schema.target.described}",
            f"run as an administrator in database {schema.target.database}: {'; '.join(missing)}",
        )


def require_sight(schema: Schema, access: Access, least: Access = Access()) -> None:  # noqa: B008  it is frozen
    """Check that a schema that seems not to be there is not hidden from an account that lacks ``least``.

    Without that the build record cannot be read. Raises ``NoAccess`` with the commands that grant all of ``access``.
    """
    if schema.missing_grants(least):
        require_access(schema, access)


def grown_spec(found: WorkloadSpec, asked: Workload) -> WorkloadSpec | None:
    """``found`` at the scale that is asked for, if a build can add what is missing; else None.

    Only fields that are set in what is asked are compared.
    """
    scale, spec = asked.spec.scale_field, asked.spec
    different = {name: there < value for name, there, value in differences(found, spec) if name == scale}
    if not asked.grows or not all(different.values()) or len(different) < len(differences(found, spec)):
        return None
    return found.model_copy(update={name: getattr(spec, name) for name in different})


def differences(found: WorkloadSpec, asked: WorkloadSpec) -> list[tuple[str, Any, Any]]:
    """The fields that are set and differ: name, value in the database, requested value."""
    own = [
        (name, getattr(found, name), getattr(asked, name))
        for name in type(asked).model_fields
        if name != "storage" and name in asked.model_fields_set
    ]
    stored = [(name, found.storage.get(name, "unset"), value) for name, value in asked.storage.items()]
    return [(name, there, value) for name, there, value in [*own, *stored] if there != value]


def builder(record: str) -> str:
    """The workload that a build's record belongs to: its kind, and its name if its users define it."""
    kept = json.loads(record)
    return " ".join(kept[key] for key in ("kind", "name") if key in kept)


def build_command(target: Target, spec: WorkloadSpec) -> str:
    """The command that builds a schema.

    Example:
        >>> from hdbkit.config import spec_from
        >>> build_command(Target.parse("postgresql://bench@db1/lab"), spec_from({"partitions": 4})).split()[-2:]
        ['--partitions', '4']
    """
    return shlex.join(["hdbkit", "build", target.given, *spec.build_words])


def analyze_command(target: Target, spec: WorkloadSpec) -> str:
    """The command that updates the optimizer's statistics of a schema and runs its workload."""
    return shlex.join(["hdbkit", "run", target.given, *spec.words, "--analyze"])


def drop_command(target: Target, named: str) -> str:
    """The command that drops the schema of a workload (its name or its folder), whatever its scale is."""
    words = [] if named == DEFAULT_KIND else ["--workload", named]
    return shlex.join(["hdbkit", "drop", target.given, *words])
