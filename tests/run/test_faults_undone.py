"""Faults of the server are undone where a connection alone proves nothing: a pooler, a tunnel, several addresses."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hdbkit.config import ControlSpec, Target
from hdbkit.config.fault import Fault
from hdbkit.faults.actions import Actions
from hdbkit.servers import PrivateServer
from hdbkit.servers.place import free_port
from tests.run.agents import commands_of, own_target
from tests.run.faults import ask
from tests.run.poolers import pgbouncer


@contextmanager
def tunnel(target: Target) -> Iterator[Target]:
    """The target through a tunnel, which accepts each connection and closes it while its server is down."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def accept() -> None:
            while True:
                try:
                    client = listening.accept()[0]
                except OSError:
                    return
                try:
                    server = socket.create_connection((target.host, target.port))
                except OSError:
                    client.close()
                    continue
                threading.Thread(target=carry, args=(client, server), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield target.with_(port=port)
        listening.shutdown(socket.SHUT_RDWR)


def carry(client: socket.socket, server: socket.socket) -> None:
    other = {client: server, server: client}
    with client, server, suppress(OSError):
        while True:
            for end in select.select([*other], [], [])[0]:
                data = end.recv(65536)
                if not data:
                    return
                other[end].sendall(data)


@contextmanager
def fallbacks(target: Target) -> Iterator[Target]:
    """The target with a second address at which nothing listens."""
    yield target.with_(fallbacks=(f"127.0.0.1:{free_port()}",))


@contextmanager
def pooler(server: PrivateServer, target: Target, mode: str) -> Iterator[Target]:
    with pgbouncer(server, mode) as pooled:
        yield pooled.with_(control=target.control, may_restart=True)


@pytest.mark.parametrize("sentence", ["kill server at 0 s", "stop server at 0 s for 1 s"])
@pytest.mark.parametrize("way", ["fallbacks", "tunnel", "session", "transaction"])
def test_a_server_is_started_again(built: PrivateServer, tmp_path: Path, way: str, sentence: str) -> None:
    own = own_target(built).with_(control=ControlSpec(commands=commands_of(built)))
    ways = {"fallbacks": fallbacks, "tunnel": tunnel}
    with ways[way](own) if way in ways else pooler(built, own, mode=way) as target:
        path = tmp_path / "fault-0.json"
        action = Actions(target, 1).of(Fault.parse(sentence), path)
        action.begin()
        assert not built.running
        action.end()
        assert built.running
        assert ask(built, "SELECT 1") == [(1,)]
    assert not path.exists()
