"""What is required of a schema that another tool created and that is run as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from hdbkit.contracts import Session
from hdbkit.errors import SchemaProblem

LOG_TABLES: Final = frozenset({"build_spec", "build_part"})
"""The record of a build of hdbkit's own."""
ELSEWHERE: Final = "create them with HammerDB, or use another database"


def has_tables(session: Session, tables: Collection[str]) -> bool:
    """Whether HammerDB's tables are there, by the statement ``list_tables``; False if none of them is.

    Raises:
        SchemaProblem: some are missing, or hdbkit built them.
    """
    there = {row[0] for row in session.ask("list_tables")}
    if there.isdisjoint(tables):
        return False
    if there & LOG_TABLES:
        raise SchemaProblem("hdbkit itself built this schema, not HammerDB; omit schema_from")
    refuse_missing("tables", (table for table in tables if table not in there))
    return True


def refuse_missing(what: str, names: Iterable[str]) -> None:
    """Raise ``SchemaProblem`` if there are names of what is missing."""
    missing = ", ".join(names)
    if missing:
        raise SchemaProblem(f"HammerDB's schema lacks the {what} {missing}; {ELSEWHERE}")
