"""What a schema of HammerDB's holds, by the server's catalog alone."""

from __future__ import annotations

from hdbkit.config.specs.tproc_c import TRANSACTIONS, TprocCSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.contracts import Session
from hdbkit.errors import SchemaProblem, TransactionError
from hdbkit.workloads.origin import ELSEWHERE, has_tables, refuse_missing
from hdbkit.workloads.tproc_c.hammerdb.routines import ROUTINES
from hdbkit.workloads.tproc_c.tables import TABLES


def found_spec(session: Session) -> TprocCSpec | None:
    """The complete schema with its warehouses counted; None where no table of it is there.

    Raises:
        SchemaProblem: tables, rows or routines are missing, this account may not read them, or hdbkit built it.
    """
    if not has_tables(session, TABLES):
        return None
    try:
        session.prepare(calls(routine_kind(session)))
        warehouses = int(session.ask("count_warehouse")[0][0])
    except TransactionError as error:
        raise SchemaProblem(
            f"the schema cannot be run as one of HammerDB 4 to 6: {error.text}; {ELSEWHERE}"
        ) from None
    if not warehouses:
        raise SchemaProblem("HammerDB's schema has no warehouse; build it with HammerDB")
    return TprocCSpec(warehouses=warehouses, schema_from=SchemaFrom.HAMMERDB)


def routine_kind(session: Session) -> str:
    """What HammerDB's routines are here, which is how they are called: ``function``, ``procedure``, ``transaction``.

    A transaction is a procedure that begins and ends one by itself. Raises ``SchemaProblem`` when some are missing.
    """
    there: dict[str, set[str]] = {}
    for name, kind in session.ask("list_routines"):
        there.setdefault(kind, set()).add(name)
    fullest = max(there, key=lambda kind: len(there[kind].intersection(ROUTINES)), default="")
    refuse_missing("routines", (name for name in ROUTINES if name not in there.get(fullest, ())))
    return fullest


def calls(kind: str) -> list[str]:
    """The named statements that call routines of a kind, in the order of ``TRANSACTIONS``."""
    return [f"call_{name}_{kind}" for name in TRANSACTIONS]
