"""What an engine asks of its server: each question in a session of its own, its answer against the declaration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from hdbkit.config import Target
from hdbkit.contracts import Database, Operation, Row, Session
from hdbkit.contracts.operations import SUBJECTS
from hdbkit.databases import database
from hdbkit.engines.gaps import has_method, provided
from hdbkit.sql import SERVER_STATEMENTS, statements

_ANY: Final = "..."
"""Stands for further columns in a declaration."""


def ask_server(target: Target) -> Iterator[tuple[str, str]]:
    """Yield each question that the engine has, with what is wrong with the answer; empty if nothing is.

    Raises:
        CannotConnect: the server rejects the connection.
    """
    engine = database(target)
    asked = [one for one in SUBJECTS["server"] if one.needs <= engine.capabilities]
    for one in asked:
        if provided(engine, SERVER_STATEMENTS, one):
            with closing(engine.connect(target)) as session:
                yield one.name, _problem(engine, session, one)


def _problem(engine: Database, session: Session, one: Operation) -> str:
    """What is wrong with an answer. Whatever is raised is wrong: ``doctor`` and runs would stop there."""
    try:
        by_statement = one.name in statements(engine.dialects, SERVER_STATEMENTS)
        rows = session.ask(one.name) if by_statement and not has_method(engine, one.method) else []
        getattr(engine, one.method)(session)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return wrong_rows(rows, one.columns)


def wrong_rows(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """What is wrong with rows of these columns: their number, or a name that is padded with blanks."""
    for row in rows:
        if _ANY not in columns and len(row) != len(columns):
            return f"{len(row)} columns instead of {len(columns)} ({', '.join(columns)})"
        if isinstance(row[0], str) and row[0] != row[0].strip():
            return f"the column {columns[0]} is padded with blanks: {row[0]!r}; cast it to VARCHAR, or trim it"
    return ""
