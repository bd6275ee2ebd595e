"""A real PgBouncer in front of a private server, for the tests of connection poolers."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hdbkit.config import Target
from hdbkit.servers import PrivateServer
from hdbkit.servers.place import SERVER_UID, free_port
from tests.run.conftest import password_of

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextlib.contextmanager
def pgbouncer(server: PrivateServer, pool_mode: str, **settings: object) -> Iterator[Target]:
    """The server's account through a PgBouncer of this pool mode; the password is in memory."""
    if PGBOUNCER is None:
        pytest.skip("no pgbouncer here; make tools brings it where it can")
    accounts = {target.user: password_of(target) for target in (server.target, server.admin)}
    uid, port = SERVER_UID if os.geteuid() == 0 else None, free_port()
    with tempfile.TemporaryDirectory(prefix="hdbkit-pool-") as name:
        folder = Path(name)
        (folder / "users").write_text("".join(f'"{user}" "{word}"\n' for user, word in accounts.items()))
        lines = {
            "listen_addr": "127.0.0.1",
            "listen_port": port,
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": folder / "users",
            "logfile": folder / "log",
            "pool_mode": pool_mode,
            "server_login_retry": 1,
            **settings,
        }
        text = "".join(f"{key} = {value}\n" for key, value in lines.items())
        place = f"host={server.target.host} port={server.target.port}"
        (folder / "ini").write_text(f"[databases]\n* = {place}\n[pgbouncer]\n{text}")
        if uid is not None:
            for path in (folder, *folder.iterdir()):
                os.chown(path, uid, uid)
        process = subprocess.Popen(
            [PGBOUNCER, "-q", str(folder / "ini")], user=uid, group=uid, extra_groups=None if uid is None else []
        )
        try:
            _await(port)
            yield Target(
                kind=server.target.kind,
                host="127.0.0.1",
                port=port,
                database=server.target.database,
                user=server.target.user,
                password=password_of(server.target),  # type: ignore[arg-type]
            )
        finally:
            process.terminate()
            process.wait()


def _await(port: int) -> None:
    """Wait until something listens on this port."""
    deadline = time.monotonic() + 120
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert time.monotonic() < deadline, "pgbouncer does not listen"
        time.sleep(0.02)
