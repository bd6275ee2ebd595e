"""Schemas in a file of an embedded engine, which one process at a time builds or drops."""

from __future__ import annotations

from pathlib import Path

from hdbkit.config import Target
from hdbkit.contracts import Workload
from hdbkit.databases._base.file_lock import FileClaim
from hdbkit.databases._base.sql_schema import SqlDatabase, SqlSchema


class FileSchema(SqlSchema):
    """A schema in a file, reserved by a lock on a file next to it."""

    def __init__(self, engine: SqlDatabase, target: Target, workload: Workload) -> None:
        self._reserved = FileClaim(Path(f"{target.database}-build"))
        super().__init__(engine, target, workload)

    def claim(self) -> bool:
        """By a lock that ends with the process."""
        return self._reserved.take()

    def close(self) -> None:
        """Close the connection and end the reservation; never raises."""
        super().close()
        self._reserved.end()
