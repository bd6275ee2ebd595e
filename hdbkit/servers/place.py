"""Where a private server lives: its folder, its account of the operating system, its address, its passwords.

The folder's ``server.json`` holds all of it but the passwords; those are in ``passwords`` (the driver's form, 0600).
A server refuses to run as root: then its data belongs to an account without rights, and so do its processes. Where
that account cannot read the binaries, root copies them once to ``/var/cache/hdbkit``. The copy stays for the next
server and may be deleted whenever none runs; what a killed copying left there goes at the next one.
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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from hdbkit.errors import InputError, ServerFailed
from hdbkit.files import replace_file
from hdbkit.servers._guard import NOTE, read_note

SERVER_UID = 65534
"""The account without rights that a server runs as when its owner is root."""
COPIES = Path("/var/cache/hdbkit")
"""Where binaries are copied to once when the server's account may not run them where they are."""
_UNFINISHED = ".unfinished-"
_LONGEST_FOLDER = 70  # the path of a socket in it must stay within 107 bytes
_PORTS = range(20_000, 32_000)


@dataclass(frozen=True)
class Binaries:
    """The programs of one installed server: ``folder`` holds them, ``source`` says where they come from."""

    kind: str
    version: str
    folder: Path
    source: str


@dataclass(frozen=True)
class Place:
    """A private server's folder and all that is needed to start, reach and stop it. No password."""

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
    database: str = "hdbkit"

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
        """The passwords of both accounts, readable by the owner alone."""
        return self.folder / "passwords"

    def write(self) -> None:
        """Keep it in the folder, whole or not at all."""
        fields = {name: str(v) if isinstance(v, Path) else v for name, v in dataclasses.asdict(self).items()}
        replace_file(self.folder / NOTE, json.dumps(fields, indent=1).encode())

    @classmethod
    def read(cls, folder: Path) -> Place:
        """The place that a folder's ``server.json`` describes. Raises ``InputError`` where there is none."""
        note = read_note(str(folder))
        names = [field.name for field in dataclasses.fields(cls)]
        if not set(names) <= set(note):
            raise InputError(f"{folder} is not the folder of a private server (it has no {NOTE})")
        paths = {name: Path(str(note[name])) for name in ("folder", "binaries", "sockets")}
        return cls(**{name: note[name] for name in names} | paths)  # type: ignore[arg-type]

    def run(self, program: str, *arguments: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a program of the server as the server's account, with nothing of our environment."""
        return run_as(self.uid, [str(self.binaries / program), *arguments], timeout_s)

    def run_shell(self, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a line of the shell as the server's account; the first of ``arguments`` is ``$0``."""
        return run_as(self.uid, ["/bin/sh", "-c", script, *arguments], 120)

    def give(self, path: Path) -> None:
        """Make a file or folder the server's own."""
        if self.uid is not None:
            os.chown(path, self.uid, self.uid)


def run_as(uid: int | None, command: list[str], timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a command as ``uid`` (None: as we are), its output caught together. Raises ``ServerFailed``."""
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
            start_new_session=True,  # what it leaves running outlives our terminal
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
    except OSError as error:
        raise ServerFailed(f"{command[0]} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise ServerFailed(f"{command[0]} did not end within {timeout_s:g} s") from error


def new_folder(folder: Path | None) -> Path:
    """Make the folder of a new server: ``folder`` itself when it is absent or empty, else a fresh one.

    A fresh one stands in ``/var/tmp``: ``/tmp`` is memory on many systems, and a database in memory is no measure.
    """
    if folder is None:
        there = Path("/var/tmp")  # noqa: S108  a fresh folder with a random name is made in it
        parent = there if os.access(there, os.W_OK) else Path(tempfile.gettempdir())
        made = Path(tempfile.mkdtemp(prefix="hdbkit-", dir=parent))
    else:
        made = folder.expanduser().resolve()
        if made.exists() and (not made.is_dir() or any(made.iterdir())):
            raise InputError(f"{made} is not an empty folder; give an empty or a new one for a private server")
        made.mkdir(parents=True, exist_ok=True)
    made.chmod(0o711 if os.geteuid() == 0 else 0o700)
    return made


def socket_folder(folder: Path) -> Path:
    """Where the server's socket goes: in its folder, or in a short one where that path is too long."""
    if len(str(folder)) <= _LONGEST_FOLDER:
        inside = folder / "sockets"
        inside.mkdir(mode=0o700)
        return inside
    return Path(tempfile.mkdtemp(prefix="hdbkit-s", dir="/tmp"))


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has now, below those that outgoing connections take."""
    for port in random.SystemRandom().sample(_PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServerFailed(f"no free port on 127.0.0.1 between {_PORTS.start} and {_PORTS.stop - 1}")


def new_password() -> SecretStr:
    """A password that nobody has to type."""
    return SecretStr(secrets.token_urlsafe(24))


def readable_by(uid: int | None, binaries: Binaries, probe: str) -> Path:
    """The folder of the binaries, or of a copy of them where ``uid`` may not run ``probe`` (a private home)."""
    if uid is None or _runs(uid, binaries.folder / probe):
        return binaries.folder
    made = int((binaries.folder / probe).stat().st_mtime)
    copy = COPIES / f"{binaries.kind}-{binaries.version}-{made}"
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with held(copy.parent):  # so that what is unfinished is nobody's
        if not copy.is_dir():
            _copy(binaries.folder.parent, copy)
    programs = copy / binaries.folder.relative_to(binaries.folder.parents[2])
    if not _runs(uid, programs / probe):
        raise ServerFailed(f"account {uid} may run neither {binaries.folder / probe} nor its copy in {copy}")
    return programs


def _copy(root: Path, copy: Path) -> None:
    """Copy an installation; the libraries that came in its wheel stand in ``PACKAGE.libs``, beside the package."""
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
def held(folder: Path) -> Iterator[None]:
    """Hold a folder for one process at a time; the lock ends with the process, however it ends."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _runs(uid: int, program: Path) -> bool:
    try:
        return run_as(uid, [str(program), "--version"], 20).returncode == 0
    except ServerFailed:
        return False


def _open_up(folder: Path) -> None:
    """Let everybody read and enter."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
