"""The state of a null database, in a folder that all its sessions share.

It contains the build record, the settings, and one file of running totals per session, written only by that session.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import stat
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from hdbkit.config import Target
from hdbkit.errors import InputError
from hdbkit.files import draft_of

_NUMBER = struct.Struct("<q")
ROLLBACKS = "rollbacks"


class State:
    """The folder of a null database."""

    def __init__(self, target: Target) -> None:
        name = target.database or "null"
        if not name.replace("-", "").replace("_", "").isalnum():
            raise InputError(f"the name of a null database may only contain letters, digits, - and _, not {name!r}")
        parent = Path(tempfile.gettempdir()) / f"hdbkit-nulldb-{os.geteuid()}"
        _require_own(parent)
        self.folder = parent / name

    def record(self, schema: str) -> dict[str, Any]:
        """The build record of a schema, without its parts; empty if there is none."""
        try:
            content: dict[str, Any] = json.loads((self._schema(schema) / "build.json").read_bytes())
        except FileNotFoundError:
            return {}
        return content

    def write_record(self, schema: str, content: Mapping[str, Any]) -> None:
        """Replace the build record."""
        folder = self._schema(schema)
        folder.mkdir(parents=True, exist_ok=True)
        with draft_of(folder / "build.json") as draft:
            draft.write_text(json.dumps(content))

    def parts(self, schema: str) -> dict[str, int]:
        """The loaded parts, with their rows."""
        files = self._schema(schema).glob("*.part")
        return {unquote(file.stem): int(file.read_text()) for file in sorted(files)}

    def write_part(self, schema: str, part: str, rows: int) -> None:
        """Record a part; each has its own file, since several processes load."""
        (self._schema(schema) / f"{quote(part, safe='')}.part").write_text(str(rows))

    def remove_schema(self, schema: str) -> None:
        """Remove the build record."""
        shutil.rmtree(self._schema(schema), ignore_errors=True)

    def _schema(self, schema: str) -> Path:
        return self.folder / "schemas" / quote(schema, safe="")

    def totals(self) -> Counter[str]:
        """Commits by operation, and ``rollbacks``, over all past and present sessions."""
        found: Counter[str] = Counter()
        for path in (self.folder / "totals").glob("*.bin"):
            head, newline, numbers = path.read_bytes().partition(b"\n")
            names = head.decode().split()
            if newline and len(numbers) == _NUMBER.size * len(names):
                found.update(dict(zip(names, (value for (value,) in _NUMBER.iter_unpack(numbers)), strict=True)))
        return found


def _require_own(folder: Path) -> None:
    """Create a folder for this account alone; another account may have made one of its name, with links in it."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise InputError(f"{folder} is not a folder that this account alone can write; remove it, or set TMPDIR")


class Totals:
    """Running totals of one session: rollbacks, and the commits of some operations."""

    def __init__(self, state: State, operations: Sequence[str]) -> None:
        names = (ROLLBACKS, *operations)
        head = " ".join(names).encode() + b"\n"
        folder = state.folder / "totals"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{os.getpid()}-{time.monotonic_ns()}.bin"
        path.write_bytes(head + bytes(_NUMBER.size * len(names)))
        with path.open("r+b") as file:
            self._file = mmap.mmap(file.fileno(), 0)
        self._numbers = [0] * len(names)
        self._start = len(head)

    def add(self, index: int) -> int:
        """Count a rollback (index 0) or a commit of an operation (index from 1); return the new total."""
        number = self._numbers[index] + 1
        self._numbers[index] = number
        _NUMBER.pack_into(self._file, self._start + _NUMBER.size * index, number)
        return number

    def close(self) -> None:
        """Close the file."""
        self._file.close()
