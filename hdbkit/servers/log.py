"""The last lines of a log or of a command's output, for an error message."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

NO_MESSAGE = "it left no message"
_MAX_LINES = 6
_MAX_LINE = 4000
_MAX_CHARACTERS = 600


def last_lines(text: str, cleaned: Callable[[str], str] = str) -> str:
    """The last non-empty lines, joined into one line; empty if there are none.

    ``cleaned`` is applied to each, from its beginning and before it is shortened.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(cleaned(line[:_MAX_LINE]) for line in lines[-_MAX_LINES:])[-_MAX_CHARACTERS:]


def read_since(log: Path, size: int) -> str:
    """The text appended to a log since it had this size; all of it if the log was truncated. Raises ``OSError``."""
    with log.open("rb") as file:
        file.seek(size if file.seek(0, os.SEEK_END) >= size else 0)
        return file.read().decode(errors="replace")
