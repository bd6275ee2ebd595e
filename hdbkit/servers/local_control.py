"""Settings of a server on this host that hdbkit did not start, through a file that it reads and restart commands.

The settings go to a separate file in a drop-in folder, or to the end of the server's own file, where everything
before :data:`OURS` stays unchanged. The server must read them after every other place that sets the same name. If
another place takes precedence, the value that is read back differs and the change is undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hdbkit.config import Target
from hdbkit.contracts import Session, Setting
from hdbkit.errors import InputError
from hdbkit.servers.file_control import FileControl
from hdbkit.servers.power import power_of
from hdbkit.servers.private import Launcher

OURS = b"\n# hdbkit: settings of a sweep; the lines below are removed at its end\n"
_NAME = "zz-hdbkit"
"""The last name in a drop-in folder, whose files are read in the order of their names."""


class LocalControl(FileControl):
    """``contracts.ServerControl`` through a file and commands of this host."""

    def __init__(self, target: Target, launcher: Launcher) -> None:
        self._launcher = launcher
        super().__init__(target, None, power_of(target.control), _file(target, launcher))

    def _keep(self, session: Session, changes: Mapping[str, str], known: Mapping[str, Setting]) -> Mapping[str, str]:
        """Write the changes to the file; all of them are then also set on the running server."""
        others, _, ours = (self._file.read() or b"").partition(OURS)
        values = {**self._launcher.settings_in(ours.decode()), **changes}
        self._file.write(others + OURS + self._launcher.settings_text(values).encode())
        return changes


def _file(target: Target, launcher: Launcher) -> Path:
    """The file for the settings. Raises ``InputError`` if the target's file or folder does not exist."""
    spec = target.control
    if spec.config_file is not None:
        if not spec.config_file.is_file():
            raise InputError(f"file {spec.config_file} does not exist (config_file of the target {target.given})")
        return spec.config_file.resolve()
    assert spec.drop_in is not None
    if not spec.drop_in.is_dir():
        raise InputError(f"folder {spec.drop_in} does not exist (drop_in of the target {target.given})")
    return spec.drop_in.resolve() / f"{_NAME}{launcher.suffix}"
