"""A private server: a database server that hdbkit itself starts, configures and removes.

Its folder holds its data, its log, its passwords and ``server.json``. The process that makes it owns it: at the end
of the ``with`` block, at the interpreter's end, and when the owner is killed (its guard sees to that) the server is
stopped and the folder removed, unless it is to be kept. Other processes ``attach`` to a folder and own nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.control_groups import move_to_cgroup
from hdbkit.databases import database
from hdbkit.errors import InputError, ServerFailed
from hdbkit.servers import _guard
from hdbkit.servers.log import last_lines, read_since
from hdbkit.servers.place import (
    SERVER_UID,
    Binaries,
    Place,
    free_port,
    held,
    new_folder,
    new_password,
    readable_by,
    socket_folder,
)

_STOP_PATIENCE_S = 120.0
_owned: set[PrivateServer] = set()


class Engine(Protocol):
    """What a kind of server adds: one module of ``servers/``, with one of these named ``ENGINE``."""

    kind: str
    order: int
    """Its place among the kinds; the first is taken where none is named."""
    program: str
    """The server's program in the folder of binaries."""
    pid_file: str
    stop_signals: tuple[str, ...]
    admin_user: str
    admin_database: str
    """A database of the administrator's own, there from the beginning."""
    settings_file: str
    """The file of the folder that changed settings are kept in."""

    suffix: str
    """Of the names of files of settings that the server reads from a folder."""

    def find(self) -> list[Binaries]:
        """The installed servers, the preferred first."""
        ...

    def choose(self, version: str | None, source: str | None) -> Binaries:
        """The one asked for. Raises ``InputError``."""
        ...

    def initialize(self, place: Place, admin_password: SecretStr, settings: Mapping[str, str]) -> None:
        """Make the data folder and its configuration."""
        ...

    def move(self, place: Place) -> None:
        """Write the place's port into the configuration."""
        ...

    def start(self, place: Place) -> None:
        """Start and wait until it answers. Raises ``ServerFailed`` with the last lines of the log."""
        ...

    def password_lines(self, place: Place, passwords: Mapping[str, SecretStr]) -> str:
        """The password file in the driver's form."""
        ...

    def settings_text(self, values: Mapping[str, str]) -> str:
        """The lines of a file of settings."""
        ...

    def settings_in(self, text: str) -> dict[str, str]:
        """What ``settings_text`` wrote."""
        ...

    def control(self, target: Target) -> ServerControl:
        """What reads and changes the settings of a private server of this kind, and keeps its data."""
        ...


