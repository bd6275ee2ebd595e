"""Headers that every answer has, as plain ASGI: a request costs no task and no copy of its content."""

from __future__ import annotations

from collections.abc import Mapping

from hdbkit.web.guard import Application, Message, Receive, Scope, Send

SECURE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
}
"""Keep answers out of frames and caches."""


class Headers:
    """ASGI middleware: adds headers to each answer that does not set them itself."""

    def __init__(self, app: Application, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                names = {name.lower() for name, _ in given}
                message["headers"] = given + [one for one in self._headers if one[0] not in names]
            await send(message)

        await self._app(scope, receive, adding)
