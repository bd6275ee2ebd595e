"""The common part of private MySQL and MariaDB servers: option files, start, passwords.

There are two option files. ``server.cnf`` is written once and includes ``settings.cnf``, which contains the settings
changed later, so that these take precedence. No option file of the system is read.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.errors import ServerFailed
from hdbkit.files import append
from hdbkit.processes import is_alive
from hdbkit.servers._mysqld_options import LOOSE, option_lines, option_values
from hdbkit.servers.folder_control import FolderControl
from hdbkit.servers.launcher import Launcher, TrialStart
from hdbkit.servers.log import NO_MESSAGE, last_lines, read_since
from hdbkit.servers.place import BENCH_DATABASE, SERVER_UID, Binaries, Place, readable_by, run_as
from hdbkit.sql import find

_NAMED = "HDBKIT_MYSQLD"
"""The environment variable that names a folder with server programs."""
SETTINGS_FILE = "settings.cnf"
_OPTIONS = "server.cnf"
_TEMPORARY = "tmp"
"""Each server has its own folder: a starting server removes all temporary tables that it finds there."""
_FOR_BENCHMARKS = {"bind-address": "127.0.0.1", "skip-log-bin": "1", "local-infile": "1", "max_connections": "200"}
_BUILD = "hdbkit-build"
"""The folder within a source folder that a build uses."""
_READY_S = 120.0
_ERROR = re.compile(
    r"\[ERROR\](?: \[[^]]*\])* (.*)|(?<=\] )(?:Buffered warning: )?(option '[^']*': .* adjusted to .*)"
)
_FOLDERS = ("/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/sbin", "/usr/local/mysql/bin", "/opt/mysql/bin")


class MysqldServer(Launcher):
    """The part of ``servers.private.Launcher`` that MySQL and MariaDB have in common."""

    kind: str
    program: str
    dialects: tuple[str, ...]
    """As in ``contracts.Database``; the first statements run before any driver is loaded."""
    pid_file = "data/server.pid"
    stop_signals = ("SIGTERM",)
    admin_user = "root"
    admin_database = "mysql"
    database = BENCH_DATABASE
    settings_file = SETTINGS_FILE
    suffix = ".cnf"
    validates: tuple[str, ...]
    """Options with which the program checks its settings and ends."""
    special: Mapping[str, str] = {}
    """Options that only this kind of server has."""

    def build_commands(self, prefix: Path, options: Sequence[str], processes: int) -> list[list[str]]:
        """CMake: configure with the defaults of its packages, build, install."""
        configure = ["cmake", "-S", ".", "-B", _BUILD, "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
        return [
            [*configure, f"-DCMAKE_INSTALL_PREFIX={prefix}", *options],
            ["cmake", "--build", _BUILD, "--parallel", str(processes)],
            ["cmake", "--install", _BUILD],
        ]

    def initialize(self, place: Place, admin_password: SecretStr, settings: Mapping[str, str]) -> None:
        """Write the option files and create the data folder; the password is passed in a file of mode 0600."""
        self._write_options(place, settings)
        for made in (place.data, place.folder / _TEMPORARY):
            made.mkdir(mode=0o700)
            place.give(made)
        secret = place.folder / "first-statements.sql"
        first = find(self.dialects, "server", "first_statements")
        text = first.rendered(lambda *_: f"'{admin_password.get_secret_value()}'")
        place.write_new(secret, text + ";\n")
        try:
            self.make_data(place, options_argument(place), secret)
        finally:
            secret.unlink()

    def make_data(self, place: Place, options: str, statements: Path) -> None:
        """Create the data folder with ``options`` and run the file of statements. Raises ``ServerFailed``."""
        raise NotImplementedError

    def move(self, place: Place) -> None:
        """Add the new port to the options; the last line takes precedence."""
        append(place.folder / _OPTIONS, option_lines({"port": str(place.port)}))

    def start(self, place: Place) -> None:
        """Start it as a separate process and wait until it accepts a client."""
        seen = place.log.stat().st_size
        for left in (socket_of(place), socket_of(place).with_name("mysqld.sock.lock")):  # left by a killed server
            left.unlink(missing_ok=True)
        pid, end = place.start_in_background(self.program, options_argument(place)), time.monotonic() + _READY_S
        while not _accepts(socket_of(place)):
            if not is_alive(pid, str(place.folder)):
                reason = error_lines(read_since(place.log, seen))
                raise ServerFailed(f"the server in {place.folder} did not start: {reason}")
            if time.monotonic() > end:
                raise ServerFailed(f"the server in {place.folder} was not ready within {_READY_S:g} s")
            time.sleep(0.02)

    def password_lines(self, place: Place, passwords: Mapping[str, SecretStr]) -> str:
        """An option file with one group per account, which clients select by ``--defaults-group-suffix=_ACCOUNT``."""
        return "".join(
            f'[client_{user}]\nuser = {user}\npassword = "{word.get_secret_value()}"\n'
            for user, word in passwords.items()
        )

    def settings_text(self, values: Mapping[str, str]) -> str:
        """The server's lines of an option file."""
        return option_lines(values, LOOSE)

    def settings_in(self, text: str) -> dict[str, str]:
        return option_values(text)

    @contextmanager
    def trial(self, binaries: Binaries, present: Mapping[str, str]) -> Iterator[TrialStart]:
        """Have the program check each setting by itself; it reports a value that it would replace by another."""
        uid = SERVER_UID if os.geteuid() == 0 else None
        programs = readable_by(uid, binaries, self.program)

        def error_with(values: Mapping[str, str]) -> str:
            given = [f"--{name}={value}" for name, value in values.items()]
            done = run_as(uid, [str(programs / self.program), "--no-defaults", *given, *self.validates])
            return last_lines("\n".join(found[1] or found[2] for found in _ERROR.finditer(done.stdout)))

        yield error_with

    def control(self, target: Target) -> ServerControl:
        """The control that changes settings in an option file and keeps the data as a copied folder."""
        return FolderControl(target, self)

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
        place.write_new(place.folder / SETTINGS_FILE, option_lines({}))
        place.write_new(place.folder / _OPTIONS, option_lines(values) + include)


def mysqld_candidates(program: str, *more: tuple[Path, str]) -> Iterator[tuple[Path, str]]:
    """Folders that may contain server programs, preferred ones first, each with its source."""
    named = os.environ.get(_NAMED)
    if named:
        given = Path(named).expanduser()
        yield from ((folder, "named") for folder in (given, given / "bin", given.parent))
    yield from more
    for folder in [*os.environ.get("PATH", "").split(os.pathsep), *_FOLDERS]:
        if folder and shutil.which(program, path=folder):
            yield Path(folder), "installed"


def options_argument(place: Place) -> str:
    """The argument that makes a server program read our option file and no other."""
    return f"--defaults-file={place.folder / _OPTIONS}"


def socket_of(place: Place) -> Path:
    """The server's socket."""
    return place.sockets / "mysqld.sock"


def error_lines(text: str) -> str:
    """The last error lines of a log, or its last lines if it contains no error."""
    errors = "\n".join(line for line in text.splitlines() if "ERROR" in line)
    return last_lines(errors or text) or NO_MESSAGE


def _accepts(path: Path) -> bool:
    """Whether the server sends its handshake to a client that connects."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(0.2)
        try:
            client.connect(str(path))
            return bool(client.recv(1))
        except OSError:
            return False
