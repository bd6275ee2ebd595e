"""The place of a private server: its folder, operating system account, address and passwords.

``server.json`` in the folder contains all of this except the passwords, which are in ``passwords`` (in the driver's
format, mode 0600). Database servers do not run as root, so root starts them under an account without privileges,
which also owns the data. If that account cannot read the binaries, root copies them once to ``/var/cache/hdbkit``.
The copy is kept for later servers and may be deleted while none runs; the next copy removes unfinished ones.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import random
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from hdbkit.errors import InputError, ServerFailed
from hdbkit.files import held, replace_file
from hdbkit.servers._guard import NOTE, USERS, read_note
from hdbkit.trust import trusted

SERVER_UID = 65534
"""The unprivileged account that a server runs as when its owner is root."""
COPIES = Path("/var/cache/hdbkit")
"""The folder for copies of binaries that the server's account cannot run in their original folder."""
BENCH_DATABASE = "hdbkit"
"""The name of the measured database, where databases have names."""
NEW_FOLDERS = "hdbkit-"
"""What the names of folders of servers begin with."""
_QUIETLY = 'pid_file=$1; shift; "$@" </dev/null >>"$0" 2>&1 & echo $! >"$pid_file"; echo $!'
"""Starts a server in the background and writes its pid file at once, even if the starting process is killed."""
_UNFINISHED = ".unfinished-"
_MAX_FOLDER_LENGTH = 70  # the path of a socket in the folder is limited to 107 bytes
_PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class Binaries:
    """The programs of one installed server: their ``folder``, and the ``source`` they come from."""

    kind: str
    version: str
    folder: Path
    source: str


