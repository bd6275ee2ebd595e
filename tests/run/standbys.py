"""A streaming standby of a private server, for the tests on standbys and on several hosts."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hdbkit.config import Target
from hdbkit.servers import PrivateServer
from hdbkit.servers.place import free_port
from tests.run.conftest import password_of


@contextlib.contextmanager
def standby(server: PrivateServer) -> Iterator[Target]:
    """The server's account on its standby; the password is in memory."""
    place, port = server.place, free_port()
    if not (place.binaries / "pg_basebackup").is_file():
        pytest.skip("these binaries have no pg_basebackup")
    folder = Path(tempfile.mkdtemp(prefix="hdbkit-standby-", dir="/var/tmp"))
    data, log = folder / "data", folder / "log"
    place.give(folder)
    admin = f"host=127.0.0.1 port={place.port} user={place.admin_user} password={password_of(server.admin)}"
    target = server.target.with_(
        port=port, server_folder=None, password_file=None, password=password_of(server.target)
    )
    try:
        copied = place.run("pg_basebackup", "-d", admin, "-D", str(data), "-R", "-X", "stream", "-c", "fast")
        assert copied.returncode == 0, copied.stdout
        options = f"-c port={port} -c unix_socket_directories={folder} -c fsync=off"
        started = place.run("pg_ctl", "start", "-w", "-D", str(data), "-l", str(log), "-o", options)
        assert started.returncode == 0, log.read_text()
        yield target
    finally:
        place.run("pg_ctl", "stop", "-m", "immediate", "-D", str(data))
        shutil.rmtree(folder)
