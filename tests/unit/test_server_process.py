"""Which process is taken for the server of a session: none of another host's server."""

from __future__ import annotations

import os
import platform
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from hdbkit.databases._base.access import ends_here
from hdbkit.databases._mysqlclient import database as mysqlclient
from hdbkit.databases.mysql import MySQL


def test_a_connection_between_two_ends_of_this_host_is_recognized() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert ends_here(ours.fileno())
    with socket.create_server(("127.0.0.1", 0)) as server:
        for address, same in (("127.0.0.1", True), ("127.0.0.2", False)):
            with socket.create_connection(server.getsockname(), source_address=(address, 0)) as client:
                assert ends_here(client.fileno()) == same
                assert client.fileno() >= 0, "it stays open"


class Engine(MySQL):
    """An engine whose servers are processes like this one."""

    processes = (Path("/proc/self/comm").read_text().strip(),)


HERE = platform.node()


@pytest.mark.parametrize(
    ("host", "local", "found"),
    [(HERE, True, True), (HERE.upper(), True, True), (HERE, False, False), ("db1", True, False)],
)
def test_a_server_with_another_host_name_or_address_has_no_process_here(
    host: str, local: bool, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pid file may name a process of this host that is a server too, and is as old."""
    (tmp_path / "pid").write_text(str(os.getpid()))

    def ask(operation: str) -> list[tuple[Any, ...]]:
        uptime_s = time.time() - psutil.Process().create_time()
        return [(host, str(tmp_path), "pid") if operation == "process_file" else ("Uptime", uptime_s)]

    session = SimpleNamespace(ask=ask, connection=SimpleNamespace(fileno=lambda: 0))
    monkeypatch.setattr(mysqlclient, "_own", lambda session: session)
    monkeypatch.setattr(mysqlclient, "ends_here", lambda _: local)
    assert Engine().server_process(session) == (os.getpid() if found else None)  # type: ignore[arg-type]
