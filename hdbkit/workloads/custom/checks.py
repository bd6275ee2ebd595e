"""The checks of a user-defined workload: row counts of what was loaded, and the folder's own statements."""

from __future__ import annotations

from collections.abc import Mapping

from hdbkit.contracts import Check, Session
from hdbkit.sql import Statement
from hdbkit.workloads.custom.population import rows_of
from hdbkit.workloads.custom.spec import CustomSpec

_CHECK = "check_"


def check(session: Session, spec: CustomSpec, statements: Mapping[str, Statement]) -> list[Check]:
    """One line per table and per statement ``check_...``, which returns a number of errors."""
    return [
        *(_rows(session, spec, table) for table in spec.definition.tables),
        *(_own(session, one) for name, one in statements.items() if name.startswith(_CHECK)),
    ]


def _rows(session: Session, spec: CustomSpec, table: str) -> Check:
    rows, wanted = int(session.ask("count_rows", table=table)[0][0]), rows_of(spec, table)
    return Check(f"rows of {table}", rows >= wanted, f"{rows:,}, at least {wanted:,} expected")


def _own(session: Session, statement: Statement) -> Check:
    wrong = int(session.ask(statement.name)[0][0] or 0)
    found = "holds" if not wrong else f"{wrong:,} wrong"
    detail = ": ".join(filter(None, [statement.description, found]))
    return Check(statement.name.removeprefix(_CHECK), wrong == 0, detail)
