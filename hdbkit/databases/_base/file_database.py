"""Engines that are a library on a file or folder in the client's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import SessionOptions
from hdbkit.databases._base.dbapi import DbapiDatabase
from hdbkit.databases._base.file_lock import FileSchema
from hdbkit.databases._base.sql_schema import SqlSchema
from hdbkit.errors import CannotConnect


class FileDatabase(DbapiDatabase):
    """An engine that is a library: the database is a file or folder of this host, and there is no server.

    A lock on a file next to the database reserves a schema.
    """

    answers = frozenset({"claim_schema"})
    schema_type: type[SqlSchema] = FileSchema
    suffixes: tuple[str, ...] = ()
    """What its files end with, behind the name of the database: the database, and its logs."""

    def _opened(self, target: Target, options: SessionOptions) -> tuple[Any, int | None]:
        """In this thread: a file answers."""
        return self.opened(target, options), None

    def files(self, target: Target) -> tuple[Path, ...]:
        """The database and its logs."""
        return tuple(Path(f"{target.database}{suffix}") for suffix in self.suffixes)

    def path(self, target: Target) -> Path:
        """The file or folder of a target. Raises ``CannotConnect`` if it names none, or there is no place for it."""
        path = Path(target.database or "")
        if target.host or not target.database:
            advice = f"write {self.kind}:///file, or {self.kind}:////folder/file"
            raise CannotConnect(target.url, f"{self.title} has no host", advice)
        if not path.parent.is_dir():
            raise CannotConnect(target.url, f"there is no folder {path.parent}", "create it, or correct the path")
        return path.absolute()
