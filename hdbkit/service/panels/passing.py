"""Passes requests of signed-in browsers to Voila: pages, files, and the channel of a page to its kernel.

A kernel belongs to the token whose browser opened its page: it holds what was typed there, such as passwords.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import h11
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse
from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import InvalidStatus, WebSocketException

from hdbkit.service.answers import Refused
from hdbkit.service.pages.rendering import render
from hdbkit.service.panels.process import PANELS_OWN, PANELS_PATH, Panels
from hdbkit.service.permissions import Permissions
from hdbkit.service.sessions import is_from_this_site
from hdbkit.service.tokens import Holder, Role
from hdbkit.web.guard import ConnectionScope, Message, Receive, Send, header

OWN_WORKSPACE = b"workspace=own"
_SENT = frozenset({b"host", b"accept", b"content-type", b"origin", b"if-none-match"})
"""The headers that Voila sees: not the cookie."""
_RETURNED = frozenset({b"content-type", b"cache-control", b"etag", b"last-modified", b"location", b"content-length"})
_BLOCK = 64 * 1024
_CHANNELS = "/channels"
_PROTOCOL_ERROR = 1011
_NOT_PERMITTED = 1008
_UNKNOWN = 404
_KERNEL = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OF_KERNEL = re.compile(r"/(?:kernels|shutdown|execution|query)/([^/]*)")
"""The part of a path that names a kernel."""
_KERNEL_BYTES = 36
_MAX_KERNELS = 10_000
_ENDED = "the panels have ended; restart the service"
_UNAVAILABLE = 503
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob:; worker-src 'self' blob:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class Passing:
    """An ASGI application in front of Voila.

    Args:
        panels: Voila.
        permit: the limits of requests.
        is_valid: whether the session of a request is still valid; asked for each message of a channel.
    """

    def __init__(self, panels: Panels, permit: Permissions, is_valid: Callable[[ConnectionScope], bool]) -> None:
        self._panels, self._permit, self._is_valid = panels, permit, is_valid
        self._socket = str(panels.socket)
        self._owners: OrderedDict[str, str] = OrderedDict()

    async def __call__(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        """Pass on one request or channel."""
        if scope["type"] == "websocket":
            await self._pass_channel(scope, receive, send)
        elif scope["type"] == "http":
            await self._pass_request(scope, receive, send)

    def _require(self, scope: ConnectionScope) -> Holder:
        """The holder of a token that permits panels: they reach any server, and change its settings."""
        is_page = scope["type"] == "http" and scope["path"] == PANELS_PATH
        starts = is_page and self._panels.listens  # with a kernel of its own
        holder = self._permit(HTTPConnection(scope), Role.SETTINGS, starts=starts)
        writes = scope["type"] == "websocket" or scope["method"] not in {"GET", "HEAD"}
        if writes and not is_from_this_site(scope):
            raise Refused(403, "the request was not sent from this page; open it again")
        named = _OF_KERNEL.search(scope["path"])
        if named and self._owners.get(named[1]) != holder.hash:
            raise Refused(_UNKNOWN, "there is no such kernel")
        return holder

    def _note_kernels(self, found: bytes, holder: Holder) -> None:
        """Note the kernel of a page that was made for this token."""
        for kernel in _KERNEL.findall(found):
            self._owners.setdefault(kernel.decode(), holder.hash)
        while len(self._owners) > _MAX_KERNELS:
            self._owners.popitem(last=False)

    async def _pass_request(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        holder = self._require(scope)
        if not self._panels.listens:
            return await self._answer_meanwhile(scope, receive, send)
        body = (await receive()).get("body", b"")
        try:
            reader, writer = await asyncio.open_unix_connection(self._socket)
        except OSError:
            raise Refused(_UNAVAILABLE, _ENDED) from None
        answered = False
        try:
            connection = h11.Connection(h11.CLIENT)
            head = [("connection", "close"), ("content-length", str(len(body))), *_headers(scope, holder)]
            asked = h11.Request(method=scope["method"], target=_target(scope), headers=head)
            for event in (asked, h11.Data(data=body), h11.EndOfMessage()):
                writer.write(connection.send(event) or b"")
            is_page, tail = scope["path"] == PANELS_PATH, b""
            async for message in _answer(connection, reader):
                answered = True
                if is_page:  # before the browser has it, and opens the channel
                    tail += message.get("body", b"")
                    self._note_kernels(tail, holder)
                    tail = tail[-_KERNEL_BYTES:]
                await send(message)
        except (OSError, h11.RemoteProtocolError):  # Voila ends, as after Ctrl-C
            if not answered:
                raise Refused(_UNAVAILABLE, _ENDED) from None
        finally:
            writer.close()

    async def _answer_meanwhile(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        """A page that loads again until Voila listens; what has ended does not come back."""
        if failure := self._panels.failure:
            raise Refused(_UNAVAILABLE, f"{failure}; restart the service, whose other pages are still served")
        await HTMLResponse(render("starting.html"), _UNAVAILABLE)(scope, receive, send)

    async def _pass_channel(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        try:
            holder = self._require(scope)
        except Refused as refused:
            if refused.status == _UNKNOWN:
                return await _answer_channel(send, _UNKNOWN)
            return await send({"type": "websocket.close", "code": _NOT_PERMITTED})
        if not scope["path"].endswith(_CHANNELS):  # another path would start a kernel
            return await send({"type": "websocket.close", "code": _NOT_PERMITTED})
        await receive()  # the connection
        head = [(name, value) for name, value in _headers(scope, holder) if name != "host"]
        try:
            async with unix_connect(
                self._socket,
                f"ws://{header(scope, b'host')}{_target(scope)}",
                additional_headers=head,
                subprotocols=scope["subprotocols"] or None,
                max_size=None,
                proxy=None,
            ) as channel:
                await send({"type": "websocket.accept", "subprotocol": channel.subprotocol})
                await self._pass_messages(scope, channel, receive, send)
        except InvalidStatus as error:  # there is no such kernel
            await _answer_channel(send, error.response.status_code)
        except (OSError, WebSocketException):
            await send({"type": "websocket.close", "code": _PROTOCOL_ERROR})

    async def _pass_messages(
        self, scope: ConnectionScope, channel: ClientConnection, receive: Receive, send: Send
    ) -> None:
        """Pass messages in both directions until one side ends."""
        there = asyncio.create_task(self._to_kernel(scope, channel, receive))
        here = asyncio.create_task(self._to_browser(scope, channel, send))
        try:
            done, _ = await asyncio.wait({there, here}, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
            if there not in done or there.result():
                await send({"type": "websocket.close", "code": 1000})
        finally:
            for one in (there, here):
                one.cancel()
            await asyncio.gather(there, here, return_exceptions=True)

    async def _to_browser(self, scope: ConnectionScope, channel: ClientConnection, send: Send) -> None:
        """Pass on what the kernel sends."""
        async for message in channel:
            if not self._is_valid(scope):
                return
            await send({"type": "websocket.send", "text" if isinstance(message, str) else "bytes": message})

    async def _to_kernel(self, scope: ConnectionScope, channel: ClientConnection, receive: Receive) -> bool:
        """Pass on what the browser sends; whether the browser is still there when it ends."""
        while True:
            message = await receive()
            if message["type"] != "websocket.receive":
                return False
            if not self._is_valid(scope):
                return True
            text = message.get("text")
            await channel.send(message["bytes"] if text is None else text)


async def _answer_channel(send: Send, status: int) -> None:
    """Answer who wants a channel with a status."""
    empty = [(b"content-length", b"0")]
    await send({"type": "websocket.http.response.start", "status": status, "headers": empty})
    await send({"type": "websocket.http.response.body", "body": b""})


async def _answer(connection: h11.Connection, reader: asyncio.StreamReader) -> AsyncIterator[Message]:
    """The messages of an answer, as they come."""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_BLOCK))
        elif isinstance(event, h11.Response):
            head = [(name, value) for name, value in event.headers if name in _RETURNED]
            head.append((b"content-security-policy", _POLICY.encode()))
            yield {"type": "http.response.start", "status": event.status_code, "headers": head}
        elif isinstance(event, h11.Data):
            yield {"type": "http.response.body", "body": bytes(event.data), "more_body": True}
        elif isinstance(event, h11.EndOfMessage):
            yield {"type": "http.response.body", "body": b""}
            return


def _target(scope: ConnectionScope) -> str:
    raw = cast("bytes", scope.get("raw_path") or scope["path"].encode())
    query = cast("bytes", scope["query_string"])
    return (raw + b"?" + query if query else raw).decode("ascii")


def _headers(scope: ConnectionScope, holder: Holder) -> list[tuple[str, str]]:
    """The headers for Voila, with the name of a workspace of one's own where it is wanted."""
    found: list[tuple[str, Any]] = [(n.decode(), v.decode("latin-1")) for n, v in scope["headers"] if n in _SENT]
    if OWN_WORKSPACE in scope["query_string"].split(b"&"):
        found.append((PANELS_OWN, holder.name))
    return found
