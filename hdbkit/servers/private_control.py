"""Settings and data of a private server, through SQL and its own files."""

from __future__ import annotations

import time
from functools import cached_property

from hdbkit.config import Target
from hdbkit.contracts import BUILT, KEPT
from hdbkit.errors import ServerFailed, TransactionError
from hdbkit.servers.file_control import FileControl
from hdbkit.servers.private import PrivateServer


class PrivateControl(FileControl):
    """``contracts.ServerControl`` of a private server."""

    can_restore_data = True

    def __init__(self, target: Target) -> None:
        assert target.server_folder is not None
        self._server = PrivateServer.attach(target.server_folder)
        super().__init__(target, self._server.maintenance, self._server, self._server.settings_file)
        self._database = target.database or self._server.place.database

    def keep_data(self, copy: str = KEPT) -> float:
        """Copy the database file by file."""
        return self._copy(self._database, self._kept(copy), closed=True)

    def restore_data(self, copy: str = KEPT) -> float:
        """Replace the database with a kept copy."""
        return self._copy(self._kept(copy), self._database, closed=False)

    def drop_kept_data(self) -> None:
        """Remove the kept copies, if there are any."""
        with self._session() as session:
            for copy in (KEPT, BUILT):
                session.ask("remove_database", copy=self._kept(copy))

    def _start_again(self) -> None:
        """Start a stopped server; if it was killed while its database was replaced, restore the database."""
        super()._start_again()
        if self._lost():
            self.say(f"an interrupted restore left {self.identity} without its data; hdbkit restores the kept copy")
            self.restore_data()

    def _lost(self) -> bool:
        """Whether the database is missing while its copy exists."""
        with self._session() as session:
            there = [
                bool(session.ask("database_exists", database_name=name))
                for name in (self._database, self._kept(KEPT))
            ]
        return there == [False, True]

    def _kept(self, copy: str) -> str:
        return f"{self._database}_{copy}"

    @cached_property
    def identity(self) -> str:
        """The server's folder, which is known even while the server is stopped."""
        return str(self._server.folder)

    def _may_restart(self) -> bool:
        return self._target.may_restart

    def _restart_advice(self) -> str:
        return "the target must set 'may_restart: true'"

    def _restart(self) -> None:
        self._server.restart()  # waits until the server answers, on whatever port it has

    def _copy(self, original: str, copy: str, *, closed: bool) -> float:
        """Replace ``copy`` with a copy of ``original``, ``closed`` to connections; return the duration in seconds."""
        began = time.monotonic()
        with self._session() as session:
            session.ask("copy_alone")
            if not session.ask("database_exists", database_name=original):
                raise ServerFailed(f"{self.identity} has no database '{original}' to copy")
            try:
                session.ask("remove_database", copy=copy)
                session.ask("end_other_sessions", database_name=original)
                session.ask("copy_database", copy=copy, original=original, owner=self._target.user)
                if closed:
                    session.ask("close_database", copy=copy)
            except TransactionError as error:
                raise ServerFailed(f"database {original} was not copied to {copy}: {error.text}") from error
        return time.monotonic() - began
