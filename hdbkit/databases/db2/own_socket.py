"""The socket of a connection whose driver does not name it, to notice that the driver has replaced the connection.

It is found by what a login adds to the sockets of this process, on Linux alone; elsewhere nothing is noticed.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

_DESCRIPTORS: Final = Path("/proc/self/fd")
_LOGIN: Final = threading.Lock()
"""One login at a time, so that what is new is its own."""


class OwnSocket:
    """The socket that ``login`` opened to ``port``; unknown if there is not exactly one."""

    def __init__(self, login: Callable[[], Any], port: int) -> None:
        with _LOGIN:
            before = _sockets()
            self.connection = login()
            """What ``login`` returned."""
            new = [one for one in _sockets() - before if _leads_to(one[0], port)]
        self._known = new[0] if len(new) == 1 else None

    @property
    def was_replaced(self) -> bool:
        """Whether the connection has another socket by now; a call of the operating system, no round trip."""
        if self._known is None:
            return False
        descriptor, number = self._known
        try:
            return os.fstat(descriptor).st_ino != number
        except OSError:
            return True


def _sockets() -> set[tuple[int, int]]:
    """Descriptor and inode number of each socket of this process; a new socket never has the number of another."""
    found = set()
    with suppress(OSError):
        for one in _DESCRIPTORS.iterdir():
            with suppress(OSError):  # that of the list itself
                state = os.fstat(int(one.name))
                if stat.S_ISSOCK(state.st_mode):
                    found.add((int(one.name), state.st_ino))
    return found


def _leads_to(descriptor: int, port: int) -> bool:
    with suppress(OSError), closing(socket.socket(fileno=os.dup(descriptor))) as one:
        return one.family in (socket.AF_INET, socket.AF_INET6) and one.getpeername()[1] == port
    return False
