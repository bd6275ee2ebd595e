"""Settings of a server whose file of changed settings is at hand, and which can be started from here.

The file is brought back byte for byte, so that even a value that keeps the server from starting is repaired. A file
that was not there is removed again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import Change, Power, Session
from hdbkit.errors import CannotConnect, ServerFailed, TransactionError
from hdbkit.files import replace_file, sync_folder
from hdbkit.servers.sql_control import SqlControl

_ENDING_S = 5.0
_READ_BY_ALL = 0o644  # what a sweep tries is no secret: any session of the server can ask for it


class FileControl(SqlControl):
    """``contracts.ServerControl`` of a server by its file of settings; ``power`` starts it, where there is one."""

    def __init__(self, target: Target, admin: Target | None, power: Power | None, file: Path) -> None:
        self._file = file
        super().__init__(target, admin, power)

    def apply(self, changes: Mapping[str, str]) -> Change:
        """As through SQL; a server that has ended is started before."""
        self._start_again()
        return super().apply(changes)

    def snapshot(self) -> dict[str, Any]:
        """The bytes of the file, each as the character of its number (None: no file); what the server runs with.

        A server that has ended is started before.
        """
        self._start_again()
        content = self._read_file()
        text = None if content is None else content.decode("latin-1")
        return {"identity": self.identity, "file": text, "running": self._running()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Bring the file back, then reload, restart or start as needed."""
        self._check_identity(snapshot)
        text = snapshot["file"]
        self._write(None if text is None else text.encode("latin-1"))
        running = snapshot.get("running", {})
        if self.power is not None and not self.power.running:
            self._bring_back()
            self._tell(running)
            return
        try:
            self._take_effect(self.settings(), running)
        except (CannotConnect, TransactionError):
            if self.power is None:
                raise
            self._restart()
            self._tell(running)

    def _start_again(self) -> None:
        """Start a server that has ended. One that does not answer is looked at for a while: it may be on its way."""
        end = time.monotonic() + _ENDING_S
        while self._may_restart() and not self._answers() and time.monotonic() < end:
            if self.power is not None and not self.power.running:
                self.say(f"the server of {self.identity} had ended; it is started again")
                return self._bring_back()
            time.sleep(0.1)
        return None

    def _bring_back(self) -> None:
        """Start a server that has ended. Processes of one that was killed may be in the way for a while."""
        end = time.monotonic() + _ENDING_S
        while True:
            try:
                return self._restart()
            except ServerFailed:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    def _answers(self) -> bool:
        try:
            self._times()
        except (CannotConnect, TransactionError):
            return False
        return True

    def _identify(self) -> str:
        """The file; a stopped server has it too."""
        return str(self._file)

    def _kept_in(self, session: Session) -> str:
        return str(self._file)

    def _read_file(self) -> bytes | None:
        try:
            return self._file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ServerFailed(f"{self._file} cannot be read: {error.strerror}") from error

    def _write(self, content: bytes | None) -> None:
        """Replace the file in one step, with the owner and mode that it had; None removes it."""
        if self._read_file() == content:
            return
        try:
            if content is None:
                self._file.unlink()
            else:
                there = self._file.exists()
                had = (self._file if there else self._file.parent).stat()
                replace_file(self._file, content, had.st_mode & 0o777 if there else _READ_BY_ALL, owner=had)
            sync_folder(self._file.parent)
        except OSError as error:
            raise ServerFailed(f"{self._file} cannot be written: {error.strerror}") from error
