"""What the agent keeps of the server's settings: each state once, in a file that is named by its content's SHA-256.

A client holds such a name and nothing more, so that it can bring back what was, and nothing else.
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
    """A folder of snapshots. It may be emptied whenever no sweep is open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)

    def keep(self, snapshot: Mapping[str, Any]) -> str:
        """Put it on disk; its name."""
        content = json.dumps(snapshot, sort_keys=True).encode()
        name = hashlib.sha256(content).hexdigest()
        if not self._file(name).is_file():
            replace_file(self._file(name), content, mode=0o600)
        return name

    def read(self, name: str) -> dict[str, Any]:
        """The snapshot of a name. Raises ``ServerFailed`` where it is not, or not as it was kept."""
        try:
            content = self._file(name).read_bytes()
        except OSError:
            content = b""
        if hashlib.sha256(content).hexdigest() != name:
            raise ServerFailed(f"the agent has no snapshot {name}; was its folder {self._folder} emptied?")
        return dict(json.loads(content))

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"
