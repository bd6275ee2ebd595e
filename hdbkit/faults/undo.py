"""What a fault leaves behind, and how it is undone.

It is written to the run folder before the fault begins, so that another process can undo it: the process that causes
the faults does, the run's supervisor once that process has died, ``hdbkit recover`` once both have. All three call
``undo``, which can be repeated; the file is removed when it has succeeded. The file is locked while the fault begins,
so that nothing is undone before it is done.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import Power, ServerControl
from hdbkit.errors import DamagedResult, HdbkitError, ServerFailed
from hdbkit.files import draft_of
from hdbkit.processes import birth_of
from hdbkit.results.folder import RunFolder
from hdbkit.servers import control
from hdbkit.servers.place import held

_FREEZE, _THAW = 0xC0045877, 0xC0045878
"""The requests FIFREEZE and FITHAW of Linux."""
_START_S, _AGAIN_S = 30.0, 0.5


class ServerState(StrEnum):
    """The state in which a fault leaves a server."""

    DOWN = "down"
    FROZEN = "frozen"
    DISK_FROZEN = "disk_frozen"


@dataclass(frozen=True)
class Leftover:
    """What a fault leaves behind: the server's ``processes`` with their births, and the ``folder`` of its data."""

    state: ServerState
    processes: Mapping[int, str]
    folder: str = ""

    @contextmanager
    def written(self, path: Path) -> Iterator[None]:
        """Write it to a file, and have ``undo`` wait until the block ends. Raises ``OSError``."""
        with ExitStack() as block:
            with draft_of(path) as draft:
                file = block.enter_context(draft.open("wb"))
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(json.dumps(asdict(self)).encode())
                file.flush()
                os.fsync(file.fileno())
            yield

    @classmethod
    def read(cls, path: Path) -> Leftover:
        """Read it from a file. Raises ``FileNotFoundError`` and ``DamagedResult``."""
        try:
            found: dict[str, Any] = json.loads(path.read_bytes())
            processes = {int(pid): str(birth) for pid, birth in found["processes"].items()}
            return cls(ServerState(found["state"]), processes, str(found["folder"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedResult(f"{path} cannot be read, so its fault is not undone ({error})") from None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the processes that are still there."""
        for pid, birth in self.processes.items():
            if birth_of(pid) == birth:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)


def undo(path: Path, target: Target) -> None:
    """Undo what a file describes, and remove the file; does nothing without it.

    Another process that still begins it, or undoes it at the same time, is waited for. Raises ``HdbkitError`` and
    ``OSError``.
    """
    try:
        with held(path):
            _undo(Leftover.read(path), target)
            path.unlink()
    except FileNotFoundError:
        return


def undo_all(folder: RunFolder, target: Target) -> list[str]:
    """Undo every fault that a run has left; return a sentence for each that could not be undone."""
    failed = []
    for path in folder.left_by_faults():
        try:
            undo(path, target)
        except (HdbkitError, OSError) as error:
            failed.append(f"a fault could not be undone: {error}")
    return failed


def require_power(server: ServerControl) -> Power:
    """What starts and stops the server. Raises ``ServerFailed``."""
    if server.power is None:
        raise ServerFailed("the target gives no commands to start its server")
    return server.power


def freeze(folder: str) -> None:
    """Have the file system of a folder accept no writes."""
    _ask_file_system(folder, _FREEZE, "frozen")


def _undo(left: Leftover, target: Target) -> None:
    match left.state:
        case ServerState.DOWN:
            _start(target)
        case ServerState.FROZEN:
            left.signal(signal.SIGCONT)
        case ServerState.DISK_FROZEN:
            _ask_file_system(left.folder, _THAW, "released", errno.EINVAL)  # EINVAL: it is not frozen


def _start(target: Target) -> None:
    """Start the server; repeated, since remaining processes of a killed one may block the start briefly."""
    power, end = require_power(control(target)), time.monotonic() + _START_S
    while True:
        try:
            power.start()
        except ServerFailed:
            if time.monotonic() > end:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


def _ask_file_system(folder: str, request: int, what: str, *allowed: int) -> None:
    try:
        place = os.open(folder, os.O_RDONLY)
        try:
            fcntl.ioctl(place, request, 0)
        finally:
            os.close(place)
    except OSError as error:
        if error.errno not in allowed:
            raise ServerFailed(f"the file system of {folder} cannot be {what}: {error.strerror}") from error
