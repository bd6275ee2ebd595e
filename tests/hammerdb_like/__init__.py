"""An imitation of a HammerDB schema, written from its documented signatures and behaviour.

Tables that hdbkit built are converted to HammerDB's form, and get procedures with HammerDB's names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hdbkit.config import Target
from hdbkit.contracts import Row, Scope, Session
from hdbkit.databases import database, sql_session
from hdbkit.databases.postgresql.session import PsycopgSession
from hdbkit.servers import PrivateServer
from hdbkit.sql import statements
from hdbkit.workloads.present import LOG_TABLES
from hdbkit.workloads.tproc_h.tables import TPROC_H_TABLES

GROUP: Final = "tproc_c.hammerdb"
_FOLDER: Final = Path(__file__).parent


def converted(target: Target) -> Target:
    """The same database of MariaDB or MySQL; what hdbkit built there is HammerDB's now."""
    _execute(target, GROUP, "mysql")
    return target


def copied(server: PrivateServer, name: str, *, functions: bool = False, rewrite: bool = False) -> Target:
    """Another database on a PostgreSQL server, as the copy of what hdbkit built, with procedures or functions.

    ``rewrite`` writes every table anew, as if it had never been another.
    """
    target = server.target.with_(database=name)
    admin = sql_session(server.maintenance)
    admin.ask("copy_database", copy=name, original=server.target.database, owner=target.user)
    admin.close()
    _execute(target, "tproc_c", "postgresql_tables")
    _execute(target, GROUP, "postgresql_procedures")
    if functions:
        _execute(target, GROUP, "postgresql_functions")
    if rewrite:
        for statement in text("postgresql_rewrite").split(";\n"):
            execute(target, GROUP, statement)
    return target


@contextmanager
def tproc_h(target: Target) -> Iterator[None]:
    """What hdbkit built for TPROC-H in a database, as HammerDB's tables: copied on PostgreSQL, else renamed."""
    if target.kind == "postgresql":
        there, away = text("postgresql_tproc_h"), f"DROP TABLE {', '.join(f'public.{one}' for one in TPROC_H_TABLES)}"
    else:
        names = {one: one.upper() for one in TPROC_H_TABLES} | {one: f"hidden_{one}" for one in LOG_TABLES}
        there = f"RENAME TABLE {', '.join(f'{one} TO {other}' for one, other in names.items())}"
        away = f"RENAME TABLE {', '.join(f'{other} TO {one}' for one, other in names.items())}"
    execute(target, "tproc_h.hammerdb", there)
    try:
        yield
    finally:
        execute(target, "tproc_h.hammerdb", away)


def execute(target: Target, group: str, command: str) -> None:
    """Run SQL in the database of ``target``, as a session of ``group`` sees it."""
    session: Any = connect(target, group)
    try:
        session.execute(command)
    finally:
        session.close()


def definitions(target: Target) -> list[Row]:
    """Everything that is defined in the database, for a comparison of before and after."""
    session: Any = connect(target)
    try:
        return rows(session, text("postgresql_definitions" if target.kind == "postgresql" else "mysql_definitions"))
    finally:
        session.close()


def rows(session: Any, query: str) -> list[Row]:
    """All rows of a query."""
    raw = session.connection
    if isinstance(session, PsycopgSession):
        return session.rows(raw.exec_(query.encode()))
    raw.query(query.encode())
    return list(session.rows(raw.store_result()))


def connect(target: Target, group: str = GROUP) -> Session:
    """A session on the imitation."""
    engine = database(target)
    schema = "" if "." in group else group
    return engine.connect(target, Scope(schema, statements(engine.dialects, group)))


def _execute(target: Target, group: str, name: str) -> None:
    execute(target, group, text(name))


def text(name: str) -> str:
    """The SQL of a file of this folder."""
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