@dataclass(frozen=True)
class Place:
    """A private server's folder and everything needed to start, reach and stop it, without passwords."""

    kind: str
    version: str
    folder: Path
    binaries: Path
    sockets: Path
    port: int
    uid: int | None
    pid_file: str
    stop_signals: list[str]
    admin_user: str
    user: str = "hdbkit"
    database: str = BENCH_DATABASE

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self.folder / "server.log"

    @property
    def password_file(self) -> Path:
        """The file with the passwords of both accounts, readable only by its owner."""
        return self.folder / "passwords"

    def write(self) -> None:
        """Write it to the folder atomically."""
        fields = {name: str(v) if isinstance(v, Path) else v for name, v in dataclasses.asdict(self).items()}
        replace_file(self.folder / NOTE, json.dumps(fields, indent=1).encode())

    @classmethod
    def read(cls, folder: Path) -> Place:
        """Read the place from a folder's ``server.json``. Raises ``InputError``: none can be trusted."""
        note = read_note(str(trusted(folder / NOTE).parent))
        names = [field.name for field in dataclasses.fields(cls)]
        if not set(names) <= set(note):
            raise InputError(f"{folder} is not the folder of a private server (it has no {NOTE})")
        paths = {name: Path(str(note[name])) for name in ("folder", "binaries", "sockets")}
        return cls(**{name: note[name] for name in names} | paths)  # type: ignore[arg-type]

    def run(self, program: str, *arguments: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a server program as the server's account, without our environment."""
        return run_as(self.uid, [str(self.binaries / program), *arguments], timeout_s)

    def run_shell(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a shell script as the server's account; the first of ``arguments`` is ``$0``."""
        return run_as(self.uid, ["/bin/sh", "-c", script, *arguments], 120)

    def start_in_background(self, program: str, *arguments: str) -> int:
        """Start a server program whose output goes to the log; its process id, which its pid file has at once."""
        words = (str(self.folder / self.pid_file), str(self.binaries / program), *arguments)
        done = self.run_shell(_QUIETLY, str(self.log), *words)
        if done.returncode or not done.stdout.strip().isdecimal():  # such as a message that the log cannot be written
            raise ServerFailed(f"the server in {self.folder} cannot be started: {done.stdout.strip()}")
        return int(done.stdout)

    def write_new(self, path: Path, text: str) -> None:
        """Write a new file that only the server can read."""
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        self.give(path)

    def give(self, path: Path) -> None:
        """Make the server's account the owner of a file or folder."""
        if self.uid is not None:
            os.chown(path, self.uid, self.uid)


def run_as(uid: int | None, command: list[str], timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a command as ``uid`` (None: the present account) and capture its output. Raises ``ServerFailed``."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    environment |= {name: os.environ[name] for name in ("TZ", "LD_LIBRARY_PATH") if name in os.environ}
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd="/",
            env=environment,
            timeout=timeout_s,
            check=False,
            umask=0o077,
            start_new_session=True,  # a server that it starts must survive our terminal
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
    except OSError as error:
        raise ServerFailed(f"{command[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise ServerFailed(f"{command[0]} did not finish within {timeout_s:g} s") from error


def folders_parent() -> Path:
    """The folder for new folders of servers: ``/var/tmp``, since ``/tmp`` is in memory on many systems."""
    there = Path("/var/tmp")  # noqa: S108  a new folder with a random name is made in it
    return there if os.access(there, os.W_OK) else Path(tempfile.gettempdir())


def new_server_folder(folder: Path | None) -> Path:
    """Create the folder of a new server: ``folder``, which must be missing or empty, or a new one if it is None."""
    if folder is None:
        made = Path(tempfile.mkdtemp(prefix=NEW_FOLDERS, dir=folders_parent()))
    else:
        made = folder.expanduser().resolve()
        if made.exists() and (not made.is_dir() or any(made.iterdir())):
            raise InputError(f"{made} is not an empty folder; a private server needs an empty or a new one")
        made.mkdir(parents=True, exist_ok=True)
    made.chmod(0o711 if os.geteuid() == 0 else 0o700)
    return made


def socket_folder(folder: Path) -> Path:
    """The folder for the server's socket: inside ``folder``, or a short path if that one is too long."""
    if len(str(folder)) <= _MAX_FOLDER_LENGTH:
        inside = folder / "sockets"
        inside.mkdir(mode=0o700)
        return inside
    return Path(tempfile.mkdtemp(prefix="hdbkit-s", dir="/tmp"))


def free_port() -> int:
    """A free port of 127.0.0.1, below the range of ports for outgoing connections."""
    for port in random.SystemRandom().sample(_PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServerFailed(f"there is no free port on 127.0.0.1 between {_PORTS.start} and {_PORTS.stop - 1}")


def new_password() -> SecretStr:
    """A random password."""
    return SecretStr(secrets.token_urlsafe(24))


def readable_by(uid: int | None, binaries: Binaries, probe: str) -> Path:
    """The folder of the binaries, or of a copy if ``uid`` may not run ``probe`` there (as in a private home)."""
    if uid is None or _runs(uid, binaries.folder / probe):
        return binaries.folder
    made = int((binaries.folder / probe).stat().st_mtime)
    copy = COPIES / f"{binaries.kind}-{binaries.version}-{made}"
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with held(copy.parent):  # no other process is copying, so unfinished copies can be removed
        if not copy.is_dir():
            _copy(binaries.folder.parent, copy)
    programs = copy / binaries.folder.relative_to(binaries.folder.parents[2])
    if not _runs(uid, programs / probe):
        raise ServerFailed(f"account {uid} can run neither {binaries.folder / probe} nor its copy in {copy}")
    return programs


def _copy(root: Path, copy: Path) -> None:
    """Copy an installation; the libraries from its wheel are in ``PACKAGE.libs``, next to the package."""
    for left in copy.parent.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(left)
    fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=copy.parent))
    package = root.parent
    for part in ("bin", "lib", "share"):
        shutil.copytree(root / part, fresh / package.name / root.name / part, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, fresh / libraries.name, symlinks=True)
    _open_up(fresh)
    fresh.rename(copy)


@contextmanager
def in_use(folder: Path | None) -> Iterator[list[int]]:
    """Keep the server of a folder after its owner's end; yield the descriptors that keep it, to be inherited.

    The server stays until this block and the last process with a descriptor have ended. None is yielded if the folder
    is not that of a server.
    """
    kept: list[int] = []
    with suppress(OSError):
        if folder is not None and (folder / NOTE).is_file():
            kept = [os.open(folder / USERS, os.O_RDONLY | os.O_CREAT, 0o600)]
            fcntl.flock(kept[0], fcntl.LOCK_SH | fcntl.LOCK_NB)
    try:
        yield kept
    finally:
        for descriptor in kept:
            os.close(descriptor)


def _runs(uid: int, program: Path) -> bool:
    try:
        return run_as(uid, [str(program), "--version"], 20).returncode == 0
    except ServerFailed:
        return False


def _open_up(folder: Path) -> None:
    """Make a folder readable by everybody."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
