"""Something accepts connections and never answers: a firewall, a tunnel, a server that is stopped."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator

import pytest

from hdbkit.config import Target
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, MissingDriver

KINDS = ["postgresql", "mariadb", "mysql", "redis", "odbc"]


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=50) as listening:
        yield listening


def target_of(kind: str, silent: socket.socket, timeout_s: int) -> Target:
    port = silent.getsockname()[1]
    if kind != "odbc":
        return Target(kind=kind, host="127.0.0.1", port=port, options={"connect_timeout": str(timeout_s)})
    pyodbc = pytest.importorskip("pyodbc")
    driver = next((one for one in pyodbc.drivers() if "MariaDB" in one), None)
    if driver is None:
        pytest.skip("no driver of MariaDB for ODBC")
    options = {"driver": driver, "server": "127.0.0.1", "port": str(port), "connect_timeout": str(timeout_s)}
    return Target(kind=kind, options=options)


def connect(target: Target) -> None:
    try:
        database(target.kind).connect(target)
    except MissingDriver as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_never_answers_is_given_up(kind: str, silent: socket.socket) -> None:
    with pytest.raises(CannotConnect, match="no answer came"):
        connect(target_of(kind, silent, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_ends_a_connect(kind: str, silent: socket.socket) -> None:
    target = target_of(kind, silent, 60)

    accepted: list[socket.socket] = []

    def interrupt() -> None:
        accepted.append(silent.accept()[0])
        if kind == "redis":  # redis-py leaves its socket to the collector when it is interrupted before it asks
            accepted[0].recv(1)
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt, daemon=True)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        connect(target)
    interrupting.join()
    accepted[0].close()
