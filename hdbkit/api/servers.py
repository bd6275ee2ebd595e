"""Private servers that were kept, whose folder is also a target."""

from __future__ import annotations

from pathlib import Path

from hdbkit.config import Target
from hdbkit.later import pandas as pd
from hdbkit.servers import private_server
from hdbkit.servers.kept import kept_server, kept_servers


def list_servers() -> pd.DataFrame:
    """List the private servers that were kept on this machine; one row each: folder, database, version, running, url.

    Servers in folders that their user chose are not listed, and servers of running processes are not kept.
    """
    rows = [
        (str(one.folder), one.place.kind, one.place.version, one.running, one.target.url) for one in kept_servers()
    ]
    return pd.DataFrame(rows, columns=["folder", "database", "version", "running", "url"])


def start_server(folder: Path | str) -> Target:
    """Start a kept private server that was stopped; it runs until it is stopped.

    Raises:
        InputError: the folder is not that of a kept server, or the server is running.
        ServerFailed: it did not start; the message contains the last lines of its log.

    Example:
        >>> hdbkit.start_server("/var/tmp/hdbkit-k2v9")  # doctest: +SKIP
    """
    return private_server(folder=kept_server(folder).folder, keep=True).start().target


def stop_server(folder: Path | str) -> None:
    """Stop a kept private server; its data remains. Does nothing if it is not running.

    Raises:
        InputError: the folder is not that of a kept server.
    """
    kept_server(folder).stop()


def remove_server(folder: Path | str) -> None:
    """Stop a kept private server and remove its folder with all its data.

    Raises:
        InputError: the folder is not that of a kept server.
    """
    kept_server(folder).remove()
