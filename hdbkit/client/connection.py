"""Requests to a service, each on a connection of its own, with a token in a header."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hdbkit.client.models import ProblemAnswer
from hdbkit.errors import HdbkitError, InputError

TOKEN_VARIABLE = "HDBKIT_SERVICE_TOKEN"  # noqa: S105  the variable's name
_MAX_REASON = 300


class RequestFailed(HdbkitError):
    """The service did not accept a request, or cannot be reached (``status`` 0).

    ``problems`` has each key of the request that is invalid.
    """

    def __init__(self, status: int, reason: str, problems: list[ProblemAnswer] | None = None) -> None:
        super().__init__(status, reason, problems)
        self.status, self.reason, self.problems = status, reason, problems or []

    def __str__(self) -> str:
        return self.reason


class Connection:
    """Sends requests to a service.

    Args:
        url: the service's address, such as ``https://loadhost:8448``.
        token: the token; by default that of the environment variable ``HDBKIT_SERVICE_TOKEN``.
        certificate: a file (PEM) with the service's own certificate or its authority's; by default the system's
            authorities are trusted.
        timeout_s: the time to wait for an answer, in seconds.
    """

    def __init__(self, url: str, token: str | None, certificate: Path | str | None, timeout_s: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.path.strip("/"):
            raise InputError("the service's address must be such as https://loadhost:8448, without account and path")
        self._token = token or os.environ.get(TOKEN_VARIABLE, "")
        if not self._token:
            raise InputError(f"no token is given; set {TOKEN_VARIABLE}")
        self._url, self._host, self._port = url, parts.hostname, parts.port
        self._timeout_s = timeout_s
        self._tls = _tls(certificate) if parts.scheme == "https" else None

    def json(self, method: str, path: str, content: object = None) -> Any:
        """The answer's document. Raises ``RequestFailed``."""
        connection, answer = self._answer(method, path, content)
        try:
            return json.loads(answer.read())
        except (OSError, ValueError, http.client.HTTPException):
            raise RequestFailed(0, f"{self._url} did not send its whole answer") from None
        finally:
            connection.close()

    def lines(self, path: str) -> Iterator[str]:
        """The lines of an answer as they arrive. Raises ``RequestFailed``."""
        connection, answer = self._answer("GET", path, None)
        try:
            for line in answer:
                yield line.decode().rstrip("\r\n")
        except (OSError, http.client.HTTPException) as error:
            raise RequestFailed(0, f"the connection to {self._url} was lost: {error or 'no data'}") from None
        finally:
            connection.close()

    def _answer(
        self, method: str, path: str, content: object
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connection()
        head = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if content is None else json.dumps(content), head)
            answer = connection.getresponse()
            if answer.status < 300:
                return connection, answer
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            reason = getattr(error, "verify_message", "") or str(error) or type(error).__name__
            raise RequestFailed(0, f"{self._url} cannot be reached: {reason}") from None
        connection.close()
        raise _failure(answer.status, text)

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)


def _tls(certificate: Path | str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificate and str(certificate))
    except OSError as error:  # an SSLError is an OSError
        raise InputError(f"{certificate} has no certificates (PEM): {error.strerror or error}") from None


def _failure(status: int, text: bytes) -> RequestFailed:
    try:
        answer = json.loads(text)
        return RequestFailed(status, str(answer["error"]), answer.get("problems"))
    except (ValueError, KeyError, TypeError):
        return RequestFailed(status, f"status {status}: {text[:_MAX_REASON].decode(errors='replace')}")
