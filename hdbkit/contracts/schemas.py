"""A workload's schema in a database: how it is built in parts, recorded and dropped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

from hdbkit.config import Target
from hdbkit.config.model import ConfigModel
from hdbkit.contracts.sessions import Access, Session, Table


class Verb(StrEnum):
    """What needs privileges on a whole schema; a run needs those of its load's operations."""

    BUILD = "build"
    CHECK = "check"
    DROP = "drop"


@dataclass(frozen=True)
class Part:
    """A part of the population that is loaded in one transaction; ``key`` is its name in the build log.

    Parts are loaded in parallel, except those that are ``alone``: one by one, after all others.
    """

    key: str
    rows: int
    size_bytes: int
    alone: bool = False


@dataclass(frozen=True)
class TableLoad:
    """What goes into one table for one part: tab-separated text in ``chunks``, made while it is read."""

    table: Table
    chunks: Iterator[bytes]


@dataclass(frozen=True)
class StatementLoad:
    """A named operation that makes the rows of a part in the database itself."""

    operation: str


PartLoad = TableLoad | StatementLoad
"""What a part is loaded by."""


class SchemaOptions(ConfigModel):
    """Storage options of a schema; each engine has a subclass with its own fields.

    In a specification they are ``WorkloadSpec.storage``; in files they are keys next to the specification's own keys.
    """

    noun: ClassVar[str] = "the storage options"


@dataclass(frozen=True)
class BuildLog:
    """State of a build: existing tables, the specification, whether the build is complete, and the rows of each part.

    ``spec`` is None until a build has started.
    """

    exists: bool
    tables: frozenset[str] = frozenset()
    spec: str | None = None
    finished: bool = False
    parts: Mapping[str, int] = field(default_factory=dict)


class Schema(Protocol):
    """A workload's schema in a database, over one connection: how it is built, recorded and dropped.

    A build records every part in the schema itself, in the same transaction as its rows, so it can be killed at any
    point and resumed. An engine without SQL keeps the same record in its own format. What has a body here is right
    where nothing is reserved, and where the load is all that there is to do.
    """

    session: Session
    """The connection, with the workload's scope."""
    target: Target
    """The database that it is in."""

    def log(self) -> BuildLog:
        """The current state of the build. The tables of the record itself are not listed.

        Raises:
            TransactionError: this account may not read the record.
        """

    def claim(self) -> bool:
        """Reserve the schema until ``close``; false if another process has reserved it, to build or to drop it.

        A repeated call confirms it. Raises ``TransactionError`` if the server has ended the reservation since.
        """
        return True

    def create(self, spec: str) -> None:
        """Create the schema, the record with ``spec``, and missing tables; a record of another ``spec`` is replaced
        and no longer complete.

        Raises:
            BuildFailed: a table cannot be created; its cause is the ``TransactionError``.
        """

    def load(self, part: str, loads: Iterable[PartLoad], sent: Callable[[int, int], None]) -> None:
        """Load a part and note it, in one transaction; ``sent(rows, size_bytes)`` is called as text is sent."""

    def after_load(self) -> Mapping[str, str]:
        """The steps that remain once all parts are loaded, such as indexes, each with its table ("": unknown).

        Any process can do each.
        """
        return {}

    def routines(self) -> None:
        """Create missing stored routines, and those of another version anew; does nothing if the engine has none."""
        return

    def routine_problem(self, used: Collection[str]) -> str:
        """Why the routines ``used`` are not those that this version creates: they are missing, or of another one.

        Empty if they are, also where the engine has none.
        """
        return ""

    def statistics(self) -> Mapping[str, str]:
        """The steps that update the optimizer's statistics, each with its table, which must have its indexes.

        Any process can do each.
        """
        return {}

    def missing_grants(self, access: Access) -> list[str]:
        """The commands that grant this account what it lacks to read the build record, and of ``access``."""
        return []

    def unanalyzed(self) -> list[str]:
        """The tables without useful statistics for the optimizer, each with the reason, if the server knows it."""
        return []

    def analyze(self) -> None:
        """Update the optimizer's statistics of the workload's tables, and change nothing else.

        Raises:
            InputError: this account may not.
        """
        return

    def do(self, name: str) -> None:
        """Do one step of ``after_load`` or ``statistics``."""
        return

    def finish(self) -> None:
        """Record that the schema is complete."""

    def drop(self) -> list[str]:
        """Drop what a build created, and nothing else; return what was dropped, such as ``table accounts``."""

    def close(self) -> None:
        """Close the connection; never raises."""
        self.session.close()
