"""The private servers of this process: at most one of each kind, for whoever in the process asks for it.

A notebook's cell, its panels and a script that say ``private`` mean the same server. It ends with the process, which
for a notebook is its kernel; with it goes all that was loaded into it.
"""

from __future__ import annotations

from threading import Lock

from hdbkit.config import Target
from hdbkit.servers import PrivateServer, engine_kinds, private_server

_servers: dict[str, PrivateServer] = {}
_one_at_a_time = Lock()


def private(kind: str | None = None) -> Target:
    """The private server of this process, started at the first call.

    Args:
        kind: which engine; by default the first that hdbkit can start.

    Raises:
        InputError: there are no binaries for it.
        ServerFailed: it did not start; the text holds the last lines of its log.

    Example:
        >>> hdbkit.connect(hdbkit.api.private("postgresql")).build(warehouses=1).passed  # doctest: +SKIP
    """
    kind = kind or engine_kinds()[0]
    with _one_at_a_time:
        server = _servers.get(kind)
        if server is None or not server.running:
            server = _servers[kind] = private_server(kind).start()
        return server.target


def private_targets() -> list[Target]:
    """The private servers of this process that run now."""
    return [server.target for server in list(_servers.values()) if server.running]


def end_private(kind: str) -> None:
    """Stop the private server of a kind and remove its data; does nothing where there is none."""
    with _one_at_a_time:
        server = _servers.pop(kind, None)
    if server is not None:
        server.close()
