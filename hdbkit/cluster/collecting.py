"""Moves the files of load hosts to the run folder: in pieces, resumable, compared by size and SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from hdbkit.cluster.connection import Connection
from hdbkit.execution.load_hosts import folder_of

_CHUNK: Final = 4 << 20
_ANSWER_S: Final = 30.0
_AT_ONCE: Final = 4
"""Hosts that send at the same time; each has one piece in memory."""


class Collector:
    """Collects the parts of a run that are handed to it; what it has is not sent again."""

    def __init__(self, spools: Path, connection: Connection) -> None:
        self._spools, self._connection = spools, connection

    def collect(self, actors: Mapping[int, Any]) -> list[int]:
        """Collect the parts of these actors whose users have ended; return the numbers of those that are complete."""
        done, numbers = list[int](), sorted(actors)
        for first in range(0, len(numbers), _AT_ONCE):
            some = numbers[first : first + _AT_ONCE]
            answers = self._connection.all({one: partial(self._part, one, actors[one]) for one in some}, 3600)
            done += [one for one in some if answers.get(one)]
        return done

    async def _part(self, number: int, actor: Any) -> bool:
        """Collect one part; whether it is complete."""
        if not await actor.ended():
            return False
        folder = folder_of(self._spools, number)
        folder.mkdir(parents=True, exist_ok=True)
        for name, size, digest in await actor.files():
            for _ in range(2):
                if await self._file(actor, folder / Path(name).name, size, digest):
                    break
            else:
                return False
        await actor.forget()
        return True

    async def _file(self, actor: Any, path: Path, size: int, digest: str) -> bool:
        """Collect one file, from where an earlier attempt ended; whether it is the same as on the host."""
        if path.is_file() and path.stat().st_size == size and _digest(path) == digest:
            return True
        draft = path.with_name(f"{path.name}.part")
        with draft.open("ab") as file:
            if file.tell() > size:
                file.truncate(0)
            while (at := file.tell()) < size:
                piece = await actor.chunk(path.name, at, min(_CHUNK, size - at))
                if not piece:
                    break
                file.write(piece)
        if _digest(draft) != digest:
            draft.unlink()
            return False
        draft.replace(path)
        return True


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