class PrivateServer:
    """A database server of our own. Use it in a ``with`` block, or ``start`` and ``close`` it.

    Example:
        >>> from hdbkit.servers import private_server
        >>> with private_server() as server:  # doctest: +SKIP
        ...     print(server.target.url)
    """

    def __init__(
        self,
        engine: Engine,
        place: Place | None = None,
        *,
        binaries: Binaries | None = None,
        folder: Path | None = None,
        keep: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._engine, self._binaries, self._folder = engine, binaries, folder
        self._settings, self.keep = dict(settings or {}), keep
        self._place = place
        self._guard: subprocess.Popen[bytes] | None = None
        self._word = -1  # the end of the pipe that only this process holds
        self._owner_pid: int | None = None
        self._adopted = False  # kept by an earlier process: its folder is never removed unasked

    @classmethod
    def attach(cls, folder: Path | str) -> PrivateServer:
        """The server of a folder, made by another process or kept by an earlier one; it is not owned.

        Raises:
            InputError: the folder is not that of a private server.
        """
        from hdbkit.servers import engine

        place = Place.read(Path(folder))
        return cls(engine(place.kind), place, keep=True)

    @property
    def place(self) -> Place:
        """Where it lives. Raises ``ServerFailed`` before the first start."""
        if self._place is None:
            raise ServerFailed("the private server was not started yet; call start() or use it in a with block")
        return self._place

    @property
    def folder(self) -> Path:
        """Its folder."""
        return self.place.folder

    @property
    def target(self) -> Target:
        """The database to measure, with the account that owns it."""
        return self._target(self.place.user, self.place.database)

    @property
    def admin(self) -> Target:
        """The same database as the server's administrator."""
        return self._target(self.place.admin_user, self.place.database)

    @property
    def maintenance(self) -> Target:
        """The administrator in a database of his own, from where the measured one can be copied."""
        return self._target(self.place.admin_user, self._engine.admin_database)

    @property
    def settings_file(self) -> Path:
        """The file that changed settings are kept in."""
        return self.folder / self._engine.settings_file

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        if self._place is None:
            return False
        return _guard.server_pid(str(self.folder), self._note()) is not None

    def start(self) -> PrivateServer:
        """Start it; at the first time make it. Does nothing when it runs. Raises ``ServerFailed``.

        Of two processes that start it at once, the second waits for the first.
        """
        if self._place is None:
            self._create()
            return self
        with held(self.folder):
            if not self.running:
                self._engine.start(self.place)
                self._move_to_cgroup()
        return self

    def stop(self) -> None:
        """Stop it and wait for its end; the folder stays. Does nothing when it does not run."""
        _guard.stop_server(str(self.folder), self._note(), _STOP_PATIENCE_S)
        if self.running:
            raise ServerFailed(f"the server in {self.folder} did not stop")
        _guard.remove_group(str(self.folder))

    def kill(self) -> None:
        """End it at once, as before its data are replaced. Does nothing when it does not run."""
        _guard.stop_server(str(self.folder), {**self._note(), "stop_signals": []}, _STOP_PATIENCE_S)

    def restart(self) -> None:
        """Stop and start it. Raises ``ServerFailed`` with the last lines of its log."""
        self.stop()
        self.start()

    def last_words(self) -> str:
        """The end of its log."""
        return last_lines(read_since(self.place.log, 0))

    def close(self) -> None:
        """End what this process owns: leave it if it is to be kept, else stop it, and remove what it made itself."""
        if self._owner_pid != os.getpid():
            return
        if not self.keep and self._place is not None:
            _guard.stop_server(str(self.folder), self._note(), _STOP_PATIENCE_S)
            if not self._adopted:
                self.remove()
        self._dismiss_guard()
        self._owner_pid = None
        _owned.discard(self)

    def remove(self) -> None:
        """Stop it and remove its folder."""
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
        """Folder, guard, data, start, accounts: in this order, so that nothing is ever unguarded."""
        assert self._binaries is not None
        if self._folder is not None and (self._folder / _guard.NOTE).is_file():
            return self._adopt(Place.read(self._folder))
        uid = SERVER_UID if os.geteuid() == 0 else None
        binaries = readable_by(uid, self._binaries, self._engine.program)
        folder = new_folder(self._folder)
        self._own(folder)
        try:
            self._place = Place(
                kind=self._engine.kind,
                version=self._binaries.version,
                folder=folder,
                binaries=binaries,
                sockets=socket_folder(folder),
                port=free_port(),
                uid=uid,
                pid_file=self._engine.pid_file,
                stop_signals=list(self._engine.stop_signals),
                admin_user=self._engine.admin_user,
            )
            self._fill()
        except BaseException:
            self._give_up(folder)
            raise
        return None

    def _adopt(self, place: Place) -> None:
        """Start a server that an earlier process kept; its end stops it again and leaves its folder."""
        self._place = place
        if self.running:
            self._place = None
            raise InputError(f"a server runs in {place.folder} already; use PrivateServer.attach(folder)")
        self._adopted = True
        self._own(place.folder)
        self._first_start()

    def _own(self, folder: Path) -> None:
        self._owner_pid = os.getpid()
        _owned.add(self)
        if not self.keep and not self._adopted:
            self._call_guard(folder)

    def _give_up(self, folder: Path) -> None:
        """What was begun could not be finished: leave nothing of it, kept or not."""
        note = self._note() if self._place is not None else {}
        if note:
            _guard.stop_server(str(folder), note, _STOP_PATIENCE_S)
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
        self._engine.initialize(place, passwords[place.admin_user], self._settings)
        self._first_start()
        self._write_passwords(passwords)
        admin, target = self.maintenance, self.target
        engine = database(place.kind)
        engine.provision(admin, target.with_(password=passwords[place.user]))

    def _first_start(self) -> None:
        """Start; where somebody took the port meanwhile, move to another."""
        for attempt in range(5):
            try:
                self._engine.start(self.place)
                return self._move_to_cgroup()
            except ServerFailed as error:
                if attempt == 4 or "in use" not in str(error):
                    raise
                self._place = replace(self.place, port=free_port())
                self.place.write()
                self._engine.move(self.place)
        return None

    def _move_to_cgroup(self) -> None:
        """A control group of its own, so that the kernel counts its CPU time, where we may make one."""
        pid = _guard.server_pid(str(self.folder), self._note())
        if pid is not None:
            name = f"hdbkit-{self.place.port}-{self.folder.name}"
            file = self.folder / _guard.GROUP
            move_to_cgroup(pid, name, lambda cgroup: file.write_text(str(cgroup), encoding="utf-8"))

    def _write_passwords(self, passwords: Mapping[str, SecretStr]) -> None:
        path = self.place.password_file
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(self._engine.password_lines(self.place, passwords))

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

    def _call_guard(self, folder: Path) -> None:
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
        self._word = write_end

    def _dismiss_guard(self) -> None:
        if self._guard is None:
            return
        with contextlib.suppress(BrokenPipeError):
            os.write(self._word, _guard.IN_ORDER)
        os.close(self._word)
        self._guard.wait()
        self._guard = None

    def _forget(self) -> None:
        """In a forked child: the server is the parent's, and so is the word to its guard."""
        if self._guard is not None:
            os.close(self._word)
            self._guard.returncode = 0
            self._guard = None
        self._owner_pid = None


@atexit.register
def _close_all() -> None:
    for server in list(_owned):
        server.close()


def _forget_all() -> None:
    for server in list(_owned):
        server._forget()
    _owned.clear()


os.register_at_fork(after_in_child=_forget_all)
