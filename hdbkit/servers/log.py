"""What a server or a command said last, as one line of an error."""

from __future__ import annotations

import os
from pathlib import Path

NO_MESSAGE = "it left no message"
_MAX_LINES = 6
_MAX_CHARACTERS = 600


def last_lines(text: str) -> str:
    """The last lines with something in them, in one line; empty where there are none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-_MAX_LINES:])[-_MAX_CHARACTERS:]


def read_since(log: Path, size: int) -> str:
    """What was added to a log since it had this size; all of it when it was begun anew. Raises ``OSError``."""
    with log.open("rb") as file:
        file.seek(size if file.seek(0, os.SEEK_END) >= size else 0)
        return file.read().decode(errors="replace")
