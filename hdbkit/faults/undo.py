"""What a fault leaves behind, and how it is undone.

It is written to the run folder before the fault begins, so that another process can undo it: the process that causes
the faults does, the run's supervisor once that process has died, ``hdbkit recover`` once both have. All three call
``undo``, which can be repeated; the file is removed when it has succeeded, which for a server that was killed or
stopped means that it answers a statement. The file is locked while the fault begins, so that nothing is undone before
it is done. It contains the target with its commands, and the seal of the account: nothing is executed because of a
file in a folder from elsewhere.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from queue import Empty, SimpleQueue

from hdbkit.config import Target
from hdbkit.contracts import Power, ServerControl, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, DamagedResult, HdbkitError, NoneFree, NotReady, Rejected, ServerFailed
from hdbkit.faults.file_system import thaw
from hdbkit.files import draft_of, held
from hdbkit.processes import birth_of
from hdbkit.results.folder import RunFolder
from hdbkit.results.seal import drop_sealed, read_sealed, write_sealed
from hdbkit.servers import control

_KIND = "fault"
_START_S, _AGAIN_S = 30.0, 0.5
_LOOK_S = 0.05
_FIRST_S, _ANSWER_S = 1.0, 10.0
"""How long a connection and its statement may take, before the first start and after it: a pooler holds both back
while its server is down, and a start command does no harm to a server that is slow."""


class ServerState(StrEnum):
    """The state in which a fault leaves a server."""

    KILLED = "killed"
    DOWN = "down"
    FROZEN = "frozen"
    DISK_FROZEN = "disk_frozen"


@dataclass(frozen=True)
class Leftover:
    """What a fault leaves behind: the server's ``processes`` with their births, and the ``folder`` of its data.

    ``target`` is the server's, with the commands that start and stop it; ``host`` is where it was caused.
    """

    state: ServerState
    processes: Mapping[int, str]
    target: Target
    folder: str = ""
    host: str = field(default_factory=socket.gethostname)

    @contextmanager
    def written(self, path: Path) -> Iterator[None]:
        """Write it to a file, and have ``undo`` wait until the block ends. Raises ``OSError`` and ``InputError``."""
        with ExitStack() as block:
            with draft_of(path) as draft:
                content = {**asdict(self), "target": self.target.model_dump(mode="json")}
                write_sealed(draft, _KIND, content, revocable=True)
                block.enter_context(held(draft))
            yield

    @classmethod
    def read(cls, path: Path) -> Leftover:
        """Read it from a file. Raises ``FileNotFoundError``, ``DamagedResult`` and ``InputError``."""
        found, own = read_sealed(path, _KIND)
        if not own:
            raise DamagedResult(f"{path} was not written by this account, so nothing in it is executed")
        try:
            processes = {int(pid): str(birth) for pid, birth in found["processes"].items()}
            return cls(
                ServerState(found["state"]),
                processes,
                Target.model_validate(found["target"]),
                str(found["folder"]),
                str(found["host"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedResult(f"{path} cannot be read, so its fault is not undone ({error})") from None

    @property
    def described(self) -> str:
        """What it is, as the object of a sentence."""
        return {
            ServerState.KILLED: "a killed server",
            ServerState.DOWN: "a stopped server",
            ServerState.FROZEN: "a frozen server",
            ServerState.DISK_FROZEN: f"the frozen file system of {self.folder}",
        }[self.state]

    def left(self) -> list[int]:
        """The processes that are still there; a zombie is not."""
        return [pid for pid, birth in self.processes.items() if birth_of(pid) == birth]

    @property
    def main_runs(self) -> bool:
        """Whether the main process, which is the first, is still there."""
        return self.left()[:1] == list(self.processes)[:1] != []

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the processes that are still there."""
        for pid in self.left():
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def undo(path: Path, target: Target | None = None) -> int:
    """Undo what a file describes, and remove the file; does nothing without it.

    The server is that of ``target``, else the file's. Another process that still begins it, or undoes it at the same
    time, is waited for. Returns when hdbkit's own part was done, in ns of the monotonic clock: what a server takes
    after its start command, and a pooler until it connects again, is theirs. Raises ``HdbkitError`` and ``OSError``;
    the file then stays.
    """
    try:
        with held(path):
            left = Leftover.read(path)
            if left.host != socket.gethostname():
                raise ServerFailed(f"it was caused on host {left.host}; recover the run there")
            done_ns = _undo(left, target or left.target)
            drop_sealed(path)
    except FileNotFoundError:
        return time.monotonic_ns()
    return done_ns


