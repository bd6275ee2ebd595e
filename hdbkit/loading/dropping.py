"""Dropping a schema that hdbkit has built, and no other."""

from __future__ import annotations

from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import Schema, Verb
from hdbkit.databases import database
from hdbkit.errors import GivenUp, InputError, SchemaProblem, TransactionError
from hdbkit.workloads import workload
from hdbkit.workloads.built import builder
from hdbkit.workloads.present import require_claim, require_grants, require_primary


def drop(target: Target, spec: WorkloadSpec) -> list[str]:
    """Drop the tables and routines that a build of the workload created.

    A schema with other objects, or of another owner, is kept. Only the workload of ``spec`` matters, not the scale.

    Returns:
        What was dropped, such as ``table accounts``.

    Raises:
        SchemaProblem: there is no such schema, hdbkit did not build it, or another workload did. Nothing was changed.
        InputError: this account may not drop it.
    """
    engine, work = database(target), workload(spec)
    where = f"schema {work.scope(engine.dialects).schema} in {target.described}"
    schema = engine.schema(target, work)
    try:
        require_primary(schema)
        require_grants(schema, work, Verb.DROP)
        require_claim(schema, where)
        _check_droppable(schema, where, builder(work.record))
        return schema.drop()
    except GivenUp:
        raise
    except TransactionError as error:
        raise InputError(f"{where} cannot be dropped: {error.text}; use the account that built it") from None
    finally:
        schema.close()


def _check_droppable(schema: Schema, where: str, wanted: str) -> None:
    log = schema.log()
    if not log.exists:
        raise SchemaProblem(f"there is no {where}; nothing was dropped")
    if log.tables and log.spec is None:
        raise SchemaProblem(f"{where} was not built by hdbkit (it has no build record); nothing was dropped")
    if log.spec is not None and (found := builder(log.spec)) != wanted:
        raise SchemaProblem(f"{where} belongs to the workload {found}, not {wanted}; nothing was dropped")
