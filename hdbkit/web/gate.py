"""The socket that an HTTP server listens on: connections that have shown no valid token never fill it.

These have a limited time to send a request, and a limited number by address and in all. Beyond it the oldest
of them is closed, never the new one: it may be about to send a valid token.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

HEADER_S = 10.0
"""The time to send the headers of a request with a valid token, TLS handshake included."""
MAX_UNVERIFIED = 64
MAX_PER_ADDRESS = 16


class _Connection(socket.socket):
    """An accepted connection; ``key`` is its peer's address and port."""

    gate: Gate | None = None
    key: tuple[str, int] = ("", 0)

    def close(self) -> None:
        """Close it, and leave the gate."""
        if self.gate is not None:
            self.gate.left(self)
        super().close()


class Gate(socket.socket):
    """A listening socket for an event loop, in whose thread all is called."""

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(listening.family, listening.type, listening.proto, listening.detach())
        self._unverified: dict[tuple[str, int], _Connection] = {}  # the oldest first

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, and close the oldest one without a valid token if there are too many."""
        accepted, address = super().accept()
        connection = _Connection(accepted.family, accepted.type, accepted.proto, accepted.detach())
        connection.gate, connection.key = self, (str(address[0]), int(address[1]))
        same = [one for one in self._unverified.values() if one.key[0] == connection.key[0]]
        if len(same) >= MAX_PER_ADDRESS:
            self._end(same[0])
        elif len(self._unverified) >= MAX_UNVERIFIED:
            self._end(next(iter(self._unverified.values())))
        self._unverified[connection.key] = connection
        asyncio.get_running_loop().call_later(HEADER_S, self._expire, connection)
        return connection, address

    def known(self, host: str, port: int) -> None:
        """Note that the connection from here has sent a valid token."""
        self._unverified.pop((host, port), None)

    def left(self, connection: _Connection) -> None:
        """Note that a connection is closed."""
        if self._unverified.get(connection.key) is connection:
            del self._unverified[connection.key]

    def _expire(self, connection: _Connection) -> None:
        if self._unverified.get(connection.key) is connection:
            self._end(connection)

    def _end(self, connection: _Connection) -> None:
        """Have its reader see the end of the connection, and close it."""
        self.left(connection)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
