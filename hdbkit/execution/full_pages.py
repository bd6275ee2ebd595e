"""When the full-page images that follow a checkpoint are over.

The first change of each page after a checkpoint goes into the log as a whole page: 0.2 of them a transaction at
first, 0.04 after 40 s. A window that begins among them measures the checkpoint more than the load.
"""

from __future__ import annotations

from collections.abc import Mapping

FEW = 0.2
"""They are over when their rate is at most this share of the first ..."""
NONE = 0.02
"""... or when there are at most so many of them a transaction."""
_FEWEST = 100
"""Transactions that a rate is made of."""


class FullPages:
    """The rate of full-page images a transaction, from sample to sample of the server's running totals."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None
        self._first: float | None = None
        self.over = False

    def see(self, totals: Mapping[str, float]) -> None:
        """Take a sample. A server that counts no such images has none."""
        if "wal_fpi" not in totals:
            self.over = True
            return
        now = totals["wal_fpi"], totals["commits"] + totals["rollbacks"]
        before = self._before if self._before and self._before[1] <= now[1] else now  # a crash sets them back
        self._before = before
        if now[1] < before[1] + _FEWEST:
            return
        rate = (now[0] - before[0]) / (now[1] - before[1])
        self._before, self._first = now, rate if self._first is None else self._first
        self.over = self.over or rate <= max(FEW * self._first, NONE)
