"""Settings and data of a private server: as through SQL, and with its very files at hand."""

from __future__ import annotations

import time

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
        """Copy the database, file by file."""
        return self._copy(self._database, self._kept(copy), closed=True)

    def restore_data(self, copy: str = KEPT) -> float:
        """Replace the database by a kept copy."""
        return self._copy(self._kept(copy), self._database, closed=False)

    def drop_kept_data(self) -> None:
        """Remove the kept copies, if there are any."""
        with self._session() as session:
            for copy in (KEPT, BUILT):
                session.ask("remove_database", copy=self._kept(copy))

    def _start_again(self) -> None:
        """As others do; a database that went with a server which was killed while it was replaced is brought back."""
        super()._start_again()
        if self._lost():
            self.say(
                f"the data of {self.identity} had been left half replaced; they are brought back from their copy"
            )
            self.restore_data()

    def _lost(self) -> bool:
        """Whether the database is missing, and its copy is there."""
        with self._session() as session:
            there = [
                bool(session.ask("database_exists", database_name=name))
                for name in (self._database, self._kept(KEPT))
            ]
        return there == [False, True]

    def _kept(self, copy: str) -> str:
        return f"{self._database}_{copy}"

    def _identify(self) -> str:
        """Its folder; a stopped server has it too."""
        return str(self._server.folder)

    def _may_restart(self) -> bool:
        return self._target.may_restart

    def _restart_advice(self) -> str:
        return "the target must say 'may_restart: true'"

    def _restart(self) -> None:
        self._server.restart()  # which waits until it answers, on whatever port it was given

    def _copy(self, original: str, copy: str, *, closed: bool) -> float:
        """Make ``copy`` anew from ``original``; a ``closed`` one lets nobody connect. Seconds it took."""
        began = time.monotonic()
        with self._session() as session:
            session.ask("copy_alone")
            if not session.ask("database_exists", database_name=original):
                raise ServerFailed(f"there is no database '{original}' in {self.identity} to copy")
            try:
                session.ask("remove_database", copy=copy)
                session.ask("end_other_sessions", database_name=original)
                session.ask("copy_database", copy=copy, original=original, owner=self._target.user)
                if closed:
                    session.ask("close_database", copy=copy)
            except TransactionError as error:
                raise ServerFailed(f"database {original} was not copied to {copy}: {error.text}") from error
        return time.monotonic() - began
