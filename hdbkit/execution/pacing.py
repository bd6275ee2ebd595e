"""Keying and thinking times: when the next operation of a virtual user is due.

A user keys an operation, waits for its answer, thinks, and keys the next. The scheduled start is the end of the last
answer plus thinking plus keying; response time counts from there, whenever the client wakes up.
"""

from __future__ import annotations

import time
from typing import Protocol

from hdbkit.contracts import Prepared
from hdbkit.execution.control import Field

_MAX_SLEEP_S = 0.1


class Pacing(Protocol):
    """Paces the operations of a virtual user: the measured loop calls it before and after each."""

    def due_ns(self, prepared: Prepared) -> int:
        """When the operation is due, on the monotonic clock."""
        ...

    def wait(self, prepared: Prepared) -> int:
        """Wait until the operation may begin; the scheduled start in ns, 0 if none was scheduled."""
        ...

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """The operation ended at ``end_ns``."""
        ...


class Pacer:
    """Keeps one virtual user to its keying and thinking times."""

    def __init__(self, fields: memoryview, start_ns: int) -> None:
        self._fields = fields
        self._free_ns = start_ns

    def due_ns(self, prepared: Prepared) -> int:
        """When the operation is due, on the monotonic clock."""
        return self._free_ns + round(prepared.keying_s * 1e9)

    def wait(self, prepared: Prepared) -> int:
        """Sleep until the operation is due, or the run ends; the scheduled start in ns."""
        due_ns = self.due_ns(prepared)
        sleep_until(due_ns, self._fields)
        return due_ns

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """Begin thinking at ``end_ns``, the end of the operation."""
        self._free_ns = end_ns + round(prepared.thinking_s * 1e9)


def sleep_until(at_ns: int, fields: memoryview) -> None:
    """Sleep until this time on the monotonic clock, or until the run ends."""
    while (now := time.monotonic_ns()) < min(at_ns, fields[Field.STOP_AT_NS]):
        time.sleep(min((at_ns - now) / 1e9, _MAX_SLEEP_S))
