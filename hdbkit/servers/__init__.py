"""Control of database servers: private servers, servers on this host or behind an agent, and SQL alone."""

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
from hdbkit.servers.file_control import LocalControl
from hdbkit.servers.file_data import FileData
from hdbkit.servers.launcher import Launcher
from hdbkit.servers.no_settings import NoSettings
from hdbkit.servers.place import Binaries
from hdbkit.servers.private import PrivateServer
from hdbkit.servers.sql_control import SqlControl

__all__ = ["Binaries", "PrivateServer", "control", "find_binaries", "private_server", "settings_account"]


def control(target: Target) -> ServerControl:
    """Return the control that the target asks for: private server, agent, file and commands, or SQL only.

    Without ``Capability.SETTINGS`` it has no settings, and restarts the server if the target has commands for that; a
    database that is a file can be kept and restored where the target allows changes.

    It controls the server at the target's first address, never another that answers instead.

    Raises:
        InputError: the target's file or folder is missing.
        CannotConnect: the agent does not answer, or rejects the token.
    """
    target = target.first
    if Capability.SETTINGS not in database(target).capabilities:
        files = database(target).files(target) if target.may_change_settings else ()
        return FileData(target, files) if files else NoSettings(target)
    if target.server_folder:
        return launcher(target.kind).control(target)
    if target.control.agent:
        return AgentControl(target)
    return LocalControl(target, launcher(target.kind)) if target.control.has_file else SqlControl(target)


def settings_account(target: Target) -> Target:
    """The target with the account that changes its server's settings: of a private server its administrator's."""
    return PrivateServer.attach(target.server_folder).admin if target.server_folder else target.control_account


def launcher(kind: str) -> Launcher:
    """Return the launcher of a kind of server. Raises ``InputError`` if hdbkit cannot start this kind."""
    known = startable_kinds()
    if kind not in known:
        raise InputError(
            f"hdbkit cannot start a server of kind '{kind}' (it can start: {', '.join(known) or 'none'})"
        )
    return _launcher(kind)


def _launcher(kind: str) -> Launcher:
    module = importlib.import_module(f"{__name__}.{kind}")
    if not hasattr(module, "LAUNCHER"):
        raise TypeError(f"{module.__name__} has no LAUNCHER (contract: {Launcher.__module__}.{Launcher.__name__})")
    return cast(Launcher, module.LAUNCHER)


def startable_kinds() -> list[str]:
    """The kinds of server that hdbkit can start, preferred kind first."""
    kinds = [kind for kind in database_kinds() if importlib.util.find_spec(f"{__name__}.{kind}")]
    return sorted(kinds, key=lambda kind: _launcher(kind).order)


def find_binaries() -> list[Binaries]:
    """The server binaries on this host that a private server can use, preferred ones first."""
    return [one for kind in startable_kinds() for one in launcher(kind).find()]


def private_server(
    kind: str | None = None,
    *,
    version: str | None = None,
    folder: Path | str | None = None,
    keep: bool = False,
    settings: Mapping[str, object] | None = None,
    source: str | None = None,
) -> PrivateServer:
    """Create a private server for a ``with`` block, which stops and removes it at the end unless ``keep`` is set.

    Args:
        kind: the engine; by default that of the kept server in ``folder``, else the first that hdbkit can start.
        version: the server version, such as "18" or "15"; by default the newest of the preferred source.
        folder: the server's folder; a new one by default. The folder of a kept server starts that server again.
        keep: leave the server running and keep its folder.
        settings: ``{name: value}``, written to the configuration file before the first start.
        source: ``wheel``, ``installed``, or a folder that contains the binaries.

    Raises:
        InputError: there are no such binaries, or the folder is not empty.
        ServerFailed: the server did not start; the message contains the last lines of its log.
    """
    path = Path(folder) if folder is not None else None
    kept = str(read_note(str(path)).get("kind", "")) if path is not None else ""
    chosen = launcher(kind or kept or startable_kinds()[0])
    texts = {name: setting_text(value) for name, value in (settings or {}).items()}
    return PrivateServer(chosen, binaries=chosen.choose(version, source), folder=path, keep=keep, settings=texts)
