"""Settings of a server on this host that hdbkit did not start, through a file that it reads and restart commands.

The settings go to a separate file in a drop-in folder, or to the end of the server's own file, between :data:`OURS`
and :data:`END`. Everything else stays unchanged; what others write there meanwhile is kept. The server must read the
settings after every other file that sets the same name. If another one takes precedence, the value that is read
back differs and the change is undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import Session, Setting
from hdbkit.errors import InputError
from hdbkit.servers.file_control import FileControl
from hdbkit.servers.power import power_of
from hdbkit.servers.private import Launcher

OURS = b"\n# hdbkit: settings of a sweep; the lines below are removed at its end\n"
END = b"# hdbkit: end of the settings of a sweep\n"
_NAME = "zz-hdbkit"
"""The last name in a drop-in folder, whose files are read in the order of their names."""


class LocalControl(FileControl):
    """``contracts.ServerControl`` through a file and commands of this host."""

    def __init__(self, target: Target, launcher: Launcher) -> None:
        self._launcher = launcher
        super().__init__(target, None, power_of(target.control), _file(target, launcher))

    def _keep(self, session: Session, changes: Mapping[str, str], known: Mapping[str, Setting]) -> Mapping[str, str]:
        """Write the changes to the file; all of them are then also set on the running server."""
        others, ours = self._split(self._file.read() or b"")
        values = {**self._launcher.settings_in(ours.decode()), **changes}
        self._file.write(others + OURS + self._launcher.settings_text(values).encode() + END)
        return changes

    def _earlier(self, snapshot: Mapping[str, Any]) -> str | None:
        """The file as it was; if others have edited it meanwhile, it as they left it, without our lines."""
        earlier, present = super()._earlier(snapshot), self._file.text()
        if present is None:
            return earlier
        others, _ = self._split(present.encode("latin-1"))
        if others == self._split((earlier or "").encode("latin-1"))[0]:
            return earlier
        self.say(f"{self._file} was edited during the sweep; hdbkit removes its own lines and keeps the edits")
        return others.decode("latin-1")

    def _split(self, content: bytes) -> tuple[bytes, bytes]:
        """What others wrote, and our lines. Lines after ours stay in the group of options that ours are in."""
        before, _, rest = content.partition(OURS)
        ours, _, after = rest.partition(END)
        if after.strip():
            before += b"\n" + self._launcher.settings_text({}).encode() + after
        return before, ours


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
