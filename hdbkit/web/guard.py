"""Checks every request before the application handles it: sender, token, size; and writes the log.

Tokens are generated or given, stored only as a hash, and compared in constant time.

The log has one JSON line per request, without tokens and without values of settings. Whoever has no token must not
fill the disk: beyond a few lines per address and minute, their requests are counted.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import secrets
import sys
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdbkit.errors import InputError
from hdbkit.web.gate import RequestGate

ConnectionScope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[ConnectionScope, Receive, Send], Awaitable[None]]
Who = Callable[[ConnectionScope], object | None]
"""Who sends a request; None if it has no valid token."""


MAX_REQUEST_BYTES = 256 * 1024
_MAX_BYTES_OF_ANYONE = 4096
"""The largest content where no token is needed: that of the form with a token."""
BODY_S = 30.0
"""The time in which the content of a request must arrive."""
_STATUS = {
    "http.response.start": 0,
    "websocket.http.response.start": 0,
    "websocket.accept": 101,
    "websocket.close": 403,
}
"""The messages that answer a request, and the status that the log has where they have none."""
_NOT_PERMITTED = 1008
_CLOSE = (b"connection", b"close")
"""Ends the connection after the answer; otherwise the rest of the content would still be read."""
HOLDER = "holder"
"""The key in a request's state with the holder of its token."""
IS_VALID = "is_valid"
"""The key in a request's state with a function: whether its token is still valid, for answers that take long."""
BODY = "body"
"""The key in a request's state with its content, as bytes."""
_CONNECTION = "connection"
"""The key in a request's state with its connection at the gate."""
ANYONE = "anyone"
"""The holder where a path needs no token; such a connection stays unverified."""


