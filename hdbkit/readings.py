"""Readings of a server or host at one point in time."""

from __future__ import annotations

from dataclasses import dataclass

IDLE_BUSY_PCT = 10.0
"""A host counts as idle up to this CPU utilization, in percent of all cores."""


@dataclass(frozen=True)
class Footprint:
    """The size of the target's database, and of the server's cache; ``cache`` is the name of its setting."""

    data_bytes: int
    cache: str
    cache_bytes: int


@dataclass(frozen=True)
class HostLoad:
    """Load of a host: running totals of CPU time over all cores, dirty page cache, and memory size."""

    busy_s: float
    total_s: float
    dirty_bytes: int
    memory_bytes: int
