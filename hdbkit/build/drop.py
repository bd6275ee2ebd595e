"""Dropping a workload's schema: its own objects, and nothing else."""

from __future__ import annotations

from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import Schema
from hdbkit.databases import database
from hdbkit.errors import InputError, SchemaProblem, TransactionError
from hdbkit.workloads import workload


def drop(target: Target, spec: WorkloadSpec) -> list[str]:
    """Drop the tables and routines that a build of the workload made; what was dropped, such as ``table stock``.

    A schema in which something else is left, or that belongs to somebody else, stays. Of ``spec`` only the workload
    counts, not the scale.

    Raises:
        SchemaProblem: there is no such schema, or no build made it. Nothing was changed.
        InputError: this account may not drop it.
    """
    engine, work = database(target.kind), workload(spec)
    place = f"schema {work.scope(engine.dialects).schema} in {target.url}"
    schema = engine.schema(target, work)
    try:
        _refuse(schema, place)
        return schema.drop()
    except TransactionError as error:
        raise InputError(f"{place} cannot be dropped: {error.text}; use the account that built it") from None
    finally:
        schema.close()


def _refuse(schema: Schema, place: str) -> None:
    log = schema.log()
    if not log.exists:
        raise SchemaProblem(f"there is no {place}; nothing was dropped")
    if log.tables and log.spec is None:
        raise SchemaProblem(f"{place} was not made by hdbkit (it has no record of a build); nothing was dropped")
