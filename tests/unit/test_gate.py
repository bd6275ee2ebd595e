"""What the agent's listening socket does with connections that show no token."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable

import pytest

from hdbkit.web import gate
from hdbkit.web.gate import RequestGate


class Reader(asyncio.Protocol):
    """Reads until the end of a connection."""


def served(gated: RequestGate) -> Awaitable[asyncio.Server]:
    return asyncio.get_running_loop().create_server(Reader, sock=gated)


def states(clients: list[socket.socket]) -> list[str]:
    """Which of these connections are still open at the other end."""
    found = []
    for one in clients:
        one.setblocking(False)
        try:
            found.append("closed" if one.recv(1) == b"" else "?")
        except BlockingIOError:
            found.append("open")
    return found


def test_the_address_with_most_connections_loses_the_most_silent_and_known_ones_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate, "MAX_UNVERIFIED", 4)

    async def live() -> None:
        gated = RequestGate(socket.create_server(("127.0.0.1", 0)))
        address = gated.getsockname()
        async with await served(gated):

            async def connected(source: str) -> socket.socket:
                one = socket.create_connection(address, 5, source_address=(source, 0))
                await asyncio.sleep(0.05)
                return one

            first = await connected("127.0.0.1")
            assert gated.answers(*first.getsockname())
            of_one = [await connected("127.0.0.1") for _ in range(3)]
            of_one[0].sendall(b"GET")
            others = [await connected(f"127.0.0.{number}") for number in (5, 6)]
            assert states([first, *of_one, *others]) == ["open", "open", "closed", *["open"] * 3]
            others += [await connected("127.0.0.6")]
            assert states([first, of_one[0], of_one[2], *others]) == ["open", "open", "closed", *["open"] * 3]
            for one in (first, *of_one, *others):
                one.close()
            await asyncio.sleep(0.05)
            assert not gated._unverified

    asyncio.run(live())


def test_headers_that_do_not_end_in_time_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "HEADER_S", 0.1)

    async def live() -> None:
        gated = RequestGate(socket.create_server(("127.0.0.1", 0)))
        async with await served(gated):
            slow, known = (socket.create_connection(gated.getsockname(), 5) for _ in range(2))
            await asyncio.sleep(0)
            await asyncio.sleep(0.02)
            kept = gated.answers(*known.getsockname())
            assert kept
            slow.sendall(b"GET / HTTP/1.1")
            await asyncio.sleep(0.3)
            assert states([slow, known]) == ["closed", "open"]
            gated.answered(kept)
            assert states([known]) == ["open"]
            await asyncio.sleep(0.3)
            assert states([known]) == ["closed"], "its next request did not come in time either"
            slow.close()
            known.close()
            await asyncio.sleep(0.05)

    asyncio.run(live())
