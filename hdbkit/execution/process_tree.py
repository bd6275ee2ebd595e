"""CPU time of a server of several processes, read from the kernel each second at little cost.

PostgreSQL has a process for each session, and most of them rest: only what ran since the last reading is read in full.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress

from hdbkit.processes import children_of, stat_fields

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_ATTEMPTS, _AGAIN_S = 10, 0.001
"""How often a sum over processes is taken that one of them leaves meanwhile."""
_STATE, _PARENT, _USER, _SYSTEM, _WAITED_USER, _WAITED_SYSTEM, _THREADS = 0, 1, 11, 12, 13, 14, 17
"""Positions of the fields of a process."""


class TreeCpu:
    """The CPU time of a main process, of those it waited for, and of its children.

    A sum over the living alone would lose the workers that ended. One that ends while the sum is taken would be lost
    or counted twice, so the sum is taken again.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._read: dict[str, tuple[bytes, float]] = {}

    def total_s(self) -> float:
        """CPU seconds so far; NaN if workers end during each attempt, or the server has ended."""
        with suppress(OSError):
            before = stat_fields(self._pid)
            for _ in range(_ATTEMPTS):
                living = {child: self._used(child) for child in self._children()}
                after = stat_fields(self._pid)
                used_s = math.fsum(seconds for _, seconds in living.values())
                if not math.isnan(used_s) and _waited_s(before) == _waited_s(after):
                    self._read = living
                    return round(_own_s(after) + _waited_s(after) + used_s, 6)
                before = after
                time.sleep(_AGAIN_S)
        return math.nan

    def _children(self) -> set[str]:
        """The present children; the kernel's list may lack some while others end."""
        listed = {*children_of(self._pid)}
        return listed | {child for child in self._read.keys() - listed if self._is_child(child)}

    def _is_child(self, process: str) -> bool:
        try:
            return int(stat_fields(int(process))[_PARENT]) == self._pid
        except OSError:
            return False

    def _used(self, child: str) -> tuple[bytes, float]:
        """What the scheduler counted of a child (empty if that is not all of it), and its CPU seconds.

        They are NaN if it has ended, since its parent may count it already.
        """
        counted = _counted(child)
        if counted and (before := self._read.get(child)) and before[0] == counted:
            return before
        try:
            fields = stat_fields(int(child))
        except OSError:
            return b"", math.nan
        alone = fields[_THREADS] == b"1"  # what the scheduler counted is of the first thread
        return counted if alone else b"", math.nan if fields[_STATE] in (b"Z", b"X") else _own_s(fields)


def _counted(pid: str) -> bytes:
    """What the scheduler counted of the first thread of a process, which changes whenever it runs; empty if unknown."""
    try:
        file = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 100)
    except OSError:
        return b""
    finally:
        os.close(file)


def _own_s(fields: list[bytes]) -> float:
    return (int(fields[_USER]) + int(fields[_SYSTEM])) * _TICK_S


def _waited_s(fields: list[bytes]) -> float:
    return (int(fields[_WAITED_USER]) + int(fields[_WAITED_SYSTEM])) * _TICK_S
