"""Which product listens at an address where a connection failed: by what servers send first, or answer to a request.

An engine states in ``recognized_by`` what is sent to an address, and what its servers answer.
"""

from __future__ import annotations

import importlib
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

from hdbkit.config import Target
from hdbkit.errors import CannotConnect, NoneFree, NothingListens, NotReady

if TYPE_CHECKING:
    from hdbkit.databases._base.database import BaseDatabase

_ANSWER_S = 2.0
_SILENCE_S = 0.5
_ANSWER_BYTES = 128


@contextmanager
def product_named(target: Target) -> Iterator[None]:
    """Name the product that listens there in an error of the block, if it is another than the target's."""
    try:
        yield
    except CannotConnect as error:
        found = None if isinstance(error, NothingListens | NoneFree | NotReady) else _found(target)
        if found is None or found.kind == target.kind:
            raise
        reason = f"a server of {found.title} listens there ({error.reason})"
        raise type(error)(error.target, reason, f"name it {target.with_(kind=found.kind).url}") from None


def _found(target: Target) -> BaseDatabase | None:
    """The engine whose servers answer as that at the target's address; None if there is none.

    Nothing is asked for an engine that may speak the protocol of another.
    """
    databases = importlib.import_module("hdbkit.databases")
    own = databases.database(target)
    host, port = target.host or "localhost", target.port or own.default_port
    if host.startswith("/") or not getattr(own, "recognized_by", ("", ""))[1]:
        return None
    engines = [cast("BaseDatabase", databases.database(kind)) for kind in databases.built_in()]
    answers: dict[bytes, bytes] = {}
    for engine in sorted(engines, key=lambda one: one.recognized_by):  # first those that speak unasked
        request, sign = engine.recognized_by
        if sign and request not in answers:
            answers[request] = _answer(host, port, request)
        if sign and re.match(sign, answers[request], re.DOTALL):
            return None if isinstance(own, type(engine)) else engine  # a variant of its own
    return None


def _answer(host: str, port: int, request: bytes) -> bytes:
    with suppress(OSError), socket.create_connection((host, port), _ANSWER_S) as connection:
        connection.settimeout(_ANSWER_S if request else _SILENCE_S)
        connection.sendall(request)
        return connection.recv(_ANSWER_BYTES)
    return b""
