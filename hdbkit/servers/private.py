"""A private server: a database server that hdbkit starts, configures and removes.

Its folder contains its data, log, passwords and ``server.json``. The process that creates it owns it. When the
``with`` block ends, the interpreter exits or the owner is killed (through the guard process), the server is stopped
and its folder removed, unless it is to be kept. Runs and sweeps in processes of their own go on when the owner ends;
the server then stays until the last of them has ended. Other processes ``attach`` to a folder without owning it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.control_groups import move_to_cgroup
from hdbkit.databases import database
from hdbkit.errors import InputError, ServerFailed
from hdbkit.files import held
from hdbkit.servers import _guard
from hdbkit.servers._guard import NOTE
from hdbkit.servers.launcher import Launcher
from hdbkit.servers.log import last_lines, read_since
from hdbkit.servers.place import (
    SERVER_UID,
    Binaries,
    Place,
    free_port,
    new_password,
    new_server_folder,
    readable_by,
    socket_folder,
)

_STOP_PATIENCE_S = 120.0
_owned: set[PrivateServer] = set()


class PrivateServer:
    """A database server that hdbkit starts. Use it in a ``with`` block, or call ``start`` and ``close``.

    Example:
        >>> from hdbkit.servers import private_server
        >>> with private_server() as server:  # doctest: +SKIP
        ...     print(server.target.url)
    """

    def __init__(
        self,
        launcher: Launcher,
        place: Place | None = None,
        *,
        binaries: Binaries | None = None,
        folder: Path | None = None,
        keep: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._launcher, self._binaries, self._folder = launcher, binaries, folder
        self._settings, self.keep = dict(settings or {}), keep
        self._place = place
        self._guard: subprocess.Popen[bytes] | None = None
        self._pipe = -1  # the write end of the guard's pipe; only this process holds it
        self._owner_pid: int | None = None
        self._adopted = False  # kept by an earlier process: only `remove` removes its folder

    @classmethod
    def attach(cls, folder: Path | str) -> PrivateServer:
        """Return the server of a folder, created by another process or kept by an earlier one, without owning it.

        Raises:
            InputError: the folder does not belong to a private server.
        """
        from hdbkit.servers import launcher

        place = Place.read(Path(folder))
        return cls(launcher(place.kind), place, keep=True)

    @property
    def place(self) -> Place:
        """Its folder, address and accounts. Raises ``ServerFailed`` before the first start."""
        if self._place is None:
            raise ServerFailed("the private server is not started yet; call start() or use it in a with block")
        return self._place

    @property
    def folder(self) -> Path:
        """Its folder."""
        return self.place.folder

    @property
    def target(self) -> Target:
        """The database to measure, with its owner's account."""
        return self._target(self.place.user, self.place.database)

    @property
    def admin(self) -> Target:
        """The same database, with the administrator's account."""
        return self._target(self.place.admin_user, self.place.database)

    @property
    def maintenance(self) -> Target:
        """The administrator's own database, from which the measured one can be copied."""
        return self._target(self.place.admin_user, self._launcher.admin_database)

    @property
    def settings_file(self) -> Path:
        """The file for changed settings."""
        return self.folder / self._launcher.settings_file

    @property
    def running(self) -> bool:
        """Whether its process is alive."""
        if self._place is None:
            return False
        return _guard.server_pid(str(self.folder), self._note()) is not None

    def start(self, ended: bool = False) -> PrivateServer:
        """Start the server, after creating it the first time. Does nothing while it runs. Raises ``ServerFailed``.

        If two processes start it at the same time, the second waits for the first. ``ended`` changes nothing: whether
        it runs is known from its process.
        """
        if self._place is None:
            self._create()
            return self
        with held(self.folder):
            if not self.running:
                self._launcher.start(self.place)
                self._move_to_cgroup()
        return self

    def stop(self) -> None:
        """Stop the server and wait until it has exited; the folder stays. Does nothing if it is not running."""
        _guard.end_server(str(self.folder), self._note(), _STOP_PATIENCE_S)
        if self.running:
            raise ServerFailed(f"the server in {self.folder} did not stop")
        _guard.remove_group(str(self.folder))

    def kill(self) -> None:
        """Kill the server, as before its data is replaced. Does nothing if it is not running."""
        _guard.end_server(str(self.folder), {**self._note(), "stop_signals": []}, _STOP_PATIENCE_S)

    def start_ended(self, answers: Callable[[], bool]) -> None:
        """Stop what is left of it, and start."""
        self.restart()

    def restart(self) -> None:
        """Stop and start the server. Raises ``ServerFailed`` with the last lines of its log."""
        self.stop()
        self.start()

    def last_log_lines(self) -> str:
        """The last lines of its log."""
        return last_lines(read_since(self.place.log, 0))

    def close(self) -> None:
        """Release a server that this process owns: stop it unless ``keep`` is set, and remove it if it is new."""
        if self._owner_pid != os.getpid():
            return
        if not self.keep and self._place is not None:
            _guard.end_server(str(self.folder), self._note(), _STOP_PATIENCE_S)
            if not self._adopted:
                self.remove()
        self._dismiss_guard()
        self._owner_pid = None
        _owned.discard(self)

    def leave(self) -> None:
        """At the end of this process: ``close``, or leave a server that runs or sweeps use to its guard."""
        if self._guard is not None and not _guard.await_users(str(self.folder), wait=False):
            self._forget()
        self.close()

    def remove(self) -> None:
        """Stop the server and remove its folder."""
        self.stop()
        _guard.remove(str(self.folder), self._note())

    def __enter__(self) -> PrivateServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _note(self) -> dict[str, object]:
        place = self.place
        return {
            "pid_file": place.pid_file,
            "binaries": str(place.binaries),
            "stop_signals": place.stop_signals,
            "sockets": str(place.sockets),
        }

    def _create(self) -> None:
        """Create folder, guard, data, process and accounts, in this order, so that the guard covers every step."""
        assert self._binaries is not None
        if self._folder is not None and (self._folder / _guard.NOTE).is_file():
            return self._adopt(Place.read(self._folder))
        uid = SERVER_UID if os.geteuid() == 0 else None
        binaries = readable_by(uid, self._binaries, self._launcher.program)
        folder = new_server_folder(self._folder)
        self._own(folder)
        try:
            self._place = Place(
                kind=self._launcher.kind,
                version=self._binaries.version,
                folder=folder,
                binaries=binaries,
                sockets=socket_folder(folder),
                port=free_port(),
                uid=uid,
                pid_file=self._launcher.pid_file,
                stop_signals=list(self._launcher.stop_signals),
                admin_user=self._launcher.admin_user,
                database=self._launcher.database,
            )
            self._fill()
        except BaseException:
            self._give_up(folder)
            raise
        return None

    def _adopt(self, place: Place) -> None:
        """Start a server that an earlier process kept; ``close`` stops it again and keeps its folder."""
        self._place = place
        if self.running:
            self._place = None
            raise InputError(f"a server is already running in {place.folder}; use PrivateServer.attach(folder)")
        self._adopted = True
        self._own(place.folder)
        self._first_start()

    def _own(self, folder: Path) -> None:
        self._owner_pid = os.getpid()
        _owned.add(self)
        if not self.keep and not self._adopted:
            self._start_guard(folder)

    def _give_up(self, folder: Path) -> None:
        """Remove everything after a failed creation, even if the server was to be kept."""
        note = self._note() if self._place is not None else {}
        if note:
            _guard.end_server(str(folder), note, _STOP_PATIENCE_S)
        _guard.remove(str(folder), note)
        self._dismiss_guard()
        self._place, self._owner_pid = None, None
        _owned.discard(self)

    def _fill(self) -> None:
        place = self.place
        place.write()
        place.give(place.sockets)
        place.log.touch(mode=0o600)
        place.give(place.log)
        passwords = {place.admin_user: new_password(), place.user: new_password()}
        self._launcher.initialize(place, passwords[place.admin_user], self._settings)
        self._first_start()
        self._write_passwords(passwords)
        admin, target = self.maintenance, self.target
        engine = database(place.kind)
        engine.provision(admin, target.with_(password=passwords[place.user]))

    def _first_start(self) -> None:
        """Start the server; if its port is in use by now, choose another."""
        for attempt in range(5):
            try:
                self._launcher.start(self.place)
                return self._move_to_cgroup()
            except ServerFailed as error:
                if attempt == 4 or "in use" not in str(error):
                    raise
                self._place = replace(self.place, port=free_port())
                self.place.write()
                self._launcher.move(self.place)
        return None

    def _move_to_cgroup(self) -> None:
        """Give the server its own control group, where permitted, so that the kernel counts its CPU time."""
        pid = _guard.server_pid(str(self.folder), self._note())
        if pid is not None:
            name = f"hdbkit-{self.place.port}-{self.folder.name}"
            file = self.folder / _guard.PROCESS_GROUP
            move_to_cgroup(pid, name, lambda cgroup: file.write_text(str(cgroup), encoding="utf-8"))

    def _write_passwords(self, passwords: Mapping[str, SecretStr]) -> None:
        path = self.place.password_file
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(self._launcher.password_lines(self.place, passwords))

    def _target(self, user: str, name: str) -> Target:
        place = self.place
        fields: dict[str, Any] = {"kind": place.kind, "host": "127.0.0.1", "port": place.port}
        return Target(
            **fields,
            database=name,
            user=user,
            password_file=place.password_file,
            server_folder=place.folder,
            may_change_settings=True,
            may_restart=True,
        )

    def _start_guard(self, folder: Path) -> None:
        read_end, write_end = os.pipe()
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", _guard.__file__, str(folder)],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        finally:
            os.close(read_end)
        self._pipe = write_end

    def _dismiss_guard(self) -> None:
        if self._guard is None:
            return
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, _guard.IN_ORDER)
        os.close(self._pipe)
        self._guard.wait()
        self._guard = None

    def _forget(self) -> None:
        """Give the server up without stopping it: in a forked child, whose parent owns it, or to its guard."""
        if self._guard is not None:
            os.close(self._pipe)
            self._guard.returncode = 0
            self._guard = None
        self._owner_pid = None


@atexit.register
def _close_all() -> None:
    for server in list(_owned):
        server.leave()


def _forget_all() -> None:
    for server in list(_owned):
        server._forget()
    _owned.clear()


os.register_at_fork(after_in_child=_forget_all)


def is_server_folder(path: Path) -> bool:
    """Whether a private server was created in this folder."""
    with suppress(OSError):  # another account's
        return (path.expanduser() / NOTE).is_file()
    return False
