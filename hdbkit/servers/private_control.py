"""Settings and data of a private server: as through SQL, and with its very files at hand.

The file that the server keeps changed settings in is brought back byte for byte, so that even a value that keeps
the server from starting is repaired.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.errors import CannotConnect, ServerFailed, TransactionError
from hdbkit.servers.private import PrivateServer
from hdbkit.servers.sql_control import SqlControl


class PrivateControl(SqlControl):
    """``contracts.ServerControl`` of a private server."""

    can_restore_data = True

    def __init__(self, target: Target) -> None:
        assert target.server_folder is not None
        self._server = PrivateServer.attach(target.server_folder)
        super().__init__(target, self._server.maintenance)
        self._database = target.database or self._server.place.database
        self._kept = f"{self._database}_kept"

    def snapshot(self) -> dict[str, Any]:
        """The bytes of the file of changed settings, each as the character of its number; and what it runs with."""
        content = self._file.read_bytes().decode("latin-1")
        return {"identity": self.identity, "file": content, "running": self._running()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Bring the file back, then reload, restart or start as needed."""
        self._check_identity(snapshot)
        self._write(snapshot["file"].encode("latin-1"))
        running = snapshot.get("running", {})
        if not self._server.running:
            self._server.start()
            self._tell(running)
            return
        try:
            self._take_effect(self.settings(), running)
        except (CannotConnect, TransactionError):
            self._server.restart()
            self._tell(running)

    def keep_data(self) -> float:
        """Copy the database, file by file."""
        return self._copy(self._database, self._kept, closed=True)

    def restore_data(self) -> float:
        """Replace the database by its kept copy."""
        return self._copy(self._kept, self._database, closed=False)

    def drop_kept_data(self) -> None:
        """Remove the kept copy, if there is one."""
        with self._session() as session:
            session.query("remove_database", copy=self._kept)

    def _identify(self) -> str:
        """Its folder; a stopped server has it too."""
        return str(self._server.folder)

    def _may_restart(self) -> bool:
        return self._target.may_restart

    def _restart_advice(self) -> str:
        return "the target must say 'may_restart: true'"

    def _restart(self) -> None:
        self._server.restart()

    @property
    def _file(self) -> Path:
        return self._server.settings_file

    def _write(self, content: bytes) -> None:
        """Replace the file in one step, with the owner and mode that it had."""
        if self._file.read_bytes() == content:
            return
        had = self._file.stat()
        fresh = self._file.with_name(self._file.name + ".hdbkit")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.geteuid() == 0:
            os.chown(fresh, had.st_uid, had.st_gid)
        fresh.replace(self._file)

    def _copy(self, original: str, copy: str, *, closed: bool) -> float:
        """Make ``copy`` anew from ``original``; a ``closed`` one lets nobody connect. Seconds it took."""
        began = time.monotonic()
        with self._session() as session:
            if not session.query("database_exists", database_name=original):
                raise ServerFailed(f"there is no database '{original}' in {self.identity} to copy")
            try:
                session.query("remove_database", copy=copy)
                session.query("end_other_sessions", database_name=original)
                session.query("copy_database", copy=copy, original=original, owner=self._target.user)
                if closed:
                    session.query("close_database", copy=copy)
            except TransactionError as error:
                raise ServerFailed(f"database {original} was not copied to {copy}: {error.text}") from error
        return time.monotonic() - began
