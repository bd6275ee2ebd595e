"""The reservation of a schema by a lock on a file of this host, for engines without locks of their own for it."""

from __future__ import annotations

from pathlib import Path

from hdbkit.databases._file_lock import locked, unlock


class FileClaim:
    """A lock on a file, which ends with the process at the latest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take the lock, unless it is taken already; false if another has it."""
        if self._descriptor is None:
            self._descriptor = locked(self._path)
        return self._descriptor is not None

    def end(self) -> None:
        """Remove the file and release the lock; never raises."""
        if self._descriptor is not None:
            unlock(self._path, self._descriptor)
            self._descriptor = None
