"""CPU time of a server of several processes, read from the kernel each second at little cost.

PostgreSQL has a process for each session, and most of them rest: only what ran is read in full.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from typing import NamedTuple

from hdbkit.later import psutil
from hdbkit.processes import children_of, stat_fields

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_ATTEMPTS, _AGAIN_S = 10, 0.001
"""How often a sum over processes is taken that one of them leaves meanwhile."""
_TURNS = 4
"""A child that rests is read at one of so many sums."""
_LISTS_CHILDREN = os.path.exists("/proc/thread-self/children")  # noqa: PTH110
"""Whether this kernel lists the children of a process; else each process of the host is read for its parent."""
_STATE, _PARENT, _USER, _SYSTEM, _WAITED_USER, _WAITED_SYSTEM, _THREADS = 0, 1, 11, 12, 13, 14, 17
"""Positions of the fields of a process."""


class _Reading(NamedTuple):
    """Of a child: what the scheduler counted (empty if that is not all of it), CPU time, whether it rests."""

    counted: bytes
    cpu_s: float
    rests: bool


class TreeCpu:
    """The CPU time of a main process, of those it waited for, and of its children.

    A sum over the living alone would lose the workers that ended. One that ends while the sum is taken would be lost
    or counted twice, so the sum is taken again. A child that rested between its last two readings is read at each
    fourth sum; what it used meanwhile is in the sum when it is read, or when it has ended.
    """

    def __init__(self, pid: int) -> None:
        self._pid, self._sums = pid, 0
        self._children: dict[str, _Reading] = {}

    def total_s(self, *, of_all: bool = True) -> float:
        """CPU seconds so far; NaN if workers end during each attempt, or the server has ended.

        ``of_all`` reads children that rest, too.
        """
        self._sums += 1
        with suppress(OSError):
            before = stat_fields(self._pid)
            for _ in range(_ATTEMPTS):
                children = {child: self._read(child, of_all) for child in self._living()}
                after = stat_fields(self._pid)
                cpu_s = math.fsum(child.cpu_s for child in children.values())
                if not math.isnan(cpu_s) and _waited_s(before) == _waited_s(after):
                    self._children = children
                    return round(_own_s(after) + _waited_s(after) + cpu_s, 6)
                before = after
                time.sleep(_AGAIN_S)
        return math.nan

    def _living(self) -> set[str]:
        """The present children; the kernel's list may lack some while others end."""
        listed = {*children_of(self._pid)} if _LISTS_CHILDREN else _found_children(self._pid)
        return listed | {child for child in self._children.keys() - listed if self._is_child(child)}

    def _is_child(self, process: str) -> bool:
        try:
            return int(stat_fields(int(process))[_PARENT]) == self._pid
        except OSError:
            return False

    def _read(self, child: str, of_all: bool) -> _Reading:
        """A child's reading; its CPU time is NaN if it has ended, since its parent may count it already."""
        last = self._children.get(child)
        if last and last.rests and not of_all and (self._sums + int(child)) % _TURNS:
            return last
        counted = _counted(child)
        if last and counted and last.counted == counted:
            return last._replace(rests=True)
        try:
            fields = stat_fields(int(child))
        except OSError:
            return _Reading(b"", math.nan, False)
        alone = fields[_THREADS] == b"1"  # the scheduler counts by thread
        cpu_s = math.nan if fields[_STATE] in (b"Z", b"X") else _own_s(fields)
        return _Reading(counted if alone else b"", cpu_s, False)


def _found_children(pid: int) -> set[str]:
    try:
        return {str(child.pid) for child in psutil.Process(pid).children()}
    except psutil.NoSuchProcess:
        raise ProcessLookupError from None


def _counted(pid: str) -> bytes:
    """What the scheduler counted of a process's first thread, which changes whenever it runs; empty if unknown."""
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
