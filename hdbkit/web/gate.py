"""The socket that an HTTP server listens on: connections without a request that has a valid token never fill it.

These have a limited time to send a request, also the next one, since the token may have been revoked, and are
limited in number. Beyond it, the address that has the most of
them loses the one that has been silent longest, never the new one: it may be about to send a valid token. So a flood
from one address costs others nothing, and who shares its address is served, since a client that sends is not silent.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

HEADER_S = 10.0
"""The time to send the headers of a request with a valid token, TLS handshake included."""
MAX_UNVERIFIED = 512
_AT_ONCE = 16
"""Connections that are accepted before those accepted earlier are read again: a flood must not outrun them."""


class _Connection(socket.socket):
    """An accepted connection; ``key`` is its peer's address and port."""

    gate: RequestGate | None = None
    key: tuple[str, int] = ("", 0)
    expires: asyncio.TimerHandle | None = None
    answering = 0
    """Its requests with a valid token that are being answered."""

    def recv(self, *arguments: Any) -> bytes:
        """Receive, and note that the peer is not silent."""
        if self.gate is not None:
            self.gate.heard(self)
        return super().recv(*arguments)

    def recv_into(self, *arguments: Any) -> int:
        """Receive, and note that the peer is not silent."""
        if self.gate is not None:
            self.gate.heard(self)
        return super().recv_into(*arguments)

    def close(self) -> None:
        """Close it, and leave the gate."""
        if self.gate is not None:
            self.gate.left(self)
        super().close()


class RequestGate(socket.socket):
    """A listening socket for an event loop, in whose thread all is called."""

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(listening.family, listening.type, listening.proto, listening.detach())
        self._open: dict[tuple[str, int], _Connection] = {}
        self._unverified: dict[str, dict[tuple[str, int], _Connection]] = {}
        """By address, the one that has been silent longest first."""
        self._accepted = 0

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, and close another without a valid token if there are too many."""
        if self._accepted == _AT_ONCE:
            self._accepted = 0
            raise BlockingIOError  # the event loop asks again after it has read from others
        accepted, address = super().accept()
        self._accepted += 1
        connection = _Connection(accepted.family, accepted.type, accepted.proto, accepted.detach())
        connection.gate, connection.key = self, (str(address[0]), int(address[1]))
        if sum(map(len, self._unverified.values())) >= MAX_UNVERIFIED:
            most = max(self._unverified.values(), key=len)
            self._end(next(iter(most.values())))
        self._open[connection.key] = connection
        self._await_request(connection)
        return connection, address

    def heard(self, connection: _Connection) -> None:
        """Note that a connection has sent something."""
        same = self._unverified.get(connection.key[0], {})
        if same.get(connection.key) is connection:
            same[connection.key] = same.pop(connection.key)

    def answers(self, host: str, port: int) -> _Connection | None:
        """Note that a request with a valid token from here is being answered; None if its connection is closed."""
        found = self._open.get((host, port))
        if found is not None:
            found.answering += 1
            self._verified(found)
        return found

    def answered(self, connection: _Connection) -> None:
        """Note the end of that; the next request has its own time."""
        connection.answering -= 1
        if not connection.answering and self._open.get(connection.key) is connection:
            self._await_request(connection)

    def left(self, connection: _Connection) -> None:
        """Note that a connection is closed."""
        self._verified(connection)
        if self._open.get(connection.key) is connection:
            del self._open[connection.key]

    def _await_request(self, connection: _Connection) -> None:
        self._unverified.setdefault(connection.key[0], {})[connection.key] = connection
        connection.expires = asyncio.get_running_loop().call_later(HEADER_S, self._end, connection)

    def _verified(self, connection: _Connection) -> None:
        """It is not among the unverified."""
        if connection.expires is not None:
            connection.expires.cancel()
        same = self._unverified.get(connection.key[0], {})
        if same.get(connection.key) is connection:
            del same[connection.key]
            if not same:
                del self._unverified[connection.key[0]]

    def _end(self, connection: _Connection) -> None:
        """Have its reader see the end of the connection, and close it."""
        self.left(connection)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
