"""Locks on files of this host, and the schemas that they reserve.

The file of a lock is removed with it if it is empty.

A non-empty file is never removed, and a symbolic link is not followed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from hdbkit.config import Target
from hdbkit.contracts import Workload
from hdbkit.databases._base.sql_schema import SqlDatabase, SqlSchema
from hdbkit.paths import state_folder

_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_WRITABLE = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS}


def locked(path: Path, exclusive: bool = True) -> int | None:
    """Take an exclusive or a shared lock; its descriptor, or None if others have it. Raises ``OSError``."""
    while True:
        descriptor = _opened(path)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def unlock(path: Path, descriptor: int) -> None:
    """Release a lock, and remove its file unless others share it; never raises."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(path, descriptor) and not os.fstat(descriptor).st_size:
            path.unlink()
    os.close(descriptor)


def _opened(path: Path) -> int:
    """The file's descriptor; the file is created unless another user has done so, whose file need not be writable."""
    try:
        return os.open(path, _FLAGS | os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        with suppress(FileNotFoundError):
            return os.open(path, _FLAGS | os.O_RDONLY)
        raise


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the previous holder of a lock has not removed its file."""
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


@dataclass
class _Held:
    descriptor: int | None
    """None: the folder cannot be written."""
    writes: bool
    count: int = 0


class _OfProcess:
    """The locks of this process."""

    def __init__(self) -> None:
        self.held: dict[Path, _Held] = {}
        self.changing = Lock()

    def forget(self) -> None:
        """In a forked process: the locks are those of its parent."""
        for one in self.held.values():
            if one.descriptor is not None:
                os.close(one.descriptor)
        self.held, self.changing = {}, Lock()


_locks = _OfProcess()
os.register_at_fork(after_in_child=_locks.forget)


class ProcessLock:
    """A lock that the sessions of this process share; a lock for reading is shared with other processes, too.

    It is for engines whose sessions share an open file, and that read the file before they lock it. It is on a file
    of its own: a process that closes any descriptor of the engine's file loses the engine's lock (fcntl(2)).
    """

    def __init__(self, path: Path) -> None:
        self._path, self._ended = path, False

    @classmethod
    def take(cls, path: Path, writes: bool) -> ProcessLock | None:
        """Take the lock; None if another process has it, or if this one has it only for reading and ``writes``.

        A reader needs no lock in a folder that it cannot write and where no writer has left the file of one.

        Raises ``OSError`` if the file cannot be created or locked.
        """
        with _locks.changing:
            held = _locks.held.get(path)
            if held is None:
                held = _Held(None, writes)
                try:
                    held.descriptor = locked(path, exclusive=writes)
                    if held.descriptor is None:
                        return None
                except OSError as error:
                    if writes or error.errno not in _NOT_WRITABLE:
                        raise
                _locks.held[path] = held
            if writes and not held.writes:
                return None
            held.count += 1
        return cls(path)

    def end(self) -> None:
        """Release it; the lock ends with the last of the process. Does nothing when repeated."""
        with _locks.changing:
            if self._ended:
                return
            self._ended = True
            held = _locks.held[self._path]
            held.count -= 1
            if not held.count:
                del _locks.held[self._path]
                if held.descriptor is not None:
                    unlock(self._path, held.descriptor)


class FileClaim:
    """The reservation of a schema by a lock on a file, for engines without locks of their own for it.

    It ends with the process at the latest.
    """

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


class FileSchema(SqlSchema):
    """A schema in a file, reserved by a lock on a file next to it."""

    def __init__(self, engine: SqlDatabase, target: Target, workload: Workload) -> None:
        self._reserved = FileClaim(self.claim_file(target))
        super().__init__(engine, target, workload)

    def claim_file(self, target: Target) -> Path:
        """The file of the lock."""
        return Path(f"{target.database}-build")

    def claim(self) -> bool:
        """By a lock that ends with the process."""
        return self._reserved.take()

    def close(self) -> None:
        """Close the connection and end the reservation; never raises."""
        super().close()
        self._reserved.end()


class HostSchema(FileSchema):
    """A schema on a server without usable locks, reserved among the processes of this account on this host alone."""

    def claim_file(self, target: Target) -> Path:
        """A file of this account."""
        return state_folder() / f"{target.kind}-{hashlib.sha256(target.url.encode()).hexdigest()[:16]}-build"

    def claim(self) -> bool:
        """By a lock on the file, whose folder is created if it is missing."""
        state_folder().mkdir(parents=True, exist_ok=True)
        return super().claim()
