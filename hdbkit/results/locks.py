"""Locks of a results folder: one process at a time does something to a server."""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hdbkit.errors import InputError
from hdbkit.files import nofollow
from hdbkit.results.folder import make_folder

_END_GRACE_S = 2.0
"""How long to wait for a process that is about to exit."""


@contextmanager
def only_one(root: Path, what: str, otherwise: str) -> Iterator[int]:
    """Lock ``what`` in the results folder ``root``; yield the descriptor of the lock.

    The lock ends with the last process that has the descriptor: this one, and those that inherited it.

    Raises:
        InputError: ``otherwise``, while another process holds the lock.
    """
    folder = make_folder(root / "sweeps" / ".locks", exist_ok=True)
    with open(folder / hashlib.sha256(what.encode()).hexdigest()[:16], "ab", opener=nofollow) as file:
        if not _locked(file):
            raise InputError(otherwise)
        yield file.fileno()


def _locked(file: IO[bytes]) -> bool:
    """Lock the file, waiting for a process that is about to exit; return whether that succeeded."""
    deadline = time.monotonic() + _END_GRACE_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True
