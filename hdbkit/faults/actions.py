"""What each fault does, and how it is undone. Whether it can be done is checked before a run starts."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from hdbkit.config import Target
from hdbkit.config.fault import Fault, Thing
from hdbkit.contracts import Power, Session
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, InputError, ServerFailed
from hdbkit.processes import birth_of, working_folder
from hdbkit.servers import control
from hdbkit.servers.power import run_command

_FREEZE, _THAW = 0xC0045877, 0xC0045878
"""The requests FIFREEZE and FITHAW of Linux."""
_ENDED_S, _START_S, _AGAIN_S = 10.0, 30.0, 0.5

Do = Callable[[], None]


def nothing() -> None:
    """Undo a fault that needs no undoing."""


@dataclass(frozen=True)
class Action:
    """How a fault is done, and undone when it is over."""

    begin: Do
    end: Do = nothing


def check(target: Target, faults: Sequence[Fault], users: int, session: Session, results: Path) -> None:
    """Raise ``InputError`` for the first fault that cannot be caused, with what it needs; changes nothing.

    ``users`` is the number of client processes.
    """
    for fault in faults:
        if fault.thing is Thing.CLIENT and fault.count > users:
            raise InputError(f"'{fault}' needs {fault.count} clients, but the run has {users}")
        if fault.thing is Thing.NETWORK and (target.fallbacks or target.replicas):
            raise InputError(f"'{fault}' needs a target with one address; its proxy has no others")
        if fault.thing is Thing.SERVER:
            _check_server(target, fault, session)
        if fault.thing is Thing.NETWORK and (not target.host or target.host.startswith("/") or not target.port):
            raise InputError(f"'{fault}' needs host and port in the target, and not a socket")
        if fault.thing is Thing.DISK:
            _check_disk(fault, _server_pid(target, fault, session), results)


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
    if fault.action == "restart" and not control(target).can_restart:
        raise InputError(f"'{fault}' needs the commands that restart the server (control.commands of the target)")


def _check_disk(fault: Fault, pid: int, results: Path) -> None:
    place = working_folder(pid)
    if os.geteuid() or place is None:
        raise InputError(f"'{fault}' freezes a file system, which only root may do")
    inside = (Path("/"), Path("/tmp"), results)  # noqa: S108  to compare only
    shared = next((one for one in inside if one.stat().st_dev == place.stat().st_dev), None)
    if shared:
        raise InputError(f"'{fault}' needs a file system of the server's own, but {place} is on that of {shared}")


def _server_pid(target: Target, fault: Fault, session: Session) -> int:
    pid = database(target.kind).server_process(session)
    if pid is None:
        raise InputError(f"'{fault}' needs a server on this host that this account may see")
    return pid


@dataclass
class Actions:
    """The actions of a run; ``clients`` are the process ids of its clients, with their births."""

    target: Target
    seed: int
    clients: Mapping[int, str] = field(default_factory=dict)
    _frozen: list[psutil.Process] = field(default_factory=list)

    def of(self, fault: Fault) -> Action:
        """The action of a fault, except those of the network."""
        if fault.thing is Thing.CLIENT:
            return Action(lambda: self._kill_clients(fault))
        if fault.thing is Thing.DISK:
            folder = working_folder(self._pid())
            return Action(lambda: _ask_file_system(folder, _FREEZE), lambda: _ask_file_system(folder, _THAW))
        return {
            "kill": Action(self._kill, self._start),
            "stop": Action(lambda: _stop(self._power()), self._start),
            "restart": Action(lambda: _ignored(control(self.target).restart())),
            "pause": Action(self._freeze, self._continue),
            "failover": Action(self._fail_over),
        }[fault.action]

    def _pid(self) -> int:
        engine = database(self.target.kind)
        with closing(engine.connect(self.target)) as session:
            pid = engine.server_process(session)
        if pid is None:
            raise ServerFailed("the server's process is not on this host")
        return pid

    def _processes(self) -> list[psutil.Process]:
        main = psutil.Process(self._pid())
        return [main, *main.children(recursive=True)]

    def _kill(self) -> None:
        """Kill every process of the server, the main one first, as a power failure of its host would."""
        processes = self._processes()
        _signal(processes, signal.SIGKILL)
        psutil.wait_procs(processes, timeout=_ENDED_S)

    def _freeze(self) -> None:
        self._frozen = self._processes()
        _signal(self._frozen, signal.SIGSTOP)

    def _continue(self) -> None:
        _signal(self._frozen[::-1], signal.SIGCONT)

    def _start(self) -> None:
        """Start the server; repeated, since remaining processes of a killed one may block the start briefly."""
        power, end = self._power(), time.monotonic() + _START_S
        while True:
            try:
                power.start()
            except ServerFailed:
                if time.monotonic() > end:
                    raise
                time.sleep(_AGAIN_S)
            else:
                return

    def _power(self) -> Power:
        power = control(self.target).power
        if power is None:
            raise ServerFailed("the target gives no commands to start its server")
        return power

    def _fail_over(self) -> None:
        code, output = run_command(self.target.control.commands.failover)
        if code:
            raise ServerFailed(f"the command control.commands.failover failed with exit code {code}: {output}")

    def _kill_clients(self, fault: Fault) -> None:
        left = [pid for pid, birth in self.clients.items() if birth_of(pid) == birth]
        if len(left) < fault.count:
            raise ServerFailed(f"only {len(left)} clients were left")
        for pid in random.Random(f"{self.seed} {fault}").sample(left, fault.count):
            os.kill(pid, signal.SIGKILL)


def _stop(power: Power) -> None:
    power.stop()


def _ignored(_: object) -> None:
    """Drop a result."""


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            one.send_signal(number)


def _ask_file_system(folder: Path | None, request: int) -> None:
    if folder is None:
        raise ServerFailed("the folder of the server's data is unknown")
    try:
        place = os.open(folder, os.O_RDONLY)
        try:
            fcntl.ioctl(place, request, 0)
        finally:
            os.close(place)
    except OSError as error:
        raise HdbkitError(f"the file system of {folder} cannot be frozen: {error.strerror}") from error
