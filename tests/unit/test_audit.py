"""The log of an HTTP server does not fill the disk for those who have no token."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from hdbkit.web import guard as module
from hdbkit.web.gate import RequestGate
from hdbkit.web.guard import AuditLog, Guard, Message

LINES = 30


async def _inside(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200})


async def _receive() -> Message:
    return {"type": "http.request"}


async def _send(_: Message) -> None: ...


@pytest.mark.parametrize(("holder", "status"), [(None, 401), ("anyone", 200)])
def test_requests_without_a_token_are_counted_beyond_a_few_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str | None, status: int
) -> None:
    path = tmp_path / "audit.ndjson"
    log, gate, holders = AuditLog(path), RequestGate(socket.create_server(("127.0.0.1", 0))), {"/with": "me"}
    guard = Guard(_inside, lambda scope: holders.get(scope["path"], holder), log, gate, advice="")

    def ask(*clients: str, where: str = "/without", kind: str = "http") -> list[dict[str, Any]]:
        async def send_all() -> None:
            for client in clients:
                await guard({"type": kind, "path": where, "headers": [], "client": (client, 1)}, _receive, _send)

        asyncio.run(send_all())
        return [json.loads(line) for line in path.read_text().splitlines()]

    lines = ask(*["10.0.0.1"] * 5000)
    assert len(lines) == LINES
    assert lines[0]["status"] == status
    assert len(ask(*["10.0.0.1"] * 100, where="/with")) == LINES + 100, "a request with a token has its line"
    assert len(ask("10.0.0.2")) == LINES + 101, "and so has another address"
    monkeypatch.setattr(module, "_MINUTE_S", 0.0)
    *_, counted, new = ask("10.0.0.1")
    assert counted["client"] == "10.0.0.1"
    assert counted["more_without_token"] == 5000 - LINES
    assert new["path"] == "/without"
    monkeypatch.undo()
    many = (f"10.1.{number // 250}.{number % 250}" for number in range(1000))
    lines = ask(*many, kind="websocket" if holder is None else "http")
    assert len(lines) < LINES + 103 + 100 + LINES, "whoever has a network of addresses fills no disk either"
    log.close()
    gate.close()
