"""Control of a database that is a file of an embedded engine: its data is kept and restored by copies next to it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from hdbkit.config import Target
from hdbkit.contracts import BUILT, KEPT
from hdbkit.errors import ServerFailed
from hdbkit.servers.no_settings import NoSettings


class FileData(NoSettings):
    """``contracts.ServerControl`` of a target whose file may be replaced; ``files``: the database, then its logs.

    Nothing has the files open between two runs. A log is removed before the database is replaced, and comes after it,
    so that a log never meets a database that is not its own, wherever a sweep is killed.
    """

    can_restore_data = True

    def __init__(self, target: Target, files: tuple[Path, ...]) -> None:
        super().__init__(target)
        self._files = files

    def keep_data(self, copy: str = KEPT) -> float:
        """Copy the files; the seconds it took. Raises ``ServerFailed``."""
        return self._copied(self._files, [self._kept(file, copy) for file in self._files])

    def restore_data(self, copy: str = KEPT) -> float:
        """Replace the files with a copy; the seconds it took. Raises ``ServerFailed``."""
        return self._copied([self._kept(file, copy) for file in self._files], self._files)

    def drop_kept_data(self) -> None:
        """Remove the copies, if there are any."""
        for file in self._files:
            for copy in (KEPT, BUILT):
                for made in (self._kept(file, copy), _draft(self._kept(file, copy)), _draft(file)):
                    made.unlink(missing_ok=True)

    def _copied(self, originals: Sequence[Path], copies: Sequence[Path]) -> float:
        began = time.monotonic()
        if not originals[0].is_file():
            raise ServerFailed(f"there is no {originals[0]} to copy")
        try:
            for copy in copies[1:]:
                copy.unlink(missing_ok=True)
            for original, copy in zip(originals, copies, strict=True):
                if original.is_file():
                    shutil.copy2(original, _draft(copy))
                    _draft(copy).replace(copy)
        except OSError as error:
            raise ServerFailed(f"{originals[0]} cannot be copied: {error}") from None
        return time.monotonic() - began

    def _kept(self, file: Path, copy: str) -> Path:
        return file.with_name(f"{file.name}-{copy}")


def _draft(file: Path) -> Path:
    return file.with_name(f"{file.name}-draft")
