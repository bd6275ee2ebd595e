"""Settings of a server through its settings file on this host, with commands that start the server.

The file is restored byte for byte, which also removes a value that prevents the server from starting. A file that did
not exist before is removed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import Power, Session, Setting
from hdbkit.errors import CannotConnect, InputError, TransactionError
from hdbkit.servers.launcher import Launcher
from hdbkit.servers.power import power_of
from hdbkit.servers.server_access import is_disconnected
from hdbkit.servers.settings_file import SettingsFile
from hdbkit.servers.sql_control import SqlControl, known_changes


class FileControl(SqlControl):
    """``contracts.ServerControl`` through a settings file; ``power`` starts and stops the server, if given."""

    keeps_by_sql = False
    keeps_settings = True  # in the file

    def __init__(self, target: Target, admin: Target | None, power: Power | None, file: Path) -> None:
        self._file = SettingsFile(file)
        super().__init__(target, admin, power)

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        """Also that the file cannot be written."""
        found, file = super().problems(changes), self._file.problem()
        return [*found, file] if file and self._target.may_change_settings else found

    def snapshot(self, changed: Collection[str] | None = None) -> dict[str, Any]:
        """The content of the file as Latin-1 text (None: no file), and the values that the server runs with.

        A stopped server is started first.
        """
        self._ready()
        return {"identity": self.identity, **known_changes(changed), "file": self._file.text(), **self._held()}

    def _advice(self, snapshot: Mapping[str, Any]) -> str:
        return (
            f"remove {self._lines_of(snapshot)} from {self._file} (the sweep's before.json has its earlier content)"
        )

    def _restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the file, then reload, restart or start the server as needed; nothing if it rejects the account."""
        self._check_identity(snapshot)
        error = self._session_error()
        if error is not None and not is_disconnected(error):
            raise error
        self._file.write_text(self._earlier(snapshot))
        if self.power is not None and not self.power.running:
            self._start()
        elif self._took_file(snapshot):
            return
        self._set_running(self._running_in(snapshot))

    def _earlier(self, snapshot: Mapping[str, Any]) -> str | None:
        """The content to restore."""
        content: str | None = snapshot["file"]
        return content

    def _took_file(self, snapshot: Mapping[str, Any]) -> bool:
        """Have the running server take the file; False if it had to be restarted because it did not answer."""
        try:
            ours = self._changed(snapshot)
            self._take_effect(self.settings() if ours is None else ours, self._running_in(snapshot))
        except (CannotConnect, TransactionError):
            if self.power is None:
                raise
            self._restart()
            return False
        return True

    @cached_property
    def identity(self) -> str:
        """The path of the file, which is known even while the server is stopped."""
        return str(self._file)

    @property
    def _named(self) -> str:
        return self.identity

    def _kept_in(self, session: Session) -> str:
        return str(self._file)


OURS = b"\n# hdbkit: settings of a sweep; the lines below are removed at its end\n"
_END = b"# hdbkit: end of the settings of a sweep\n"
_NAME = "zz-hdbkit"
"""The last name in a drop-in folder, whose files are read in the order of their names."""


class LocalControl(FileControl):
    """``contracts.ServerControl`` through a file and commands of this host.

    The settings go to a separate file in a drop-in folder, or to the end of the server's own file, between
    :data:`OURS` and :data:`_END`. Everything else stays unchanged; what others write there meanwhile is kept. The
    server must read the settings after every other file that sets the same name. If another one takes precedence, the
    value that is read back differs and the change is undone.
    """

    def __init__(self, target: Target, launcher: Launcher) -> None:
        self._launcher = launcher
        super().__init__(target, None, power_of(target.control), _file(target, launcher))

    def _keep(self, session: Session, changes: Mapping[str, str], known: Mapping[str, Setting]) -> Mapping[str, str]:
        """Write the changes to the file; all of them are then also set on the running server."""
        others, ours = self._split(self._file.read() or b"")
        values = {**self._launcher.settings_in(ours.decode()), **changes}
        self._file.write(others + OURS + self._launcher.settings_text(values).encode() + _END)
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
        ours, _, after = rest.partition(_END)
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
