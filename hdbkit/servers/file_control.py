"""Settings of a server through its settings file on this host, with commands that start the server.

The file is restored byte for byte, which also removes a value that prevents the server from starting. A file that did
not exist before is removed.
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
_READ_BY_ALL = 0o644  # the tried values are not secret: every session of the server can read them


class FileControl(SqlControl):
    """``contracts.ServerControl`` through a settings file; ``power`` starts and stops the server, if given."""

    def __init__(self, target: Target, admin: Target | None, power: Power | None, file: Path) -> None:
        self._file = file
        super().__init__(target, admin, power)

    def apply(self, changes: Mapping[str, str]) -> Change:
        """Start the server if it is stopped, then apply the changes as :class:`SqlControl` does."""
        self._start_again()
        return super().apply(changes)

    def snapshot(self) -> dict[str, Any]:
        """The content of the file as Latin-1 text (None: no file), and the values that the server runs with.

        A stopped server is started first.
        """
        self._start_again()
        content = self._read_file()
        text = None if content is None else content.decode("latin-1")
        return {"identity": self.identity, "file": text, "running": self._running()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the file, then reload, restart or start the server as needed."""
        self._check_identity(snapshot)
        text = snapshot["file"]
        self._write(None if text is None else text.encode("latin-1"))
        running = snapshot.get("running", {})
        if self.power is not None and not self.power.running:
            self._start()
            self._set_running(running)
            return
        try:
            self._take_effect(self.settings(), running)
        except (CannotConnect, TransactionError):
            if self.power is None:
                raise
            self._restart()
            self._set_running(running)

    def _start_again(self) -> None:
        """Start a stopped server. Wait a few seconds for one that does not answer: it may be starting or stopping."""
        end = time.monotonic() + _ENDING_S
        while self._may_restart() and not self._answers() and time.monotonic() < end:
            if self.power is not None and not self.power.running:
                self.say(f"the server of {self.identity} was stopped; hdbkit starts it again")
                return self._start()
            time.sleep(0.1)
        return None

    def _start(self) -> None:
        """Start a stopped server; retry, since remaining processes of a killed server may block the start briefly."""
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
        """The path of the file, which is known even while the server is stopped."""
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
        """Replace the file atomically and keep its owner and mode; None removes it."""
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
