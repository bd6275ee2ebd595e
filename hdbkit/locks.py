"""Locks between processes: each ends with the last process that has its descriptor, even if that is killed."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hdbkit.errors import InputError

_POLL_S = 0.05


@contextmanager
def held(path: Path, otherwise: str = "", wait_s: float = 0.0, *, create: bool = False) -> Iterator[int]:
    """Lock a folder or a file; yield the descriptor, which processes may inherit.

    Args:
        path: the folder or the file; no link is followed to a file.
        otherwise: the error if another process has the lock; without it, wait for that process.
        wait_s: how long to wait before that error.
        create: create the file if it is missing.

    Raises:
        FileNotFoundError: there is no such folder or file.
        InputError: ``otherwise``.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        if not otherwise:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        elif not _locked(descriptor, wait_s):
            raise InputError(otherwise)
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int, wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True
