"""What each fault does, and how it is undone. Whether it can be done is checked before a run starts."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from hdbkit.config import Target
from hdbkit.config.fault import Fault, Thing
from hdbkit.contracts import ServerControl, Session
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, InputError, ServerFailed
from hdbkit.faults.file_system import Freezing, may_freeze, own_file_system
from hdbkit.faults.undo import Leftover, ServerState, require_power, undo
from hdbkit.later import psutil
from hdbkit.processes import birth_of
from hdbkit.results.seal import drop_sealed, require_key
from hdbkit.servers import control
from hdbkit.servers.power import run_command

_ENDED_S, _LOOK_S = 10.0, 0.005
_LATE_S = 1.0
"""How long after its end a frozen file system is thawed in any case."""

Do = Callable[[], int | None]
"""Does it; returns when that was done, in ns of the monotonic clock, if it waited longer for something else."""


def nothing() -> None:
    """Undo a fault that needs no undoing."""


@dataclass(frozen=True)
class FaultAction:
    """How a fault is done, and undone when it is over."""

    begin: Do
    end: Do = nothing


def check_faults(target: Target, faults: Sequence[Fault], users: int, session: Session, results: Path) -> None:
    """Raise ``InputError`` for the first fault that cannot be caused, with what it needs; changes nothing.

    ``users`` is the number of client processes.
    """
    require_key()  # what a fault leaves is sealed
    for fault in faults:
        if fault.thing is Thing.CLIENT and fault.count > users:
            raise InputError(f"'{fault}' needs {fault.count} clients, but the run has {users}")
        if fault.thing is Thing.NETWORK and (target.fallbacks or target.replicas or target.nodes):
            raise InputError(f"'{fault}' needs a target with one address; its proxy has no others")
        if fault.thing is Thing.SERVER:
            _check_server(target, fault, session)
        if fault.thing is Thing.NETWORK and (not target.host or target.host.startswith("/") or not target.port):
            raise InputError(f"'{fault}' needs host and port in the target, and not a socket")
        if fault.thing is Thing.NETWORK:
            _check_proxy(target, fault)
        if fault.thing is Thing.DISK:
            _check_disk(fault, _server_pid(target, fault, session), results)


def _check_proxy(target: Target, fault: Fault) -> None:
    try:
        database(target).behind_proxy(target, target.port or 0)
    except InputError as error:
        raise InputError(f"'{fault}': {error}") from None


def _check_server(target: Target, fault: Fault, session: Session) -> None:
    if not target.may_restart:
        raise InputError(f"'{fault}' is not allowed on {target.described}; the target must set 'may_restart: true'")
    if fault.action == "failover":
        if not target.control.commands.failover:
            raise InputError(f"'{fault}' needs the command 'control.commands.failover' of the target")
        return
    if fault.action in ("kill", "pause"):
        pid = _server_pid(target, fault, session)
        try:
            os.kill(pid, 0)
        except PermissionError:
            raise InputError(f"'{fault}' needs the permission to signal process {pid}, the server") from None
    if fault.action in ("kill", "stop") and control(target).power is None:
        raise InputError(f"'{fault}' needs the commands that start the server (control.commands of the target)")
    if fault.action == "stop" and not (target.server_folder or target.control.commands.stop):
        raise InputError(f"'{fault}' needs the command that stops the server (control.commands.stop of the target)")
    if fault.action == "restart" and not control(target).can_restart:
        raise InputError(f"'{fault}' needs the commands that restart the server (control.commands of the target)")


def _check_disk(fault: Fault, pid: int, results: Path) -> None:
    if not may_freeze():
        raise InputError(f"'{fault}' freezes a file system, which only root may do (CAP_SYS_ADMIN)")
    try:
        own_file_system(pid, results)
    except ServerFailed as error:
        raise InputError(f"'{fault}' needs a file system of the server's own: {error}") from None


def _server_pid(target: Target, fault: Fault, session: Session) -> int:
    pid = database(target).server_process(session)
    if pid is None:
        raise InputError(f"'{fault}' needs a server on this host that this account may see")
    return pid


@dataclass
class Actions:
    """The actions of a run; ``clients`` are the process ids of its clients, with their births."""

    target: Target
    seed: int
    clients: Mapping[int, str] = field(default_factory=dict)
    _server: tuple[int, str] = (0, "")
    """The server's main process as it was last looked up, with its birth."""
    _frozen: Freezing | None = None

    def look_up(self, fault: Fault) -> None:
        """Look up ahead what takes time. What is not found now is looked up when the fault begins."""
        with suppress(HdbkitError, OSError):
            if fault.action in ("stop", "restart"):
                self._control  # noqa: B018  it is kept
            if fault.action != "failover" and fault.thing in (Thing.SERVER, Thing.DISK):
                self._find_server()

    def of(self, fault: Fault, path: Path) -> FaultAction:
        """The action of a fault, except those of the network; ``path`` is where it writes what it leaves behind."""
        if fault.thing is Thing.CLIENT:
            return FaultAction(lambda: self._kill_clients(fault))
        if fault.thing is Thing.DISK:
            return FaultAction(partial(self._freeze_disk, fault, path), partial(self._thaw_disk, path))
        begin = {
            "kill": self._kill,
            "stop": self._stop,
            "restart": self._restart,
            "pause": self._freeze,
            "failover": self._fail_over,
        }[fault.action]
        return FaultAction(partial(begin, path), partial(undo, path, self.target))

    @cached_property
    def _control(self) -> ServerControl:
        return control(self.target)

    def _find_server(self) -> int:
        """The main process of the server, which is asked only if that is not known."""
        pid, birth = self._server
        if birth and birth_of(pid) == birth:
            return pid
        engine = database(self.target)
        with closing(engine.connect(self.target.first)) as session:
            found = engine.server_process(session)
        if found is None:
            raise ServerFailed("the server's process is not on this host")
        self._server = found, birth_of(found)
        return found

    def _leftover(self, state: ServerState) -> Leftover:
        """All processes of the server, the main one first, which will be down or frozen."""
        main = psutil.Process(self._find_server())
        pids = [main.pid, *(child.pid for child in main.children(recursive=True))]
        return Leftover(state, {pid: birth_of(pid) for pid in pids}, self.target)

    def _stopped(self) -> Leftover:
        """The server that is to be stopped, without its processes if it is not on this host."""
        with suppress(HdbkitError, psutil.Error):
            return self._leftover(ServerState.DOWN)
        return Leftover(ServerState.DOWN, {}, self.target)

    def _kill(self, path: Path) -> None:
        """Kill every process of the server, as a power failure of its host would."""
        server, end = self._leftover(ServerState.KILLED), time.monotonic() + _ENDED_S
        with server.written(path):
            server.signal(signal.SIGKILL)
            while time.monotonic() < end and server.left():
                time.sleep(_LOOK_S)

    def _stop(self, path: Path) -> None:
        power = require_power(self._control)
        with self._stopped().written(path):
            power.stop()

    def _restart(self, path: Path) -> None:
        """Restart the server; one that was stopped and not started again is started in the end."""
        with self._stopped().written(path) if self._control.power else nullcontext():
            self._control.restart()
            drop_sealed(path)

    def _freeze(self, path: Path) -> None:
        server = self._leftover(ServerState.FROZEN)
        with server.written(path):
            server.signal(signal.SIGSTOP)

    def _freeze_disk(self, fault: Fault, path: Path) -> None:
        frozen = own_file_system(self._find_server(), path.parent)
        with Leftover(ServerState.DISK_FROZEN, {}, self.target, str(frozen)).written(path):
            self._frozen = Freezing(frozen, fault.duration_s + _LATE_S)

    def _thaw_disk(self, path: Path) -> int:
        if self._frozen:
            self._frozen.end()
        return undo(path, self.target)

    def _fail_over(self, _: Path) -> None:
        spec = self.target.control
        code, output = run_command(spec.commands.failover, spec.restart_timeout_s)
        if code:
            raise ServerFailed(f"the command control.commands.failover failed with exit code {code}: {output}")

    def _kill_clients(self, fault: Fault) -> None:
        left = [pid for pid, birth in self.clients.items() if birth_of(pid) == birth]
        if len(left) < fault.count:
            raise ServerFailed(f"only {len(left)} clients were left")
        for pid in random.Random(f"{self.seed} {fault}").sample(left, fault.count):
            os.kill(pid, signal.SIGKILL)
