"""A TCP proxy on the loopback interface between clients and server, which delays, holds back or resets connections.

A delay applies to what the server sends: each part is due that much later than it arrived, whatever waits before it,
so that an answer of any size arrives later by the delay and at the same rate.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

_CHUNK_BYTES = 65_536
_WAITING = 256
"""The maximum number of parts that wait on a connection; the server then waits, as behind a slow network."""
_RESET = struct.pack("ii", 1, 0)
"""``SO_LINGER`` with which closing a connection resets it."""

_Part = tuple[float, bytes]
"""When it is due, and its bytes; none at the end of the connection."""


class Proxy:
    """Forwards connections to ``host`` and ``port``; all its state belongs to one event loop."""

    delay_s = 0.0

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._open = asyncio.Event()
        self._open.set()
        self._resetting = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Future[None]] = set()

    async def listen(self) -> int:
        """Start to accept connections; return the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Accept no more connections, and close those that are left."""
        if self._server:
            self._server.close()
        for one in self._serving:
            one.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def cut(self) -> None:
        """Hold back all data; connections stay open."""
        self._open.clear()

    def mend(self) -> None:
        """Forward data again, those held back first, and accept connections."""
        self._open.set()
        self._resetting, self.delay_s = False, 0.0

    def reset(self) -> None:
        """Reset all connections, and new ones until ``mend``."""
        self._resetting = True
        for writer in list(self._writers):
            _reset(writer)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.ensure_future(self._forward(reader, writer))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client."""
        if self._resetting:
            _reset(writer)
            return
        await self._open.wait()
        try:
            to_read, to_write = await asyncio.open_connection(self._host, self._port)
        except OSError:
            _reset(writer)
            return
        both = {writer, to_write}
        self._writers |= both
        try:
            ways = (self._way(reader, to_write, lambda: 0.0), self._way(to_read, writer, lambda: self.delay_s))
            await asyncio.wait([asyncio.ensure_future(way) for way in ways], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._writers -= both
            for one in both:
                one.close()

    async def _way(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: Callable[[], float]
    ) -> None:
        """Forward one direction until it ends."""
        waiting: asyncio.Queue[_Part] = asyncio.Queue(_WAITING)
        reading = asyncio.ensure_future(_read(reader, waiting, delay_s))
        try:
            await self._write(waiting, writer)
        finally:
            reading.cancel()

    async def _write(self, waiting: asyncio.Queue[_Part], writer: asyncio.StreamWriter) -> None:
        """Write each part when it is due and nothing is cut, until the empty one."""
        with suppress(OSError):
            while True:
                due_s, data = await waiting.get()
                await self._open.wait()
                if (left_s := due_s - asyncio.get_running_loop().time()) > 0:
                    await asyncio.sleep(left_s)
                if not data:
                    return
                writer.write(data)
                await writer.drain()


async def _read(reader: asyncio.StreamReader, waiting: asyncio.Queue[_Part], delay_s: Callable[[], float]) -> None:
    """Put each part that arrives into the queue, and an empty one at the end."""
    more = True
    while more:
        data = b""
        with suppress(OSError):
            data = await reader.read(_CHUNK_BYTES)
        await waiting.put((asyncio.get_running_loop().time() + delay_s(), data))
        more = bool(data)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with a reset instead of an orderly end."""
    own = writer.get_extra_info("socket")
    if own is not None:
        with suppress(OSError):
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
