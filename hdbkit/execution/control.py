"""The control page: a few numbers that supervisor, clients and watchers share through a file.

Each field has one writer, named below. Clients read the two times in their loop; no messages are sent.
"""

from __future__ import annotations

import mmap
import os
from enum import IntEnum
from pathlib import Path

from hdbkit.files import opened_file, private

_FIELDS_OF_RUN = 16
_FIELDS_OF_CLIENT = 2
NEVER_NS = 2**63 - 1
HEAD_START_S = 0.1
"""The common start is published this long ahead; a ready client polls it twice in that time."""


class Field(IntEnum):
    """The fields of the run."""

    START_AT_NS = 0  # supervisor: when all begin; NEVER_NS until all are ready
    STOP_AT_NS = 1  # supervisor: no operation begins at or after this
    STOP_REQUEST = 2  # anybody: see Stop
    CLIENTS = 3  # supervisor: number of clients
    HEARD_AT_NS = 4  # actor of a load host: when the coordinator was heard last


class Stop(IntEnum):
    """A watcher's request to stop."""

    NO = 0
    GRACEFUL = 1  # end the window now, keep the result
    AT_ONCE = 2  # end the clients now, keep what they finished


class ClientState(IntEnum):
    """The state of a client process, written by the client."""

    STARTING = 0
    READY = 1
    RUNNING = 2
    DONE = 3
    FAILED = 4  # it could not begin or not continue; its reason is beside its spool
    RAISED = 5  # an operation failed and the run is configured to end then
    DISK_FULL = 6  # its spool could not grow, and perhaps nothing could be written beside it


class Control:
    """The page, mapped; ``fields`` is a view of 64-bit numbers, indexed by :class:`Field`."""

    def __init__(self, path: Path) -> None:
        fd = opened_file(path, os.O_RDWR)
        try:
            self._map = mmap.mmap(fd, 0)
        finally:
            os.close(fd)
        self.fields = memoryview(self._map).cast("q")

    @classmethod
    def create(cls, path: Path, clients: int) -> Control:
        """Create a page for this number of clients."""
        size = 8 * (_FIELDS_OF_RUN + clients * _FIELDS_OF_CLIENT)
        with open(path, "wb", opener=private) as file:
            file.write(bytes(size))
        page = cls(path)
        page.fields[Field.START_AT_NS] = page.fields[Field.STOP_AT_NS] = NEVER_NS
        page.fields[Field.CLIENTS] = clients
        return page

    def state(self, client: int) -> ClientState:
        """The state of a client."""
        return ClientState(self.fields[_FIELDS_OF_RUN + client * _FIELDS_OF_CLIENT])

    def states(self) -> list[ClientState]:
        """The state of every client."""
        return [self.state(i) for i in range(self.fields[Field.CLIENTS])]

    def set_state(self, client: int, state: ClientState) -> None:
        """Set a client's state; only the client itself does."""
        self.fields[_FIELDS_OF_RUN + client * _FIELDS_OF_CLIENT] = state

    def set_pid(self, client: int, pid: int) -> None:
        """Set a client's process id; only the client itself does."""
        self.fields[_FIELDS_OF_RUN + client * _FIELDS_OF_CLIENT + 1] = pid

    def pid(self, client: int) -> int:
        """A client's process id; 0 before it began."""
        return self.fields[_FIELDS_OF_RUN + client * _FIELDS_OF_CLIENT + 1]

    def pids(self) -> list[int]:
        """The process id of every client that began."""
        return [pid for i in range(self.fields[Field.CLIENTS]) if (pid := self.pid(i))]

    def close(self) -> None:
        """Unmap the page."""
        self.fields.release()
        self._map.close()
