"""Answers: errors as one sentence each (which key, what value, what was expected; no secret), and headers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from hdbkit.config.problems import problems_of_details
from hdbkit.errors import ConfigErrors, DamagedResult, HdbkitError, InputError, Problem
from hdbkit.service.jobs import Busy, NoJob
from hdbkit.web.guard import Application, ConnectionScope, Message, Receive, Send


class Ascii(JSONResponse):
    """A JSON response in ASCII, which can carry any text."""

    def render(self, content: Any) -> bytes:
        """The bytes of the response."""
        return json.dumps(content).encode()


def unless_known(request: Request, version: str, make: Callable[[], BaseModel]) -> Response:
    """The content of this version, or 304 without content if the client has it: its ``If-None-Match`` names it."""
    headers = {"etag": f'"{version}"', "cache-control": "private, no-cache"}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Ascii(make().model_dump(mode="json"), headers=headers)


class Refused(HdbkitError):
    """A request that is answered with this status; the text is the reason."""

    def __init__(self, status: int, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(status, reason, wait_s)
        self.status, self.reason, self.wait_s = status, reason, wait_s

    def __str__(self) -> str:
        return self.reason


def add_handlers(app: FastAPI) -> None:
    """Have the application answer all errors in this way."""
    app.add_exception_handler(RequestValidationError, _invalid_parameters)
    app.add_exception_handler(HdbkitError, _failed)
    app.add_exception_handler(HTTPException, _plain)


async def _failed(_: Request, error: Exception) -> Ascii:
    assert isinstance(error, HdbkitError)
    if isinstance(error, ConfigErrors):
        return _invalid(error.problems)
    if isinstance(error, Refused):
        head = {"retry-after": str(int(error.wait_s) + 1)} if error.wait_s else {}
        return Ascii({"error": str(error), "problems": []}, error.status, head)
    return Ascii({"error": str(error), "problems": []}, status_of(error))


def status_of(error: HdbkitError) -> int:
    """The status of the answer to an error."""
    if isinstance(error, Refused):
        return error.status
    kinds: dict[type[HdbkitError], int] = {NoJob: 404, Busy: 409, DamagedResult: 409, InputError: 422}
    return next((status for kind, status in kinds.items() if isinstance(error, kind)), 409)


async def _plain(_: Request, error: Exception) -> Ascii:
    assert isinstance(error, HTTPException)
    return Ascii({"error": str(error.detail), "problems": []}, error.status_code, error.headers)


async def _invalid_parameters(_: Request, error: Exception) -> Ascii:
    """The answer to invalid parameters of a path or a query."""
    assert isinstance(error, RequestValidationError)
    return _invalid(problems_of_details([{**one, "loc": tuple(one["loc"][1:])} for one in error.errors()], BaseModel))


def _invalid(problems: Sequence[Problem]) -> Ascii:
    listed = [{"where": one.where, "what": one.what} for one in problems]
    return Ascii({"error": "; ".join(f"{one.where}: {one.what}" for one in problems), "problems": listed}, 422)


def at_field(field: str, error: HdbkitError) -> ConfigErrors:
    """An error as that of a key of the request."""
    return ConfigErrors("the request", [Problem(field, str(error))])


SECURE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
}
"""Keep answers out of frames and caches."""


class Headers:
    """Plain ASGI middleware, with neither a task nor a copy: adds headers to each answer that does not set them."""

    def __init__(self, app: Application, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                names = {name.lower() for name, _ in given}
                message["headers"] = given + [one for one in self._headers if one[0] not in names]
            await send(message)

        await self._app(scope, receive, adding)
