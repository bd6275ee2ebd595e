"""Servers as things with settings: started by hdbkit, on this host, behind an agent, or reached through SQL alone."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from hdbkit.config import Target
from hdbkit.config.sweep_values import setting_text
from hdbkit.contracts import Capability, ServerControl
from hdbkit.databases import database
from hdbkit.databases import kinds as database_kinds
from hdbkit.errors import InputError
from hdbkit.servers._guard import read_note
from hdbkit.servers.agent_control import AgentControl
from hdbkit.servers.local_control import LocalControl
from hdbkit.servers.place import Binaries
from hdbkit.servers.private import Engine, PrivateServer
from hdbkit.servers.sql_control import SqlControl

__all__ = ["Binaries", "PrivateServer", "control", "find_binaries", "private_server"]


def control(target: Target) -> ServerControl:
    """What reads and changes the settings of a target's server, in the way that the target says; else by SQL.

    Raises:
        InputError: this kind of server has no settings that can be changed, or its file or folder is not there.
        CannotConnect: the agent does not answer or lets us in; or, through SQL alone, the server does not.
    """
    if Capability.SETTINGS not in database(target.kind).capabilities:
        raise InputError(f"the settings of a server of kind '{target.kind}' cannot be changed from here")
    if target.server_folder:
        return engine(target.kind).control(target)
    if target.control.agent:
        return AgentControl(target)
    return LocalControl(target, engine(target.kind)) if target.control.has_file else SqlControl(target)


def engine(kind: str) -> Engine:
    """What starts a server of a kind. Raises ``InputError`` where hdbkit cannot start one."""
    known = engine_kinds()
    if kind not in known:
        raise InputError(f"hdbkit cannot start a server of kind '{kind}' (it can: {', '.join(known) or 'none'})")
    return _engine(kind)


def _engine(kind: str) -> Engine:
    return cast(Engine, importlib.import_module(f"{__name__}.{kind}").ENGINE)


def engine_kinds() -> list[str]:
    """The kinds of server that hdbkit can start, the preferred first."""
    kinds = [kind for kind in database_kinds() if importlib.util.find_spec(f"{__name__}.{kind}")]
    return sorted(kinds, key=lambda kind: _engine(kind).order)


def find_binaries() -> list[Binaries]:
    """The server binaries of this host that a private server can use, the preferred first."""
    return [one for kind in engine_kinds() for one in engine(kind).find()]


def private_server(
    kind: str | None = None,
    *,
    version: str | None = None,
    folder: Path | str | None = None,
    keep: bool = False,
    settings: Mapping[str, object] | None = None,
    source: str | None = None,
) -> PrivateServer:
    """A server of our own, for a ``with`` block; nothing of it is left at the end, unless ``keep``.

    Args:
        kind: which engine; by default that of a kept server's folder, else the first that hdbkit can start.
        version: of the server, such as "18" or "15"; the newest of the preferred source by default.
        folder: where it lives; a fresh one by default. A kept server's folder starts that server again.
        keep: leave the server running and its folder in place.
        settings: ``{name: value}``, added to the configuration file at the beginning.
        source: ``wheel``, ``installed``, or a folder with the binaries.

    Raises:
        InputError: no such binaries, or the folder is not empty.
        ServerFailed: it did not start; the text holds the last lines of its log.
    """
    place = Path(folder) if folder is not None else None
    kept = str(read_note(str(place)).get("kind", "")) if place is not None else ""
    starter = engine(kind or kept or engine_kinds()[0])
    texts = {name: setting_text(value) for name, value in (settings or {}).items()}
    return PrivateServer(starter, binaries=starter.choose(version, source), folder=place, keep=keep, settings=texts)
