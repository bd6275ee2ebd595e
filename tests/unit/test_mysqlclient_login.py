"""Servers that close a connection during login, or never answer: the driver's errors for both are the same."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import ExitStack

import pytest

from hdbkit.config import Target
from hdbkit.contracts import SessionOptions
from hdbkit.databases._mysqlclient_connect import connected
from hdbkit.errors import CannotConnect

AT_ONCE = struct.pack("ii", 1, 0)
ENDED = "the server at 127.0.0.1, port .* closed the connection during login"


@pytest.mark.parametrize(
    ("end", "timeout_s", "reason"),
    [("close", 60, ENDED), ("reset", 60, ENDED), ("none", 1, "no answer came from 127.0.0.1, port .* in time")],
)
def test_a_closed_connection_is_not_taken_for_a_timeout(end: str, timeout_s: int, reason: str) -> None:
    with ExitStack() as opened:
        listening = opened.enter_context(socket.create_server(("127.0.0.1", 0)))

        def serve() -> None:
            client = opened.enter_context(listening.accept()[0])
            if end == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            if end != "none":
                client.close()

        threading.Thread(target=serve, daemon=True).start()
        options = {"connect_timeout": str(timeout_s)}
        target = Target(kind="mysql", host="127.0.0.1", port=listening.getsockname()[1], user="x", options=options)
        with pytest.raises(CannotConnect, match=reason):
            connected(target, SessionOptions())
