"""Locks on files of this host. A file, if empty, is removed with its lock.

A file that has content is somebody else's and keeps it; a symbolic link is not followed.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def locked(path: Path, alone: bool = True) -> int | None:
    """Lock a file, alone or with others that share it; its descriptor, or None if another has the lock."""
    while True:
        descriptor = os.open(path, _FLAGS, 0o666)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            if path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass  # who had it has just removed it
        os.close(descriptor)


def unlock(path: Path, descriptor: int) -> None:
    """Release a lock, and remove its file unless others share it; never raises."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(descriptor).st_size:
            path.unlink()
    os.close(descriptor)


@dataclass
class _Held:
    descriptor: int | None
    """None: the file cannot be created, so nobody else writes either."""
    writes: bool
    count: int = 0


_held: dict[Path, _Held] = {}
_changing = Lock()


class ProcessLock:
    """A lock that the sessions of this process share; shared with other processes, too, if it is for reading.

    It is for engines whose sessions share an open file, and whose own lock does not cover all of its opening. It is
    on a file of its own: a process that closes a descriptor of the engine's file loses the engine's lock (fcntl(2)).
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def take(cls, path: Path, writes: bool) -> ProcessLock | None:
        """Take the lock; None if another process has it, or this one has it for reading and is to write.

        Raises ``OSError`` if the file of a lock for writing cannot be created.
        """
        with _changing:
            held = _held.get(path)
            if held is None:
                held = _Held(None, writes)
                with suppress(OSError) if not writes else nullcontext():
                    held.descriptor = locked(path, alone=writes)
                    if held.descriptor is None:
                        return None
                _held[path] = held
            if writes and not held.writes:
                return None
            held.count += 1
        return cls(path)

    def end(self) -> None:
        """Release it once; the lock ends with the last of the process."""
        with _changing:
            held = _held[self._path]
            held.count -= 1
            if not held.count:
                del _held[self._path]
                if held.descriptor is not None:
                    unlock(self._path, held.descriptor)
