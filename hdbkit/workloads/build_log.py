"""What a schema is built as and how far that came: the log that a build keeps in the schema itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hdbkit.config import WorkloadSpec
from hdbkit.contracts import Session
from hdbkit.errors import ConfigErrors, SchemaProblem, TransactionError

LOG_TABLES = ("build_spec", "build_part")


@dataclass(frozen=True)
class BuildLog:
    """What was found: whether there is a schema, its tables, and what the build noted of itself.

    ``spec`` is None as long as no build has begun; ``parts`` are the loaded ones with their rows.
    """

    schema_exists: bool
    tables: frozenset[str]
    spec: WorkloadSpec | None
    finished: bool
    parts: dict[str, int]


def read_build_log(session: Session, kind: str, tables: Collection[str]) -> BuildLog:
    """The log of the schema ``kind``, whose tables are ``tables``.

    Raises:
        SchemaProblem: there are tables in it that hdbkit did not make, its record cannot be read, or this account
            may not read it.
    """
    if not session.query("schema_exists")[0][0]:
        return BuildLog(False, frozenset(), None, False, {})
    found = frozenset(row[0] for row in session.query("list_tables"))
    _refuse_foreign(kind, found, tables)
    if not found:
        return BuildLog(True, found, None, False, {})
    try:
        specs, finished, parts = (session.query(f"select_build_{name}") for name in ("spec", "finished", "parts"))
    except TransactionError as error:
        raise SchemaProblem(
            f"schema {kind} is there, but this account may not read it ({error.text}); "
            "use the account that built it, or grant it that schema, its tables and routines"
        ) from None
    if not specs:
        return BuildLog(True, found, None, False, {})
    return BuildLog(True, found, _read(kind, specs[0][0]), bool(finished[0][0]), dict(parts))


def _refuse_foreign(kind: str, found: frozenset[str], tables: Collection[str]) -> None:
    foreign = sorted(found - set(tables) - set(LOG_TABLES))
    if found and not foreign and not found.issuperset(LOG_TABLES):
        foreign = sorted(found)
    if foreign:
        other = ", or --schema-from hammerdb where HammerDB made them" if found.issuperset(tables) else ""
        raise SchemaProblem(
            f"schema {kind} holds tables that hdbkit did not make ({', '.join(foreign)}); use another database{other}"
        )


def _read(kind: str, text: str) -> WorkloadSpec:
    try:
        return WorkloadSpec.model_validate_json(text)
    except (ValueError, ConfigErrors):
        raise SchemaProblem(
            f"schema {kind} was built by another hdbkit, whose record this one cannot read; run: hdbkit drop ..."
        ) from None
