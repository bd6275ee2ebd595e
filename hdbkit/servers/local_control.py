"""Settings of a server on this host that hdbkit did not start: by a file that it reads, and commands that restart it.

The file is one of ours in a folder of files that the server reads, or the end of a file that it has: what stands
there before :data:`OURS` is somebody else's and stays. The server must read it behind every other place that sets
the same name; where another place wins, the setting is read back otherwise, and undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hdbkit.config import Target
from hdbkit.contracts import Session
from hdbkit.errors import InputError
from hdbkit.servers.file_control import FileControl
from hdbkit.servers.power import power_of
from hdbkit.servers.private import Engine

OURS = b"\n# hdbkit: what a sweep tries; the lines from here on are removed at its end\n"
_NAME = "zz-hdbkit"
"""Files of a folder are read in the order of their names."""


class LocalControl(FileControl):
    """``contracts.ServerControl`` through a file and commands of this host."""

    def __init__(self, target: Target, engine: Engine) -> None:
        self._engine = engine
        super().__init__(target, None, power_of(target.control), _file(target, engine))

    def _keep(self, session: Session, changes: Mapping[str, str]) -> Mapping[str, str]:
        """Write them into the file; what the server takes while it runs, it is to be told."""
        others, _, ours = (self._read_file() or b"").partition(OURS)
        values = {**self._engine.settings_in(ours.decode()), **changes}
        self._write(others + OURS + self._engine.settings_text(values).encode())
        return changes


def _file(target: Target, engine: Engine) -> Path:
    """Where the settings go. Raises ``InputError`` where there is no such file or folder."""
    spec = target.control
    if spec.config_file is not None:
        if not spec.config_file.is_file():
            raise InputError(f"there is no file {spec.config_file} (config_file of the target {target.given})")
        return spec.config_file.resolve()
    assert spec.drop_in is not None
    if not spec.drop_in.is_dir():
        raise InputError(f"there is no folder {spec.drop_in} (drop_in of the target {target.given})")
    return spec.drop_in.resolve() / f"{_NAME}{engine.suffix}"
