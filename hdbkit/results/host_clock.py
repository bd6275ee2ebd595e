"""The clock of a load host, read against the coordinator's by timed exchanges as NTP does.

An exchange gives the difference of the two monotonic clocks, wrong by at most half of what its messages were on the
way. The fastest exchanges of a few seconds make one estimate, their median; between estimates the difference is
interpolated, so a drift is followed. Times are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hdbkit.later import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FASTEST = 5
_ALWAYS_GOOD_NS, _WORSE = 200_000, 3.0
"""Estimates that are so certain, or less uncertain than so many times the best, are used."""
_SPREAD = 4
"""Of the exchanges one in so many, at least one, is used: the fastest."""


@dataclass(frozen=True)
class Exchange:
    """A message there and back: sent and returned by the coordinator's clock, received and answered by the host's."""

    sent_ns: int
    received_ns: int
    answered_ns: int
    returned_ns: int

    @property
    def offset_ns(self) -> float:
        """How far the host's clock is ahead of the coordinator's, if both ways took equally long."""
        return ((self.received_ns - self.sent_ns) + (self.answered_ns - self.returned_ns)) / 2

    @property
    def way_ns(self) -> int:
        """How long the message and its answer were on the way together."""
        return (self.returned_ns - self.sent_ns) - (self.answered_ns - self.received_ns)


@dataclass(frozen=True)
class ClockEstimate:
    """How far a host's clock is ahead at a time of that clock, and by how much this may be wrong."""

    at_ns: int
    offset_ns: float
    uncertainty_ns: float


def reliable(estimates: Sequence[ClockEstimate]) -> tuple[ClockEstimate, ...]:
    """The estimates without those that a busy host spoilt, by their times; the best one is always among them."""
    allowed_ns = max(_ALWAYS_GOOD_NS, _WORSE * min((one.uncertainty_ns for one in estimates), default=0.0))
    good = [one for one in estimates if one.uncertainty_ns <= allowed_ns]
    return tuple(sorted(good, key=lambda one: one.at_ns))


def estimate_clock(exchanges: Sequence[Exchange]) -> ClockEstimate:
    """The median offset of the fastest exchanges, of which there is at least one."""
    fastest = sorted(exchanges, key=lambda one: one.way_ns)[: min(_FASTEST, -(-len(exchanges) // _SPREAD))]
    offsets = [one.offset_ns for one in fastest]
    at_ns = int(np.median([one.answered_ns for one in fastest]))
    uncertainty = fastest[-1].way_ns / 2 + float(np.ptp(offsets)) / 2
    return ClockEstimate(at_ns, float(np.median(offsets)), max(uncertainty, 0.0))


@dataclass(frozen=True)
class HostClock:
    """Converts times of a load host to the coordinator's clock. Without estimates the clocks are the same one."""

    estimates: tuple[ClockEstimate, ...] = ()

    def offset_ns(self, host_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far the host's clock is ahead at these times of it: interpolated, and constant beyond the estimates."""
        if not self.estimates:
            return np.zeros(host_ns.shape)
        first = self.estimates[0].at_ns
        at = np.array([one.at_ns - first for one in self.estimates], dtype=float)
        offsets = np.array([one.offset_ns for one in self.estimates])
        return np.asarray(np.interp((host_ns - first).astype(float), at, offsets), dtype=np.float64)

    def here(self, host_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times of the host on the coordinator's clock."""
        return host_ns - np.rint(self.offset_ns(host_ns)).astype(np.int64)

    def one_here(self, host_ns: float) -> int:
        """One time of the host on the coordinator's clock."""
        return int(self.here(np.array([round(host_ns)], dtype=np.int64))[0])

    def there(self, own_ns: int) -> int:
        """A time of the coordinator on the host's clock, by the newest estimate."""
        return own_ns + (round(self.estimates[-1].offset_ns) if self.estimates else 0)

    @property
    def uncertainty_ns(self) -> float:
        """By how much converted times may be wrong: the worst estimate's share, and half of the largest step between
        two estimates beyond the mean drift."""
        if len(self.estimates) < 2:
            return max((one.uncertainty_ns for one in self.estimates), default=0.0)
        at = np.array([one.at_ns for one in self.estimates], dtype=float)
        offsets = np.array([one.offset_ns for one in self.estimates])
        beyond = np.diff(offsets) - self.drift_ppm / 1e6 * np.diff(at)
        return max(one.uncertainty_ns for one in self.estimates) + float(np.abs(beyond).max()) / 2

    @property
    def drift_ppm(self) -> float:
        """How much faster the host's clock is, in microseconds per second, between first and last estimate."""
        if len(self.estimates) < 2:
            return 0.0
        first, last = self.estimates[0], self.estimates[-1]
        passed_ns = last.at_ns - first.at_ns
        return 1e6 * (last.offset_ns - first.offset_ns) / passed_ns if passed_ns else 0.0

    def records_here(self, records: NDArray[Any]) -> NDArray[Any]:
        """Records of a spool with times on the coordinator's clock."""
        if not self.estimates or not records.size:
            return records
        changed = records.copy()
        moved = np.rint(self.offset_ns(records["end_ns"])).astype(np.int64)
        for name in ("scheduled_ns", "start_ns", "end_ns"):
            changed[name] -= moved  # one shift for a record, so that its durations stay the host's own
        return changed
