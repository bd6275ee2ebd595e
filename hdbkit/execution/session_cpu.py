"""CPU time of the server's threads that serve the load's own sessions, and for how long these had no core.

The CPU time of a whole server includes what works beside transactions: the writer of the log, checkpoints, purge,
parallel workers, sessions that sample. The time of a transaction is that of its own session.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from hdbkit.files import read_lines
from hdbkit.readings import answered
from hdbkit.results.columns import SESSION_LINES

_THREADS_PER_S = 200
"""How many threads are read in a second, on average: thousands of them are read seldom between edges."""


class SessionCpu:
    """The running totals of the threads of sessions, by the kernel's ``schedstat``.

    Args:
        server: the server's process.
        threads: of the sessions: threads of that process, or processes that it started.
    """

    def __init__(self, server: int, threads: Iterable[int]) -> None:
        self._server = server
        self._files: dict[int, Path] = {}
        self._read: dict[int, tuple[float, float]] = {}
        self._cpu_s = self._waited_s = self._due_s = 0.0
        self.follow(threads)

    def follow(self, threads: Iterable[int]) -> None:
        """Read these threads from now on; what the others used stays in the totals."""
        self._files = {thread: file for thread in threads if (file := self._file(thread)) is not None}

    @property
    def threads(self) -> int:
        """How many threads are read."""
        return len(self._files)

    def totals_s(self, *, at_edge: bool = False) -> tuple[float, float]:
        """Seconds of CPU time, and seconds without a core; NaN between edges where there are too many threads.

        What a session used between the last reading and its end is not in them.
        """
        if not at_edge and time.monotonic() < self._due_s:
            return math.nan, math.nan
        self._due_s = time.monotonic() + len(self._files) / _THREADS_PER_S
        for thread, file in self._files.items():
            try:
                cpu_ns, waited_ns, _ = file.read_bytes().split()
            except (OSError, ValueError):
                continue  # the session has ended
            now = int(cpu_ns) / 1e9, int(waited_ns) / 1e9
            cpu_s, waited_s = self._read.get(thread, (0.0, 0.0))
            self._cpu_s += max(now[0] - cpu_s, 0.0)
            self._waited_s += max(now[1] - waited_s, 0.0)
            self._read[thread] = now
        return round(self._cpu_s, 6), round(self._waited_s, 6)

    def _file(self, thread: int) -> Path | None:
        """The kernel's figures of a thread of the server, or of a process that it started; None of any other."""
        own = Path(f"/proc/{self._server}/task/{thread}/schedstat")
        if own.exists():
            return own
        try:
            fields = Path(f"/proc/{thread}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        file = Path(f"/proc/{thread}/schedstat")
        return file if int(fields[1]) == self._server and file.exists() else None


def own_threads(spools: Path, asked: Callable[[], Sequence[Sequence[Any]]]) -> list[int]:
    """The server's threads of the load's sessions, whose numbers are in ``spools``; ``asked`` gives those of all."""
    own = {int(row["number"]) for path in spools.glob(SESSION_LINES.name) for row in read_lines(path)}
    found = answered(asked, []) if own else []
    return [int(thread) for number, thread in found if int(number) in own]
