"""The proxy of network faults, in its process, between a client and a server of this process."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hdbkit.config import Target
from hdbkit.config.fault import Faults
from hdbkit.faults.injector import Injector
from tests.run.faults import until

SIZE = 4_000_000
"""An answer of many parts."""


class Answering(socketserver.StreamRequestHandler):
    """Answers each line with a large text."""

    def handle(self) -> None:
        try:
            while self.rfile.readline():
                self.wfile.write(b"x" * SIZE)
        except OSError:
            return


@pytest.fixture
def port() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def asked(client: socket.socket) -> float:
    """Seconds that an answer takes."""
    began = time.monotonic()
    client.sendall(b"\n")
    left = SIZE
    while left:
        part = client.recv(1 << 20)
        assert part
        left -= len(part)
    return time.monotonic() - began


def test_a_delay_applies_once_a_cut_keeps_connections_and_a_reset_ends_them(tmp_path: Path, port: int) -> None:
    faults = Faults.parse(
        "delay network at 0 s for 3 s by 300 ms; cut network at 3.2 s for 2 s; reset network at 6 s for 600 s"
    ).each
    notes = tmp_path / "notes"
    own = Injector(Target(kind="postgresql", host="127.0.0.1", port=port), faults, 1, tmp_path, notes)

    def in_effect(number: int) -> bool:
        found = [json.loads(line) for line in notes.read_text().splitlines()]
        return (number, "effective") in [(one["number"], one["event"]) for one in found]

    assert own.target.port
    with closing(socket.create_connection(("127.0.0.1", own.target.port))) as client:
        client.settimeout(180)
        asked(client)
        own.begin(time.monotonic_ns(), [])
        until(lambda: in_effect(0), "answers are delayed")
        took_s = asked(client)
        assert 0.3 <= took_s < 2.6  # each of its parts would be late by as much, until the delay ends
        until(lambda: in_effect(1), "the network is cut")
        assert asked(client) >= 0.2
        until(lambda: in_effect(2), "connections are reset")
        with pytest.raises(ConnectionResetError):
            asked(client)
    own.undo()
    with closing(socket.create_connection(("127.0.0.1", own.target.port))) as client:
        asked(client)
    assert own.close() == []


def test_clients_stay_connected_until_the_process_ends_though_no_fault_began(
    tmp_path: Path, port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """As when a run is stopped in its ramp-up."""
    faults = Faults.parse("cut network at 9 s for 0.5 s").each
    own = Injector(Target(kind="postgresql", host="127.0.0.1", port=port), faults, 1, tmp_path, tmp_path / "notes")
    assert own.target.port
    with closing(socket.create_connection(("127.0.0.1", own.target.port))) as client:
        client.settimeout(60)
        asked(client)
        own.undo()
        asked(client)
        assert not own.ended
        assert own.close() == []
        assert client.recv(1) == b""
    assert capfd.readouterr().err == ""
