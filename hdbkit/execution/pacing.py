"""Keying and thinking: when the next transaction is due (TPC-C 5.2.5).

A terminal keys a transaction, waits for its answer, thinks, and keys the next. The scheduled start is the end of
the last answer plus thinking plus keying; response time counts from there, whenever the client wakes up.
"""

from __future__ import annotations

import time

from hdbkit.contracts import Prepared
from hdbkit.execution.control import Word

_LONGEST_NAP_S = 0.1


class Pacer:
    """Keeps one virtual user to its keying and thinking times."""

    def __init__(self, words: memoryview) -> None:
        self._words = words
        self._free_ns = words[Word.START_AT_NS]

    def wait(self, prepared: Prepared) -> int:
        """Sleep until the transaction is due, or the run ends; the scheduled start in ns."""
        due_ns = self._free_ns + round(prepared.keying_s * 1e9)
        while (now := time.monotonic_ns()) < min(due_ns, self._words[Word.STOP_AT_NS]):
            time.sleep(min((due_ns - now) / 1e9, _LONGEST_NAP_S))
        return due_ns

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """The answer came at ``end_ns``; thinking begins."""
        self._free_ns = end_ns + round(prepared.thinking_s * 1e9)
