"""Engines as such: what one lacks of the declared operations, whether it keeps a workload's rules, and a new one.

The questions are those of ``hdbkit doctor`` and of each run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from hdbkit.config import Target
from hdbkit.contracts import OPERATIONS, Database, Operation, Row, Session
from hdbkit.contracts.operations import SUBJECTS
from hdbkit.databases import BaseDatabase, database, kinds, unusable
from hdbkit.engines.trying import Tried, try_rules
from hdbkit.errors import InputError
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import contracts

__all__ = ["Gap", "Tried", "ask_server", "asked", "lacking", "provided", "try_rules", "write_skeleton"]


_NAME: Final = re.compile(r"[a-z][a-z0-9]{1,30}")
_FILES: Final = {
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
    "module.py.txt": "hdbkit_$name/__init__.py",
    "fragments.sql.txt": "hdbkit_$name/schemas/$name/fragments.sql",
    "server.sql.txt": "hdbkit_$name/schemas/$name/server/server.sql",
    "test.py.txt": "tests/test_$name.py",
}
"""The templates, and the file that each becomes."""


def write_skeleton(name: str, folder: Path) -> list[Path]:
    """Write the package of an engine into a new or empty folder; return its files.

    Raises:
        InputError: the name cannot be one of a kind of database, or is taken, or the folder has files.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"'{name}' cannot be a kind of database; use 2 to 31 lower-case letters and digits")
    if name in kinds() or name in unusable():
        raise InputError(f"there is a kind of database '{name}' already; choose another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty; name a new folder")
    words = {"name": name, "title": name.capitalize(), "class_name": name.capitalize(), "upper": name.upper()}
    written = []
    for template, place in _FILES.items():
        text = resources.files("hdbkit.engines").joinpath("skeleton", template).read_text(encoding="utf-8")
        path = folder / Template(place).substitute(words)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(text).safe_substitute(words), encoding="utf-8")
        written.append(path)
    return written


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


# What an engine lacks of the declared operations, by its statements and methods alone; no session is opened.


@dataclass(frozen=True)
class Gap:
    """An operation that an engine lacks although it has the capabilities of it."""

    folder: str
    """Its folder in ``schemas/<engine>``: ``server``, or that of a workload."""
    operation: Operation


def asked() -> Mapping[str, tuple[Operation, ...]]:
    """Every declared operation, by the folder of its statement."""
    return {SERVER_STATEMENTS: OPERATIONS, **contracts()}


def lacking(engine: Database) -> list[Gap]:
    """The declared operations that this engine lacks; those of capabilities that it does not have are left out."""
    return [
        Gap(folder, one)
        for folder, operations in asked().items()
        for one in operations
        if one.needs <= engine.capabilities and not provided(engine, folder, one)
    ]


def provided(engine: Database, folder: str, operation: Operation) -> bool:
    """Whether the engine has the operation: as a statement, by its sessions, or by a method of its own."""
    if operation.name in engine.answers or has_method(engine, operation.method):
        return True
    known = {*statements(engine.dialects, folder), *statements(engine.dialects, SERVER_STATEMENTS)}
    return any(map(operation.matches, known))


def has_method(engine: Database, name: str) -> bool:
    """Whether the engine implements the method itself; that of the base only asks for the operation."""
    return bool(name) and getattr(type(engine), name) is not getattr(BaseDatabase, name)
