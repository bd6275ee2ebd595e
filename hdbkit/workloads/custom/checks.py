"""The checks of a user-defined workload: row counts of what was loaded, and the folder's own statements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from hdbkit.config.specs.custom import CustomSpec
from hdbkit.contracts import Check, CheckSession, PlannedCheck
from hdbkit.sql import Statement
from hdbkit.workloads.checking import all_there
from hdbkit.workloads.custom.population import rows_of

_CHECK, _INDEX = "check_", "index_"


def checks(spec: CustomSpec, statements: Mapping[str, Statement]) -> list[PlannedCheck]:
    """One per table and per statement ``check_...``, which returns a number of errors; the indexes of a build."""
    indexes = tuple(name.removeprefix(_INDEX) for name in statements if name.startswith(_INDEX))
    return [
        *(
            PlannedCheck(f"rows of {table}", partial(_rows, spec=spec, table=table))
            for table in spec.definition.tables
        ),
        *([all_there("indexes", indexes)] if indexes else []),
        *(
            PlannedCheck(name.removeprefix(_CHECK), partial(_own, statement=one))
            for name, one in statements.items()
            if name.startswith(_CHECK)
        ),
    ]


def _rows(session: CheckSession, *, spec: CustomSpec, table: str) -> Check:
    rows, wanted = int(session.ask("count_rows", table=table)[0][0]), rows_of(spec, table)
    return Check(f"rows of {table}", rows >= wanted, f"{rows:,}, at least {wanted:,} expected")


def _own(session: CheckSession, *, statement: Statement) -> Check:
    wrong = int(session.ask(statement.name)[0][0] or 0)
    found = "holds" if not wrong else f"{wrong:,} wrong"
    detail = ": ".join(filter(None, [statement.description, found]))
    return Check(statement.name.removeprefix(_CHECK), wrong == 0, detail)
