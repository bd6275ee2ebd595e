"""The private servers that outlive the process that created them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from hdbkit.errors import InputError
from hdbkit.servers.place import NEW_FOLDERS, folders_parent
from hdbkit.servers.private import PrivateServer


def kept_servers() -> list[PrivateServer]:
    """The kept servers of this account in folders that hdbkit chose, running or not.

    A server whose owner runs, and removes it at its end, has a guard process. Such a server is not kept, and nothing
    here touches it.
    """
    found = []
    for path in sorted(folders_parent().glob(f"{NEW_FOLDERS}*")):
        with suppress(InputError, OSError):
            found.append(kept_server(path))
    return found


def kept_server(folder: Path | str) -> PrivateServer:
    """The kept server of a folder.

    Raises:
        InputError: the folder is not that of a private server of this account, or the server belongs to a running
            process.
    """
    path = Path(folder).expanduser().resolve()
    server = PrivateServer.attach(path)
    if server.folder.resolve() != path or path.stat().st_uid != os.geteuid():
        raise InputError(f"{path} is not the folder of a private server of this account")
    if _has_guard(server.folder):
        raise InputError(f"the server in {path} was not kept: the process that started it removes it when it ends")
    return server


def _has_guard(folder: Path) -> bool:
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended
            *_, program, last = ["", *(path / "cmdline").read_text(errors="replace").rstrip("\0").split("\0")]
            if last == str(folder) and program.endswith("/_guard.py"):
                return True
    return False
