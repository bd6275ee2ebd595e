"""The schedule of a run in progress: offered and achieved rate, lateness, backlog, busy sessions.

All arrivals of an open loop follow from its plan, so what is due and has no record yet is known without asking the
clients. Other schedules follow from the answers; of these only what has ended is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hdbkit.arrivals import Times, due_us
from hdbkit.config import Load
from hdbkit.later import numpy as np
from hdbkit.results.manifest import Manifest
from hdbkit.results.spool import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AHEAD_S: Final = 30.0
_AHEAD: Final = 1_000_000
"""Arrivals are drawn for so many seconds at once, and not more than about so many of them."""
_NEVER_US: Final = (1 << 63) - 1


@dataclass(frozen=True)
class ScheduleTick:
    """The schedule since the last tick; what is not known is NaN."""

    achieved_per_s: float
    """Operations that ended, also those that failed."""
    busy: float
    """Sessions with an operation that is due and has not ended: in an open loop now, else their mean over time by
    the operations that ended (Little's law)."""
    late_ms: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    """p50, p99 and maximum of start - scheduled start of the operations that ended."""
    offered_per_s: float = math.nan
    """Operations that were due, of an open loop."""
    backlog: float = math.nan
    """Operations that are due and wait for an earlier one of their session, of an open loop."""

    @property
    def text(self) -> str:
        """For example ``offered 200/s, late p99 1.2 ms, backlog 0, busy sessions 12``."""
        known = {
            "offered": f"{self.offered_per_s:,.4g}/s",
            "late p99": f"{self.late_ms[1]:.3g} ms",
            "backlog": f"{self.backlog:,.0f}",
            "busy sessions": f"{self.busy:,.3g}" if self.busy < 100 else f"{self.busy:,.0f}",
        }
        return ", ".join(f"{name} {value}" for name, value in known.items() if not value.startswith("nan"))


class LiveSchedule:
    """Compares the schedule of a run with its records, from its start or from a first look on.

    At a first look at a run in progress, sessions without a new record are assumed to have kept their schedule.
    """

    def __init__(self, manifest: Manifest, start_ns: int) -> None:
        load = manifest.plan.load
        self._paced, self._start_ns = manifest.paced, start_ns
        self._limit_us = round(1000 * load.latency_limit_ms) or _NEVER_US
        self._iterations = load.iterations or _NEVER_US
        self._ended = np.zeros(load.sessions, np.int64)
        self._newest_us: NDArray[np.int64] | None = None
        self._arrivals = _Arrivals(load, manifest.rate_per_s) if manifest.rate_per_s is not None else None
        self._due_us: Times = np.empty(0, np.int64)
        self._of: Times = np.empty(0, np.int64)

    @staticmethod
    def of(manifest: Manifest, start_ns: int) -> LiveSchedule | None:
        """What watches the run; None if its sessions have no schedule, and a process each."""
        shared = any(len(one) > 1 for one in manifest.plan.load.clients)
        return LiveSchedule(manifest, start_ns) if manifest.paced or shared else None

    def at(self, pieces: Sequence[Records], since_ns: int, now_ns: int) -> ScheduleTick:
        """The schedule from ``since_ns`` to ``now_ns``; ``pieces`` are the records of operations that ended then."""
        seconds = max((now_ns - since_ns) / 1e9, 1e-6)
        found: dict[str, Any] = {"achieved_per_s": 0.0, "busy": 0.0}
        if pieces:
            records = np.concatenate(pieces)
            found["achieved_per_s"] = records.size / seconds
            found["busy"] = float((records["end_ns"] - records["scheduled_ns"]).sum()) / 1e9 / seconds
            if self._paced:
                late_ms = (records["start_ns"] - records["scheduled_ns"]) / 1e6
                found["late_ms"] = (*map(float, np.quantile(late_ms, (0.5, 0.99))), float(late_ms.max()))
        if self._arrivals is not None:
            found |= self._open(self._arrivals, pieces, since_ns, now_ns)
        return ScheduleTick(**found)

    def _open(self, arrivals: _Arrivals, pieces: Sequence[Records], since_ns: int, now_ns: int) -> dict[str, float]:
        """Offered rate, busy sessions and backlog of an open loop."""
        since_us, now_us = ((one - self._start_ns) // 1000 for one in (since_ns, now_ns))
        newest_us = self._newest_us
        if newest_us is None:
            newest_us = np.full(self._ended.size, since_us - 1)
            for piece in pieces:  # what is older than the first look may be late
                newest_us[piece["virtual_user"]] = -1
        for piece in pieces:
            sessions = piece["virtual_user"]
            np.maximum.at(newest_us, sessions, (piece["scheduled_ns"] - self._start_ns) // 1000)
            np.add.at(self._ended, sessions, 1)
        newest_us[self._ended >= self._iterations] = _NEVER_US
        self._newest_us = newest_us
        offered = 0
        for due, of in arrivals.until(now_us):
            offered += int((due > since_us).sum())
            new = due > newest_us[of]
            self._due_us, self._of = np.append(self._due_us, due[new]), np.append(self._of, of[new])
        left = self._due_us > newest_us[self._of]
        self._due_us, self._of = self._due_us[left], self._of[left]
        _, first = np.unique(self._of, return_index=True)
        waiting = np.delete(self._due_us, first)
        backlog = int((waiting > now_us - self._limit_us).sum())
        return {"offered_per_s": offered * 1e6 / max(now_us - since_us, 1), "busy": first.size, "backlog": backlog}


class _Arrivals:
    """The arrivals of all sessions of an open loop, in the order of their times."""

    def __init__(self, load: Load, rate_per_s: float) -> None:
        self._blocks = [due_us(load, rate_per_s, index) for index in range(load.sessions)]
        self._rest: list[Times] = [np.empty(0, np.int64)] * len(self._blocks)
        self._step_us = round(1e6 * min(_AHEAD_S, max(_AHEAD / rate_per_s, 0.1)))
        self._drawn_us = 0
        self._due_us: Times = np.empty(0, np.int64)
        self._of: Times = np.empty(0, np.int64)

    def until(self, now_us: int) -> Iterator[tuple[Times, Times]]:
        """The next arrivals until this time and the session of each, in pieces."""
        while True:
            end = int(np.searchsorted(self._due_us, now_us, "right"))
            yield self._due_us[:end], self._of[:end]
            self._due_us, self._of = self._due_us[end:], self._of[end:]
            if self._drawn_us > now_us:
                return
            self._draw()

    def _draw(self) -> None:
        """Draw those of the next interval."""
        self._drawn_us += self._step_us
        pieces = [self._next(session) for session in range(len(self._blocks))]
        due = np.concatenate(pieces)
        order = np.argsort(due, kind="stable")
        self._due_us, self._of = due[order], np.repeat(np.arange(len(pieces)), [one.size for one in pieces])[order]

    def _next(self, session: int) -> Times:
        rest = self._rest[session]
        while not rest.size or rest[-1] < self._drawn_us:
            rest = np.append(rest, next(self._blocks[session]))
        end = int(np.searchsorted(rest, self._drawn_us))
        self._rest[session] = rest[end:]
        return rest[:end]
