"""Settings and data of a private server of the two kinds of mysqld.

Changed settings are lines of an option file of ours, which the server reads when it starts; what it can take while it
runs, it is told besides. Its data are kept as a copy of the data folder, made while it is stopped.
"""

from __future__ import annotations

import re
import shutil
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.contracts import BUILT, KEPT, Session
from hdbkit.errors import ServerFailed
from hdbkit.servers.log import last_lines
from hdbkit.servers.place import run_as
from hdbkit.servers.private_control import PrivateControl

_COPY_PATIENCE_S = 3600.0
_DRAFT = ".new-"
LOOSE = "loose-"
"""Before a name: the server may know it as a variable and not as an option of its start."""


class MysqldControl(PrivateControl):
    """``contracts.ServerControl`` of a private server of MariaDB or MySQL."""

    def keep_data(self, copy: str = KEPT) -> float:
        """Copy the data folder; the server is stopped meanwhile."""
        began = time.monotonic()
        self._server.stop()
        try:
            self._copy_folder(self._data, self._kept_folder(copy))
        finally:
            self._server.start()
        self._tell_kept()
        return time.monotonic() - began

    def restore_data(self, copy: str = KEPT) -> float:
        """Replace the data folder by a kept copy."""
        began = time.monotonic()
        if not self._kept_folder(copy).is_dir():
            raise ServerFailed(f"there are no kept data in {self.identity} to bring back")
        self._copy_folder(self._kept_folder(copy), self._fresh)
        self._server.kill()
        self._swap()
        self._server.start()
        self._tell_kept()
        return time.monotonic() - began

    def drop_kept_data(self) -> None:
        """Remove the kept copies, if there are any."""
        for folder in (self._kept_folder(KEPT), self._kept_folder(BUILT), self._fresh, self._old, *self._drafts()):
            shutil.rmtree(folder, ignore_errors=True)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Bring settings back; a data folder that a killed replacing left away is put in its place before."""
        if not self._data.is_dir() and self._fresh.is_dir():
            self._fresh.rename(self._data)
        super().restore(snapshot)

    def _lost(self) -> bool:
        """The data are put in their place before a start."""
        return False

    def _keep(self, session: Session, changes: Mapping[str, str]) -> Mapping[str, str]:
        """Write them into the option file; what the server can take while it runs, it is to be told."""
        self._write(option_lines({**self._kept_lines(), **changes}, LOOSE).encode())
        return changes

    def _kept_lines(self) -> dict[str, str]:
        return option_values(self._file.read_bytes().decode())

    def _tell_kept(self) -> None:
        """After a start: what stands in the file and is no option of the command line."""
        self._tell(self._kept_lines())

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
        """Copies that were never finished."""
        return list(self._server.folder.glob(f"data-*{_DRAFT}*"))

    def _copy_folder(self, original: Path, copy: Path) -> None:
        """A copy that is there whole or not at all, on the disk; with shared blocks where the file system can.

        Its draft has a name of its own: a command whose starter was killed may still be writing an earlier one.
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
        """Put the fresh copy in the place of the data folder, which a killed replacing may have taken away."""
        shutil.rmtree(self._old, ignore_errors=True)
        with suppress(FileNotFoundError):
            self._data.rename(self._old)
        self._fresh.rename(self._data)
        shutil.rmtree(self._old, ignore_errors=True)


def option_lines(values: Mapping[str, str], prefix: str = "") -> str:
    """The text of an option file that sets these values for the server."""
    return "[mysqld]\n" + "".join(f'{prefix}{name} = "{_escaped(value)}"\n' for name, value in values.items())


def option_values(text: str) -> dict[str, str]:
    """What :func:`option_lines` wrote."""
    pairs = (line.partition("=") for line in text.split("\n") if "=" in line)
    return {name.strip().removeprefix(LOOSE): _bare(value.strip()) for name, _, value in pairs}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _bare(value: str) -> str:
    inside = value[1:-1] if value[:1] == value[-1:] == '"' else value
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], inside)