def undo_timeout_s(target: Target) -> float:
    """How long undoing a fault may take: until a start command succeeds, and until the server answers after it."""
    return _START_S + target.control.restart_timeout_s


def left_behind(folder: RunFolder) -> list[str]:
    """What the faults of a run have left and is not undone yet, each as the object of a sentence."""
    found = []
    for path in folder.left_by_faults():
        with suppress(FileNotFoundError):  # it is undone by now
            try:
                found.append(Leftover.read(path).described)
            except DamagedResult as error:
                found.append(f"an unknown state ({error})")
    return found


def undo_all(folder: RunFolder, target: Target | None = None) -> list[str]:
    """Undo every fault that a run has left; return a sentence for each that could not be undone."""
    failed = []
    for path in folder.left_by_faults():
        try:
            undo(path, target)
        except (HdbkitError, OSError) as error:
            failed.append(f"a fault could not be undone: {error}; what is to be undone stays in {path}")
    return failed


def require_power(server: ServerControl) -> Power:
    """What starts and stops the server. Raises ``ServerFailed``."""
    if server.power is None:
        raise ServerFailed("the target gives no commands to start its server")
    return server.power


def _undo(left: Leftover, target: Target) -> int:
    """Undo it; return when hdbkit's own part was done."""
    match left.state:
        case ServerState.KILLED:
            if not left.main_runs:
                left.signal(signal.SIGKILL)  # a kill that was interrupted
            return _start(target)
        case ServerState.DOWN:
            if left.main_runs or not left.processes:
                with suppress(ServerFailed):  # a stop that was interrupted; there may be nothing left to stop
                    require_power(control(target)).stop()
            return _start(target)
        case ServerState.FROZEN:
            left.signal(signal.SIGCONT)
        case ServerState.DISK_FROZEN:
            thaw(Path(left.folder))
    return time.monotonic_ns()


def _start(target: Target) -> int:
    """Start the server unless it answers, and wait until it does; return when its start had ended.

    Its status command is not asked before that: it may report the killed process. The start is repeated, since
    remaining processes of a killed server may block it briefly, or be taken for a server that runs already.
    """
    power, started = require_power(control(target)), False
    again_until = time.monotonic() + _START_S
    done_ns, end, wait_s = time.monotonic_ns(), again_until, _FIRST_S
    while (failure := _failure(target, wait_s)) is not None:
        starts, wait_s = isinstance(failure, NotReady), _ANSWER_S
        if starts and not started:  # somebody else has started it, and it recovers
            end = max(end, done_ns / 1e9 + target.control.restart_timeout_s)
        late = time.monotonic() > end
        if not started and not starts:
            if _try_start(power, last=late):
                started, done_ns, end = True, time.monotonic_ns(), time.monotonic() + target.control.restart_timeout_s
        elif started and not power.running and time.monotonic() < again_until:
            started, end = False, again_until
            time.sleep(_AGAIN_S)
        elif late or (started and not power.running):
            lines = power.last_log_lines() if started else ""
            reason = failure.reason if isinstance(failure, CannotConnect) else str(failure)
            why = f"{reason}{f' ({lines})' if lines else ''}"
            raise ServerFailed(f"the server of {target.described} does not answer: {why}")
        else:
            time.sleep(_LOOK_S)
    return done_ns


def _try_start(power: Power, last: bool) -> bool:
    """Run the start command; wait and return False if it fails, but raise its error at the ``last`` attempt."""
    try:
        power.start(ended=True)
    except ServerFailed:
        if last:
            raise
        time.sleep(_AGAIN_S)
        return False
    return True


def _failure(target: Target, wait_s: float) -> HdbkitError | None:
    """Why the server at the target's first address answers no statement; None if it does, or rejects the account.

    A connection alone proves nothing: a pooler, a tunnel or another address accepts it while the server is down.
    """
    answer = SimpleQueue[HdbkitError | None]()
    threading.Thread(target=lambda: answer.put(_answered(target.first)), daemon=True).start()
    try:
        return answer.get(timeout=wait_s)
    except Empty:
        return ServerFailed(f"a statement was not answered within {wait_s:g} s")


def _answered(target: Target) -> HdbkitError | None:
    engine = database(target)
    try:
        with closing(engine.connect(target, options=SessionOptions(connect_timeout_s=int(_ANSWER_S)))) as session:
            engine.clock_s(session)
    except (Rejected, NoneFree):
        return None
    except HdbkitError as error:
        return error
    return None
