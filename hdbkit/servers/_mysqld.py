"""What private servers of the two kinds of mysqld share: their files, their start, their passwords.

Two option files: ``server.cnf`` is ours and never changes afterwards; it includes ``settings.cnf``, which holds the
settings that were changed since, so that these win. No option file of the system is read.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.errors import ServerFailed
from hdbkit.processes import is_alive
from hdbkit.servers._mysqld_control import LOOSE, MysqldControl, option_lines, option_values
from hdbkit.servers.log import NO_MESSAGE, last_lines, read_since
from hdbkit.servers.place import Place
from hdbkit.sql import find

NAMED = "HDBKIT_MYSQLD"
"""The variable that names a folder with server programs."""
SETTINGS_FILE = "settings.cnf"
_OPTIONS = "server.cnf"
_TEMPORARY = "tmp"
"""A server that starts removes the temporary tables of all others that share its folder of them."""
_FOR_BENCHMARKS = {
    "bind-address": "127.0.0.1",
    "skip-log-bin": "1",
    "local-infile": "1",
    "max_connections": "200",
}
_READY_S = 120.0
_FOLDERS = ("/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/sbin", "/usr/local/mysql/bin", "/opt/mysql/bin")
_QUIETLY = 'pid_file=$1; shift; "$@" </dev/null >>"$0" 2>&1 & echo $! >"$pid_file"; echo $!'
"""A server in the background; the file of its process id is there at once, also when its starter is killed."""


class MysqldServer:
    """The part of ``servers.private.Engine`` that both kinds have in common."""

    kind: str
    program: str
    dialects: tuple[str, ...]
    """As in ``contracts.Database``; the first statements are needed before a driver is."""
    pid_file = "data/server.pid"
    stop_signals = ("SIGTERM",)
    admin_user = "root"
    admin_database = "mysql"
    settings_file = SETTINGS_FILE
    suffix = ".cnf"
    special: Mapping[str, str] = {}
    """Options that only this kind knows."""

    def initialize(self, place: Place, admin_password: SecretStr, settings: Mapping[str, str]) -> None:
        """Write the option files, and make the data folder; the password goes through a file of mode 0600."""
        self._write_options(place, settings)
        for made in (place.data, place.folder / _TEMPORARY):
            made.mkdir(mode=0o700)
            place.give(made)
        secret = place.folder / "first-statements.sql"
        first = find(self.dialects, "server", "first_statements")
        text = first.rendered(lambda *_: f"'{admin_password.get_secret_value()}'")
        _write_new(place, secret, text + ";\n")
        try:
            self.make_data(place, options_argument(place), secret)
        finally:
            secret.unlink()

    def make_data(self, place: Place, options: str, statements: Path) -> None:
        """Make the data folder with ``options`` and run the file of statements in it. Raises ``ServerFailed``."""
        raise NotImplementedError

    def move(self, place: Place) -> None:
        """Add the new port to the options: the last line wins."""
        with (place.folder / _OPTIONS).open("a", encoding="utf-8") as file:
            file.write(option_lines({"port": str(place.port)}))

    def start(self, place: Place) -> None:
        """Start it as a process of its own, and wait until it greets a client."""
        seen = place.log.stat().st_size
        for left in (socket_of(place), socket_of(place).with_name("mysqld.sock.lock")):  # by one that was killed
            left.unlink(missing_ok=True)
        words = (str(place.folder / self.pid_file), str(place.binaries / self.program), options_argument(place))
        done = place.run_shell(_QUIETLY, str(place.log), *words)
        if done.returncode or not done.stdout.strip().isdecimal():  # such as words on a log that cannot be written
            raise ServerFailed(f"the server in {place.folder} cannot be started: {done.stdout.strip()}")
        pid, end = int(done.stdout), time.monotonic() + _READY_S
        while not _greets(socket_of(place)):
            if not is_alive(pid, str(place.folder)):
                told = complaints(read_since(place.log, seen))
                raise ServerFailed(f"the server in {place.folder} did not start: {told}")
            if time.monotonic() > end:
                raise ServerFailed(f"the server in {place.folder} was not ready within {_READY_S:g} s")
            time.sleep(0.02)

    def password_lines(self, place: Place, passwords: Mapping[str, SecretStr]) -> str:
        """An option file with a group an account, as the clients' ``--defaults-group-suffix=_ACCOUNT`` reads it."""
        return "".join(
            f'[client_{user}]\nuser = {user}\npassword = "{word.get_secret_value()}"\n'
            for user, word in passwords.items()
        )

    def settings_text(self, values: Mapping[str, str]) -> str:
        """An option file's lines for the server."""
        return option_lines(values, LOOSE)

    def settings_in(self, text: str) -> dict[str, str]:
        """What ``settings_text`` wrote."""
        return option_values(text)

    def control(self, target: Target) -> ServerControl:
        """Settings through an option file, data as a copied folder."""
        return MysqldControl(target)

    def _write_options(self, place: Place, settings: Mapping[str, str]) -> None:
        values = {
            **_FOR_BENCHMARKS,
            **self.special,
            "datadir": str(place.data),
            "tmpdir": str(place.folder / _TEMPORARY),
            "socket": str(socket_of(place)),
            "pid-file": str(place.folder / self.pid_file),
            "port": str(place.port),
            **settings,
        }
        include = f"!include {place.folder / SETTINGS_FILE}\n"
        _write_new(place, place.folder / SETTINGS_FILE, option_lines({}))
        _write_new(place, place.folder / _OPTIONS, option_lines(values) + include)


def candidates(program: str, *more: tuple[Path, str]) -> Iterator[tuple[Path, str]]:
    """Folders that may hold server programs, the preferred first, each with its source."""
    named = os.environ.get(NAMED)
    if named:
        given = Path(named).expanduser()
        yield from ((folder, "named") for folder in (given, given / "bin", given.parent))
    yield from more
    for folder in [*os.environ.get("PATH", "").split(os.pathsep), *_FOLDERS]:
        if folder and shutil.which(program, path=folder):
            yield Path(folder), "installed"


def options_argument(place: Place) -> str:
    """What makes a program of the server read our options and no others."""
    return f"--defaults-file={place.folder / _OPTIONS}"


def socket_of(place: Place) -> Path:
    """The server's socket."""
    return place.sockets / "mysqld.sock"


def complaints(text: str) -> str:
    """The last lines of a log that tell an error, or its last lines where none does."""
    errors = "\n".join(line for line in text.splitlines() if "ERROR" in line)
    return last_lines(errors or text) or NO_MESSAGE


def _write_new(place: Place, path: Path, text: str) -> None:
    """A new file that the server alone reads."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    place.give(path)


def _greets(path: Path) -> bool:
    """Whether the server says its first word to a client that connects."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(0.2)
        try:
            client.connect(str(path))
            return bool(client.recv(1))
        except OSError:
            return False
