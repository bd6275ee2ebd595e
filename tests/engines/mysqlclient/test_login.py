"""Servers that close a connection during login, or never answer: the driver's errors for both are the same."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack

import pytest

from hdbkit.config import Target
from hdbkit.contracts import SessionOptions
from hdbkit.databases._mysqlclient.connect import _connect_error, mysql_connection
from hdbkit.errors import CannotConnect, NothingListens

ENDED = "the server at 127.0.0.1, port .* closed the connection during login"


@pytest.mark.parametrize(
    ("end", "timeout_s", "reason"),
    [("close", 60, ENDED), ("none", 1, "no answer came from 127.0.0.1, port .* in time")],
)
def test_a_closed_connection_is_not_taken_for_a_timeout(end: str, timeout_s: int, reason: str) -> None:
    with ExitStack() as opened:
        listening = opened.enter_context(socket.create_server(("127.0.0.1", 0)))

        def serve() -> None:
            client = opened.enter_context(listening.accept()[0])
            if end != "none":
                client.close()

        threading.Thread(target=serve, daemon=True).start()
        options = {"connect_timeout": str(timeout_s)}
        target = Target(kind="mysql", host="127.0.0.1", port=listening.getsockname()[1], user="x", options=options)
        with pytest.raises(CannotConnect, match=reason):
            mysql_connection(target, SessionOptions())


def test_an_account_without_privileges_gets_the_command_that_grants_the_first() -> None:
    target = Target(kind="mariadb", host="db1", user="bench", database="lab")
    refused = "Access denied for user 'bench'@'10.%' to database 'lab'"
    error = _connect_error(target, 1044, refused)
    assert error.advice.endswith("or run: GRANT SELECT ON `lab`.* TO 'bench'@'10.%'; doctor then names the rest")


def test_a_port_where_nothing_listens_is_not_taken_for_a_closed_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(NothingListens, match=f"nothing listens on 127.0.0.1, port {port}"):
        mysql_connection(Target(kind="mysql", host="127.0.0.1", port=port, user="x"), SessionOptions())