class Guard:
    """ASGI middleware: verifies the token, limits wrong tokens and request size, writes one log line per request.

    Args:
        inside: the application.
        who: the holder of a request's token.
        audit, gate: the log, and the socket.
        advice: the answer to a request without a valid token.
        logged: the keys of a request's state that the log has, too.
        wrong: the recent wrong tokens, if the application checks tokens as well.
        sign_in: the path of a page to which a browser without a session is sent; empty if there is none.
    """

    def __init__(
        self,
        inside: Application,
        who: Who,
        audit: AuditLog,
        gate: RequestGate,
        *,
        advice: str,
        logged: Sequence[str] = (),
        wrong: WrongTokens | None = None,
        sign_in: str = "",
    ) -> None:
        self._inside, self._who, self._audit, self._gate = inside, who, audit, gate
        self._advice, self._logged, self._sign_in = advice, frozenset(logged), sign_in
        self._wrong = wrong or WrongTokens()

    async def __call__(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request or websocket."""
        if scope["type"] == "lifespan":
            return await self._inside(scope, receive, send)
        began, answered = time.monotonic(), {"status": 0}

        async def noting(message: Message) -> None:
            if message["type"] in _STATUS:
                answered["status"] = answered["status"] or message.get("status") or _STATUS[message["type"]]
            await send(message)

        scope["state"] = dict(scope.get("state") or {})
        try:
            await self._serve(scope, receive, noting)
        except asyncio.CancelledError:  # the server ends and waits no longer; uvicorn would print a traceback
            pass
        finally:
            if connection := scope["state"].pop(_CONNECTION, None):
                self._gate.answered(connection)
            self._note(scope, answered["status"], time.monotonic() - began)
        return None

    def _note(self, scope: ConnectionScope, status: int, took_s: float) -> None:
        """Log the request. A failed write only warns: a full disk must not prevent settings from being restored."""
        facts = {
            "client": client_of(scope),
            "method": scope.get("method", "WEBSOCKET")[:16],
            "path": scope["path"][:200],
        }
        facts |= {name: value for name, value in scope["state"].items() if name in self._logged}
        has_token = scope["state"].get(HOLDER, ANYONE) != ANYONE
        add = self._audit.add if has_token else self._audit.add_without_token
        try:
            add(**facts, status=status, took_ms=round(took_s * 1000, 1))
        except OSError as error:
            sys.stderr.write(f"hdbkit: {self._audit.path} cannot be written: {error.strerror}\n")

    async def _serve(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        holder = self._who(scope)
        if holder is None:
            return await self._reject(scope, send)
        self._identified(scope, holder)
        if scope["type"] == "websocket":
            return await self._inside(scope, receive, send)
        limit = _MAX_BYTES_OF_ANYONE if holder == ANYONE else MAX_REQUEST_BYTES
        try:
            async with asyncio.timeout(BODY_S):
                body = await _whole(receive, limit)
        except TimeoutError:
            return await _answer(send, 408, f"the request did not arrive within {BODY_S:g} s", _CLOSE)
        if body is None:
            return await _answer(send, 413, f"a request may have at most {limit} bytes", _CLOSE)
        scope["state"][BODY] = body
        return await self._inside(scope, _again(body, receive), send)

    def _identified(self, scope: ConnectionScope, holder: object) -> None:
        scope["state"] |= {HOLDER: holder, IS_VALID: lambda: self._who(scope) is not None}
        if holder != ANYONE and scope.get("client"):  # None once the client has disconnected
            scope["state"][_CONNECTION] = self._gate.answers(*scope["client"][:2])

    async def _reject(self, scope: ConnectionScope, send: Send) -> None:
        """Answer a wrong token; after several, its address waits. Others behind the same address are not affected."""
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": _NOT_PERMITTED})
        client, given = client_of(scope), header(scope, b"authorization")
        if self._sign_in and not given and "text/html" in header(scope, b"accept"):
            return await _answer(send, 303, "sign in first", (b"location", self._sign_in.encode()))
        wait_s = self._wrong.wait_s(client)
        if wait_s:
            reason = f"too many wrong tokens came from {client}; wait {wait_s:.0f} s"
            return await _answer(send, 429, reason, (b"retry-after", str(int(wait_s) + 1).encode()))
        self._wrong.note(client)
        return await _answer(send, 401, self._advice, (b"www-authenticate", b"Bearer"))


def client_of(scope: ConnectionScope) -> str:
    """The address of the client."""
    return str((scope.get("client") or ("unknown",))[0])


def header(scope: ConnectionScope, wanted: bytes) -> str:
    """A header of the request; empty if it has none."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == wanted), "")


def bearer_token(scope: ConnectionScope) -> str:
    """The token of the request; empty if it has none."""
    kind, _, token = header(scope, b"authorization").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def _whole(receive: Receive, limit: int) -> bytes | None:
    """The body of a request; None if it is too large or the client has disconnected."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > limit:
            return None
        if not message.get("more_body"):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that returns the whole body first, then the further messages of the connection."""
    given = False

    async def once() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once


async def _answer(send: Send, status: int, error: str, *headers: tuple[bytes, bytes]) -> None:
    content = json.dumps({"error": error}).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": content})


_MAX_LINES = 30
"""Lines per address and minute for requests without a token."""
_MAX_ADDRESSES = 100
"""Addresses that have lines of their own in a minute; an owner of a network has any number."""
_MINUTE_S = 60.0


class AuditLog:
    """A log file to which several processes may append whole lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError(
                f"the log {path} cannot be written ({error.strerror}); give another with --audit-log"
            ) from None
        self._counts = Counter[str]()
        self._since = 0.0

    def add(self, **facts: Any) -> None:
        """Append a line with the present time. Raises ``OSError`` on a full disk."""
        line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **facts})
        os.write(self._file, line.encode() + b"\n")

    def add_without_token(self, client: str, **facts: Any) -> None:
        """Append a line for a request without a token, or count it. Raises ``OSError`` on a full disk."""
        if time.monotonic() - self._since >= _MINUTE_S:
            self._add_counts()
        if client not in self._counts and len(self._counts) >= _MAX_ADDRESSES:
            client = "other addresses"
        self._counts[client] += 1
        if self._counts[client] <= _MAX_LINES:
            self.add(client=client, **facts)

    def _add_counts(self) -> None:
        """Append a line for each address with requests that were only counted; begin another minute."""
        counts, self._counts, self._since = self._counts, Counter(), time.monotonic()
        for client, count in counts.items():
            if count > _MAX_LINES:
                self.add(client=client, more_without_token=count - _MAX_LINES)

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._add_counts()
        os.close(self._file)


MIN_LENGTH = 20
_MAX_WRONG = 5
_WITHIN_S = 60.0
_MAX_WRONG_ADDRESSES = 10_000


def new_token() -> str:
    """Generate a random token of 256 bits."""
    return secrets.token_urlsafe(32)


class Token:
    """Verifies a token without storing it."""

    def __init__(self, token: str) -> None:
        if len(token) < MIN_LENGTH:
            raise InputError(f"the token is shorter than {MIN_LENGTH} characters; omit it to have one generated")
        self._hash = hash_of(token)

    def is_right(self, given: str) -> bool:
        """Whether ``given`` is the token."""
        return hmac.compare_digest(hash_of(given), self._hash)


class WrongTokens:
    """Recent wrong tokens by address: after five within a minute, further ones wait until the minute is over."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """How many seconds further wrong tokens of this address are not considered; 0 if they are."""
        times, now = self._times.get(address), time.monotonic()
        if times is None or len(times) < _MAX_WRONG:
            return 0.0
        return max(times[0] + _WITHIN_S - now, 0.0)

    def note(self, address: str) -> None:
        """Record a wrong token from this address."""
        times = self._times.setdefault(address, deque(maxlen=_MAX_WRONG))
        times.append(time.monotonic())
        self._times.move_to_end(address)
        while len(self._times) > _MAX_WRONG_ADDRESSES:
            self._times.popitem(last=False)


def hash_of(token: str) -> bytes:
    """The SHA-256 of a token, which is random: no slow hash is needed."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
