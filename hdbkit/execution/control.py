"""The control page: a few numbers that supervisor, clients and watchers share through a file.

Each word has one writer, named below. Clients read the two times in their loop; nobody sends a message.
"""

from __future__ import annotations

import mmap
import os
from enum import IntEnum
from pathlib import Path

_WORDS_OF_RUN = 16
_WORDS_OF_CLIENT = 2
NEVER_NS = 2**63 - 1
HEAD_START_S = 0.1
"""How long before the common start it is published; a client that is ready looks for it twice in that time."""


class Word(IntEnum):
    """The words of the run."""

    START_AT_NS = 0  # supervisor: when all begin; NEVER_NS until all are ready
    STOP_AT_NS = 1  # supervisor: no transaction begins at or after this
    STOP_REQUEST = 2  # anybody: see Stop
    CLIENTS = 3  # supervisor: how many clients


class Stop(IntEnum):
    """What a watcher asks for."""

    NO = 0
    GRACEFUL = 1  # end the window now, keep the result
    AT_ONCE = 2  # end the clients now, keep what they finished


class ClientState(IntEnum):
    """Where a client is; written by itself."""

    STARTING = 0
    READY = 1
    RUNNING = 2
    DONE = 3
    FAILED = 4  # it could not begin, or not go on; its reason is beside its spool
    RAISED = 5  # a transaction failed and the run asked to end then
    DISK_FULL = 6  # its spool could not grow, and perhaps nothing could be written beside it


class Control:
    """The page, mapped; ``words`` is a view of 64-bit numbers."""

    def __init__(self, path: Path) -> None:
        fd = os.open(path, os.O_RDWR)
        try:
            self._map = mmap.mmap(fd, 0)
        finally:
            os.close(fd)
        self.words = memoryview(self._map).cast("q")

    @classmethod
    def create(cls, path: Path, clients: int) -> Control:
        """A new page for so many clients."""
        size = 8 * (_WORDS_OF_RUN + clients * _WORDS_OF_CLIENT)
        path.write_bytes(bytes(size))
        page = cls(path)
        page.words[Word.START_AT_NS] = page.words[Word.STOP_AT_NS] = NEVER_NS
        page.words[Word.CLIENTS] = clients
        return page

    def state(self, client: int) -> ClientState:
        """Where a client is."""
        return ClientState(self.words[_WORDS_OF_RUN + client * _WORDS_OF_CLIENT])

    def states(self) -> list[ClientState]:
        """Where every client is."""
        return [self.state(i) for i in range(self.words[Word.CLIENTS])]

    def set_state(self, client: int, state: ClientState) -> None:
        """A client's word about itself."""
        self.words[_WORDS_OF_RUN + client * _WORDS_OF_CLIENT] = state

    def set_pid(self, client: int, pid: int) -> None:
        """A client's process id, written by itself."""
        self.words[_WORDS_OF_RUN + client * _WORDS_OF_CLIENT + 1] = pid

    def pid(self, client: int) -> int:
        """A client's process id; 0 before it began."""
        return self.words[_WORDS_OF_RUN + client * _WORDS_OF_CLIENT + 1]

    def close(self) -> None:
        """Unmap the page."""
        self.words.release()
        self._map.close()
