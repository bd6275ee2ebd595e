"""What an engine lacks of the declared operations, by its statements and methods alone; no session is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hdbkit.contracts import OPERATIONS, Database, Operation
from hdbkit.databases import BaseDatabase
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads import contracts


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
