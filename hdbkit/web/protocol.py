"""uvicorn's HTTP/1.1 protocol on httptools. It adds a maximum size of headers, one write per answer, and answers to
repeated reads without a task.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hdbkit.web.guard import Guard, Scope

MAX_HEAD_BYTES = 64 * 1024
"""The size of a request's first line and headers; what arrives at once may exceed it."""


class Joined:
    """A transport that sends together what is written in one step of the event loop, such as headers and content."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send data when the present step has ended."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Send what waits, and close the connection."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Send what waits."""
        if self._waiting:
            self._transport.write(b"".join(self._waiting))
            self._waiting.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Protocol(HttpToolsProtocol):
    """One connection, which the guard answers at once where it can."""

    transport: Joined  # type: ignore[assignment]
    _head_bytes: int | None = 0
    """How much of the present head has arrived; None while content does."""
    _may_answer = False
    """Whether the guard may answer a request at once: one of those that arrive together, so that no client waits."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(cast("asyncio.Transport", Joined(transport)))

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, unless the head has become too long."""
        self._may_answer = True
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The headers of a request have at most {MAX_HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """Begin to read a request, perhaps one that has arrived with another, which was answered at once."""
        self._unset_keepalive_if_required()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin the request."""
        self._head_bytes = None
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer at once, or start a task."""
        usual = app is self.app and cycle.keep_alive and not (self.flow.write_paused or self.transport.is_closing())
        answer = None
        if self._may_answer and usual and not _has_content(cycle):
            answer = cast("Guard", self.config.app).at_once(cast("Scope", cycle.scope))
        if answer is None:
            return super()._start_asgi_task(cycle, app)
        headers, content = [*self.server_state.default_headers, *answer.headers], answer.content
        head = b"".join([b"%b: %b\r\n" % one for one in headers])
        self.transport.write(b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (head, len(content), content))
        self.transport.flush()
        self._may_answer = False
        cycle.response_complete = True
        self.on_response_complete()
        return None

    def on_message_complete(self) -> None:
        """Wait for the next request."""
        self._head_bytes = 0
        super().on_message_complete()


def _has_content(cycle: RequestResponseCycle) -> bool:
    """Whether content of the request follows, or its client asks whether to send some."""
    return cycle.waiting_for_100_continue or any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in cycle.scope["headers"]
    )
