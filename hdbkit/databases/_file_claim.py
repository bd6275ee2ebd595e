"""The reservation of a schema by a lock on a file of this host, for engines without locks of their own for it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK


class FileClaim:
    """A lock on a file, which ends with the process at the latest; the file, if empty, is removed with it.

    A file that has content is somebody else's and keeps it; a symbolic link is not followed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: IO[bytes] | None = None

    def take(self) -> bool:
        """Take the lock, unless it is taken already; false if another process has it."""
        while self._opened is None:
            opened = os.fdopen(os.open(self._path, _FLAGS, 0o666), "rb")
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._path.stat().st_ino == os.fstat(opened.fileno()).st_ino:
                    self._opened = opened
                    break
            except BlockingIOError:
                opened.close()
                return False
            except FileNotFoundError:
                pass  # who had it has just removed it
            opened.close()
        return True

    def end(self) -> None:
        """Remove the file and release the lock; never raises."""
        if self._opened is not None:
            with suppress(OSError):
                if not os.fstat(self._opened.fileno()).st_size:
                    self._path.unlink()
            self._opened.close()
            self._opened = None
