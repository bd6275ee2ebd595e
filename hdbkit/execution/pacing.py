"""The schedule of a virtual user: when its next operation is due.

Without one, a user begins each operation as soon as the one before has ended. With keying and thinking times, it keys
an operation, waits for its answer, thinks, and keys the next: the scheduled start is the end of the last answer plus
thinking plus keying. In an open loop it is the next arrival, whether or not the operation before has ended. Response
time counts from the scheduled start, whenever the client wakes up.
"""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from hdbkit.arrivals import Times
from hdbkit.config import Load
from hdbkit.contracts import Prepared, ThinkTimes
from hdbkit.execution.control import NEVER_NS, Field

_MAX_SLEEP_S = 0.1
MAX_MEANS: Final = 10.0
"""Thinking times are limited to this multiple of their mean (TPC-C 5.2.5.4)."""


class Pacing(Protocol):
    """Paces the operations of a virtual user: the measured loop calls it before and after each."""

    def due_ns(self, prepared: Prepared) -> int:
        """When the operation is due, on the monotonic clock."""

    def wait(self, prepared: Prepared) -> int:
        """Wait until the operation may begin; the scheduled start in ns, 0 if none was scheduled."""

    def begin(self, prepared: Prepared) -> int:
        """Begin the operation that is due, without waiting; the scheduled start in ns, 0 if none was scheduled."""

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """The operation ended at ``end_ns``."""


class Timetable(ABC):
    """A schedule that knows when the next operation is due."""

    def __init__(self, fields: memoryview) -> None:
        self._fields = fields

    @abstractmethod
    def due_ns(self, prepared: Prepared) -> int:
        """When the operation is due, on the monotonic clock."""

    def wait(self, prepared: Prepared) -> int:
        """Sleep until the operation is due, or the run ends; the scheduled start in ns."""
        due_ns = self.due_ns(prepared)
        sleep_until(due_ns, self._fields)
        return due_ns

    def begin(self, prepared: Prepared) -> int:
        """The scheduled start in ns."""
        return self.due_ns(prepared)


class Pacer(Timetable):
    """Keeps one virtual user to its keying and thinking times.

    Thinking times have a negative exponential distribution, limited to ten times its mean (TPC-C 5.2.5.4). They are
    drawn apart from the inputs of the operations, so that these are the same with and without them. A user begins
    with the longest: keying times are constants, with which thousands of sessions would all send at the same moment.

    Args:
        waits: the times of each operation, in the order of the workload's operations.
        load: has the factors of these times.
        seed: of the thinking times.
        fields: the control page.
        start_ns: when the user starts.
    """

    def __init__(self, waits: Sequence[ThinkTimes], load: Load, seed: int, fields: memoryview, start_ns: int) -> None:
        self._keying_ns = [round(one.keying_s * load.keying_scale * 1e9) for one in waits]
        self._thinking_ns = [one.thinking_s * load.thinking_scale * 1e9 for one in waits]
        self._draw = random.Random(f"thinking {seed}").expovariate
        super().__init__(fields)
        self._think(start_ns, max(self._thinking_ns))

    def due_ns(self, prepared: Prepared) -> int:
        return self._free_ns + self._keying_ns[prepared.operation]

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """Begin thinking at ``end_ns``, the end of the operation."""
        self._think(end_ns, self._thinking_ns[prepared.operation])

    def _think(self, from_ns: int, mean_ns: float) -> None:
        self._free_ns = from_ns + round(min(self._draw(1), MAX_MEANS) * mean_ns)


class OpenLoop(Timetable):
    """Keeps one virtual user to its arrivals, which do not wait for it: an operation may begin late.

    Args:
        arrivals: when its operations are due, in microseconds since the run's start.
        latency_limit_ms: an operation that could only begin later than this after it was due is skipped; 0: none.
        fields: the control page.
        run_start_ns: the common start of the run.
    """

    def __init__(
        self, arrivals: Iterable[Times], latency_limit_ms: float, fields: memoryview, run_start_ns: int
    ) -> None:
        super().__init__(fields)
        self._arrivals: Iterator[int] = (
            run_start_ns + 1000 * at_us for block in arrivals for at_us in block.tolist()
        )
        self._limit_ns = round(latency_limit_ms * 1e6)
        self._due_ns = next(self._arrivals)

    def due_ns(self, prepared: Prepared) -> int:
        """When the operation is due, on the monotonic clock; what is too late by now is skipped."""
        if self._limit_ns:
            oldest_ns = time.monotonic_ns() - self._limit_ns
            while self._due_ns < oldest_ns:
                self._due_ns = next(self._arrivals)
        return self._due_ns

    def begin(self, prepared: Prepared) -> int:
        """The scheduled start in ns; nothing is skipped any more."""
        return self._due_ns

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """Go on to the next arrival; an operation that was not recorded has not taken one."""
        self._due_ns = next(self._arrivals)


class ActiveUsers:
    """Lets a virtual user pause: while the load's steps have fewer users, or in the slices of the other side.

    Args:
        active_ns: from when until when it is active, on the monotonic clock, in order.
        inner: its schedule while it is active; None: a closed loop.
        fields: the control page.
    """

    def __init__(self, active_ns: Iterable[tuple[int, int]], inner: Pacing | None, fields: memoryview) -> None:
        self._active_ns, self._inner, self._fields = iter(active_ns), inner, fields
        self._from_ns = self._until_ns = 0

    def due_ns(self, prepared: Prepared) -> int:
        """When the operation is due, not before the user is active."""
        return self._active_from(self._inner.due_ns(prepared) if self._inner else time.monotonic_ns())

    def wait(self, prepared: Prepared) -> int:
        """Sleep until the operation is due, or the run ends; the scheduled start in ns, 0 in a closed loop."""
        due_ns = self.due_ns(prepared)
        sleep_until(due_ns, self._fields)
        return due_ns if self._inner else 0

    def begin(self, prepared: Prepared) -> int:
        """The scheduled start in ns, 0 in a closed loop."""
        return self._active_from(self._inner.begin(prepared)) if self._inner else 0

    def done(self, prepared: Prepared, end_ns: int) -> None:
        """Pass the end of an operation on."""
        if self._inner:
            self._inner.done(prepared, end_ns)

    def _active_from(self, due_ns: int) -> int:
        """When an operation that is due then may begin; each is due later than the one before."""
        while due_ns >= self._until_ns and self._from_ns < NEVER_NS:
            self._from_ns, self._until_ns = next(self._active_ns, (NEVER_NS, NEVER_NS))
        return max(due_ns, self._from_ns)


def sleep_until(at_ns: int, fields: memoryview) -> None:
    """Sleep until this time on the monotonic clock, or until the run ends."""
    while (now := time.monotonic_ns()) < min(at_ns, fields[Field.STOP_AT_NS]):
        time.sleep(min((at_ns - now) / 1e9, _MAX_SLEEP_S))
