"""Snapshots of the server's settings, each in a file that is named by the SHA-256 of its content.

A client receives only the name, so that it can restore an earlier state and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hdbkit.errors import ServerFailed
from hdbkit.files import replace_file


class Snapshots:
    """A folder of snapshots. It may be emptied while no sweep is unfinished."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)

    def keep(self, snapshot: Mapping[str, Any]) -> str:
        """Write a snapshot to disk; return its name."""
        content = json.dumps(snapshot, sort_keys=True).encode()
        name = hashlib.sha256(content).hexdigest()
        if not self._file(name).is_file():
            replace_file(self._file(name), content, mode=0o600)
        return name

    def read(self, name: str) -> dict[str, Any]:
        """Read a snapshot by name. Raises ``ServerFailed`` if it is missing or damaged."""
        try:
            content = self._file(name).read_bytes()
        except OSError:
            content = b""
        if hashlib.sha256(content).hexdigest() != name:
            raise ServerFailed(f"the agent has no snapshot {name}; was its folder {self._folder} emptied?")
        return dict(json.loads(content))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"
