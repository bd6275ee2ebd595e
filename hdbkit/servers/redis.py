"""Redis as a private server, with an installed program such as that of Debian's package ``redis-server``.

``server.conf`` is written once and includes ``settings.conf``, which has the settings changed later. Both accounts
need a password. A stopped server keeps its data whatever its settings are: in its log, or in a snapshot.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.errors import ServerFailed
from hdbkit.files import append, read_bytes
from hdbkit.processes import is_alive
from hdbkit.servers.binaries import program_folder, reported_version
from hdbkit.servers.folder_control import FolderControl
from hdbkit.servers.launcher import Launcher, TrialStart
from hdbkit.servers.log import NO_MESSAGE, last_lines, read_since
from hdbkit.servers.place import Binaries, Place

_CONFIGURATION = "server.conf"
_SETTINGS = "settings.conf"
_ACCOUNTS = "users.acl"
_LOG = "appendonly"
_FOR_BENCHMARKS = {
    "bind": "127.0.0.1",
    _LOG: "yes",
    "appendfsync": "everysec",
    "save": "",
    "set-proc-title": "no",  # the process is recognized by its command line
    "shutdown-on-sigterm": "save",
}
_WORDS = {"on": "yes", "off": "no"}
_READY, _READY_S = "Ready to accept connections", 120.0
_LINE = re.compile(r'^(\S+) "(.*)"$', re.MULTILINE)


class RedisServer(Launcher):
    """The launcher for Redis."""

    kind = "redis"
    title = "Redis"
    advice = "install the package redis-server"
    order = 4
    program = "redis-server"
    pid_file = "data/server.pid"
    stop_signals = ("SIGTERM",)
    admin_user = "default"
    admin_database = database = "0"
    settings_file = _SETTINGS
    suffix = ".conf"

    def candidates(self) -> list[tuple[Path, str]]:
        """The folder of the program on PATH."""
        return [(folder, "installed") for folder in program_folder(self.program)]

    def version(self, folder: Path) -> str:
        return reported_version(folder / self.program, r"v=(\d+\.\d+\.\d+)")

    def initialize(self, place: Place, admin_password: SecretStr, settings: Mapping[str, str]) -> None:
        """Write the configuration and the administrator's account."""
        for made in (place.data, place.folder / "accounts"):
            made.mkdir(mode=0o700)
            place.give(made)
        hashed = hashlib.sha256(admin_password.get_secret_value().encode()).hexdigest()
        accounts = place.folder / "accounts" / _ACCOUNTS
        place.write_new(accounts, f"user {self.admin_user} on #{hashed} ~* &* +@all\n")
        values = {
            **_FOR_BENCHMARKS,
            "dir": str(place.data),
            "aclfile": str(accounts),
            "port": str(place.port),
            **settings,
            "loglevel": "notice",  # it states when the server is ready
        }
        include = f"include {place.folder / _SETTINGS}\n"
        place.write_new(place.folder / _SETTINGS, "")
        place.write_new(place.folder / _CONFIGURATION, self.settings_text(values) + include)

    def move(self, place: Place) -> None:
        """Add the new port to the configuration; the last line takes precedence."""
        append(place.folder / _CONFIGURATION, self.settings_text({"port": str(place.port)}))

    def start(self, place: Place) -> None:
        """Start it as a separate process and wait until it has loaded its data and accepts clients."""
        seen = place.log.stat().st_size
        pid = place.start_in_background(self.program, str(place.folder / _CONFIGURATION))
        end = time.monotonic() + _READY_S
        while _READY not in read_since(place.log, seen):
            if not is_alive(pid, str(place.folder)):
                reason = last_lines(read_since(place.log, seen)) or NO_MESSAGE
                raise ServerFailed(f"the server in {place.folder} did not start: {reason}")
            if time.monotonic() > end:
                raise ServerFailed(f"the server in {place.folder} was not ready within {_READY_S:g} s")
            time.sleep(0.02)

    def password_lines(self, place: Place, passwords: Mapping[str, SecretStr]) -> str:
        """A line ``user:password`` for each account."""
        return "".join(f"{user}:{word.get_secret_value()}\n" for user, word in passwords.items())

    def settings_text(self, values: Mapping[str, str]) -> str:
        """Lines of ``name "value"``; the last line of a name takes precedence."""
        return "".join(f'{name} "{_escaped(_WORDS.get(value, value))}"\n' for name, value in values.items())

    def settings_in(self, text: str) -> dict[str, str]:
        return {name: re.sub(r"\\(.)", r"\1", value) for name, value in _LINE.findall(text)}

    @contextmanager
    def trial(self, binaries: Binaries, present: Mapping[str, str]) -> Iterator[TrialStart]:
        """The program checks no settings without starting."""
        yield lambda _: ""

    def control(self, target: Target) -> ServerControl:
        """The control that changes settings in a file and keeps the data as a copied folder."""
        return RedisControl(target, self)


class RedisControl(FolderControl):
    """``contracts.ServerControl`` of a private server of Redis."""

    def _restart(self) -> None:
        """Switch the log on or off before the server ends: one that starts with a log reads no snapshot."""
        configuration = self._server.folder / _CONFIGURATION
        wanted = {**self._text.settings_in(read_bytes(configuration).decode()), **self._kept_lines()}[_LOG]
        if self._server.running:
            with self._session() as session:
                session.ask("set_running_setting", name=_LOG, value=wanted)
        super()._restart()


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


LAUNCHER = RedisServer()
