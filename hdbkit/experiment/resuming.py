"""The servers of an experiment that is continued: they are those that it changed, and they run.

The journal names the server of each target, so that one that is down, or several targets on one, are recognized.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hdbkit.config import Target
from hdbkit.contracts import ServerControl
from hdbkit.errors import CannotConnect, InputError, ServerFailed
from hdbkit.experiment.servers import Servers
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.journal import ENDED_WITH_PROCESS, Step


def start_same(folder: ExperimentFolder, planned: Sequence[Target], servers: Servers) -> None:
    """Start or repair the servers, with the settings that were saved of each that has not been restored.

    With another address, agent or file a server's identity is compared before. Raises ``InputError`` for a server on
    which the experiment was not run.
    """
    state = folder.journal.state
    for position, (before, (target, control)) in enumerate(zip(planned, servers.each, strict=True)):
        identity = state.identity_of(position)
        if _address(before) != _address(target):
            _require(folder, identity, control)
        changed = identity is not None and state.server(identity).changed
        control.start((folder.read_before(identity) or None) if identity and changed else None)
        _require(folder, identity, control)


def require_same(folder: ExperimentFolder, servers: Servers) -> None:
    """Raise ``InputError`` for a server on which the experiment was not run; one that does not answer may be it."""
    for position, (_, control) in enumerate(servers.each):
        with suppress(ServerFailed, CannotConnect):
            _require(folder, folder.journal.state.identity_of(position), control)


def forget_servers(folder: ExperimentFolder) -> None:
    """Note that the servers of the process that executed an experiment have ended with it, and their settings."""
    for identity, server in folder.journal.state.servers.items():
        if server.changed:
            folder.append(Step.SETTINGS_RESTORED, note=ENDED_WITH_PROCESS, identity=identity)
    folder.drop_before()


def _require(folder: ExperimentFolder, identity: str | None, control: ServerControl) -> None:
    if identity is not None and control.identity != identity:
        raise InputError(f"{folder.experiment_id} was run on {identity}, not on {control.identity}; resume it there")


def _address(target: Target) -> tuple[object, ...]:
    """Where the target finds its server and the server's settings."""
    control = target.control
    server = (target.kind, target.host, target.port, target.server_folder)
    return (*server, control.agent, control.config_file, control.drop_in)
