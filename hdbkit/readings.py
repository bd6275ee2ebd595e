"""What is read of a server or of a host at one moment."""

from __future__ import annotations

from dataclasses import dataclass

IDLE_BUSY_PCT = 10.0
"""A host does little while at most this share of its cores' time is busy."""


@dataclass(frozen=True)
class Footprint:
    """How large the target's database is, and how much the server keeps in its own cache, which ``cache`` names."""

    data_bytes: int
    cache: str
    cache_bytes: int


@dataclass(frozen=True)
class HostLoad:
    """What a host does: running totals of all its cores' CPU time, and what waits to be written to disks."""

    busy_s: float
    total_s: float
    dirty_bytes: int
    memory_bytes: int
