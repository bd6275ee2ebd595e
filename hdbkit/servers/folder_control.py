"""Settings and data of a private server that reads a settings file when it starts.

Changed settings are lines of that file; those that a running server accepts are also set at once. The data is kept as
a copy of the data folder, made while the server is stopped.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import BUILT, KEPT, Session, Setting
from hdbkit.errors import ServerFailed, TransactionError
from hdbkit.servers.file_control import FileControl
from hdbkit.servers.launcher import Launcher
from hdbkit.servers.log import last_lines
from hdbkit.servers.place import run_as
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


_COPY_PATIENCE_S = 3600.0
_DRAFT = ".new-"


class FolderControl(PrivateControl):
    """``contracts.ServerControl`` of a private server, whose settings file has the form of ``text``."""

    def __init__(self, target: Target, text: Launcher) -> None:
        super().__init__(target)
        self._text = text

    def keep_data(self, copy: str = KEPT) -> float:
        """Stop the server, copy the data folder, and start the server again."""
        began = time.monotonic()
        self._server.stop()
        try:
            self._copy_folder(self._data, self._kept_folder(copy))
        finally:
            self._server.start()
        self._set_kept()
        return time.monotonic() - began

    def restore_data(self, copy: str = KEPT) -> float:
        began = time.monotonic()
        if not self._kept_folder(copy).is_dir():
            raise ServerFailed(f"{self.identity} has no kept data to restore")
        self._copy_folder(self._kept_folder(copy), self._fresh)
        self._server.kill()
        self._swap()
        self._server.start()
        self._set_kept()
        return time.monotonic() - began

    def drop_kept_data(self) -> None:
        for folder in (self._kept_folder(KEPT), self._kept_folder(BUILT), self._fresh, self._old, *self._drafts()):
            shutil.rmtree(folder, ignore_errors=True)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the settings, after moving the data folder into place if an interrupted restore left it missing."""
        if not self._data.is_dir() and self._fresh.is_dir():
            self._fresh.rename(self._data)
        super().restore(snapshot)

    def _lost(self) -> bool:
        """Always false: ``restore`` moves the data folder into place before the server starts."""
        return False

    def _keep(self, session: Session, changes: Mapping[str, str], known: Mapping[str, Setting]) -> Mapping[str, str]:
        """Write the changes to the settings file; all of them are then also set on the running server."""
        self._file.write(self._text.settings_text({**self._kept_lines(), **changes}).encode())
        return changes

    def _kept_lines(self) -> dict[str, str]:
        return self._text.settings_in((self._file.read() or b"").decode())

    def _set_kept(self) -> None:
        """Set, after a start, those settings of the file that are not startup options."""
        self._set_running(self._kept_lines())

    @property
    def _data(self) -> Path:
        return self._server.place.data

    def _kept_folder(self, copy: str) -> Path:
        return self._server.folder / f"data-{copy}"

    @property
    def _fresh(self) -> Path:
        return self._server.folder / "data-fresh"

    @property
    def _old(self) -> Path:
        return self._server.folder / "data-old"

    def _drafts(self) -> list[Path]:
        """Unfinished copies."""
        return list(self._server.folder.glob(f"data-*{_DRAFT}*"))

    def _copy_folder(self, original: Path, copy: Path) -> None:
        """Copy a folder to disk atomically, with shared blocks if the file system supports them.

        Each draft has a new name: the copy command of a killed process may still be writing an earlier draft.
        """
        draft = copy.with_name(f"{copy.name}{_DRAFT}{uuid.uuid4().hex[:8]}")
        for old in (copy, *self._drafts()):
            shutil.rmtree(old, ignore_errors=True)
        for command in (["cp", "-a", "--reflink=auto", str(original), str(draft)], ["sync", "-f", str(draft)]):
            done = run_as(None, command, _COPY_PATIENCE_S)
            if done.returncode:
                shutil.rmtree(draft, ignore_errors=True)
                raise ServerFailed(f"{original} was not copied: {last_lines(done.stdout)}")
        draft.rename(copy)

    def _swap(self) -> None:
        """Replace the data folder, which may be missing after an interrupted restore, with the fresh copy."""
        shutil.rmtree(self._old, ignore_errors=True)
        with suppress(FileNotFoundError):
            self._data.rename(self._old)
        self._fresh.rename(self._data)
        shutil.rmtree(self._old, ignore_errors=True)
