"""Dropping a workload's schema: its own objects, and nothing else."""

from __future__ import annotations

from contextlib import suppress

from hdbkit.config import Target
from hdbkit.contracts import Capability, Session
from hdbkit.databases import database
from hdbkit.errors import InputError, SchemaProblem, TransactionError
from hdbkit.workloads import workload
from hdbkit.workloads.build_log import LOG_TABLES


def drop(target: Target, kind: str) -> list[str]:
    """Drop the tables and routines that a build of ``kind`` made; what was dropped, such as ``table stock``.

    A schema in which something else is left, or that belongs to somebody else, stays.

    Raises:
        SchemaProblem: there is no such schema, or no build made it. Nothing was changed.
        InputError: this account may not drop it. Nothing was changed.
    """
    session = database(target.kind).connect(target, kind)
    try:
        if not session.query("schema_exists")[0][0]:
            raise SchemaProblem(f"there is no schema {kind} in {target.url}; nothing was dropped")
        return _drop(session, target, kind)
    finally:
        session.close()


def _drop(session: Session, target: Target, kind: str) -> list[str]:
    work = workload(kind)
    tables = {row[0] for row in session.query("list_tables")}
    if tables and not tables.issuperset(LOG_TABLES):
        raise SchemaProblem(
            f"schema {kind} in {target.url} was not made by hdbkit (it has no {LOG_TABLES[0]}); nothing was dropped"
        )
    routines = {row[0] for row in session.query("list_routines")}
    own = [(f"drop_routine_{name}", f"routine {name}") for name in work.routines if name in routines]
    own += [(f"drop_{name}", f"table {name}") for name in work.tables if name in tables]
    dropped: list[str] = []
    for statement, what in own:
        try:
            session.query(statement)
        except TransactionError as error:
            if dropped:
                raise
            raise InputError(
                f"schema {kind} in {target.url} cannot be dropped: {error.text}; use the account that built it"
            ) from None
        dropped.append(what)
    if tables:
        session.query("drop_build")
    if tables <= {*work.tables, *LOG_TABLES}:
        with suppress(TransactionError):
            session.query("drop_schema")
            if Capability.SCHEMAS in database(target.kind).capabilities:
                dropped.append(f"schema {kind}")
    return dropped
