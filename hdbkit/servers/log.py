"""The last lines of a log or of a command's output, for an error message."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hdbkit.files import opened_file

NO_MESSAGE = "it left no message"
_MAX_LINES = 6
_MAX_LINE = 4000
_MAX_CHARACTERS = 600


class CollectedLog:
    """The log that a log process of the server writes, a new file from time to time and after each start.

    Other servers may write to the same folder: a file counts if it is that of the server, or if it is new and has its
    name with other digits.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._pattern = re.compile(r"\d+".join(map(re.escape, re.split(r"\d+", file.name))))
        self.note()

    def note(self) -> None:
        """Note what is there before a start."""
        self._known = set(self._files())
        self._size = self._file.stat().st_size if self._file.is_file() else 0

    def new(self) -> tuple[Path, int]:
        """The newest file since, and the size from which on it is new."""
        fresh = [path for path in self._files() if path not in self._known]
        newest = max(fresh, key=lambda path: path.stat().st_mtime, default=None)
        return (newest, 0) if newest else (self._file, self._size)

    def _files(self) -> list[Path]:
        with suppress(OSError):
            return [path for path in self._file.parent.iterdir() if self._pattern.fullmatch(path.name)]
        return []


def last_lines(text: str, cleaned: Callable[[str], str] = str) -> str:
    """The last non-empty lines, joined into one line; empty if there are none.

    ``cleaned`` is applied to each, from its beginning and before it is shortened.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(cleaned(line[:_MAX_LINE]) for line in lines[-_MAX_LINES:])[-_MAX_CHARACTERS:]


def read_since(log: Path, size: int) -> str:
    """The text appended to a log since it had this size; all of it if the log was truncated. Raises ``OSError``."""
    with os.fdopen(opened_file(log), "rb") as file:
        file.seek(size if file.seek(0, os.SEEK_END) >= size else 0)
        return file.read().decode(errors="replace")
