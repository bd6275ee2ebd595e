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
from hdbkit.contracts import Power, Session
from hdbkit.errors import CannotConnect, TransactionError
from hdbkit.servers.server_access import is_disconnected
from hdbkit.servers.settings_file import SettingsFile
from hdbkit.servers.sql_control import SqlControl, known_changes


class FileControl(SqlControl):
    """``contracts.ServerControl`` through a settings file; ``power`` starts and stops the server, if given."""

    keeps_by_sql = False

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

    @property
    def keeps_settings(self) -> bool:
        """True: they are in the file."""
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
