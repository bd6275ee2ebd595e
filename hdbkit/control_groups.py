"""Control groups of the kernel, version 2: what it counts for a group of processes, those that ended included.

A server that a service manager started has a group of its own already; a private one is given one where we may.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import psutil

_ROUNDS = 20


def cgroup_of(pid: int) -> Path | None:
    """The folder of a process's group; None where there is none but the root's."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::")), "/").strip("/")
    root = _hierarchy()
    return root / path if root and path else None


def own_cgroup(pid: int) -> Path | None:
    """The group of a process and its descendants, where nobody else is in it."""
    group = cgroup_of(pid)
    if group is None or not math.isfinite(cpu_s(group)):
        return None
    others = _members(group) - _family(pid)
    return None if others & (_members(group) - _family(pid)) else group  # one that ended in between is no other


def cpu_s(group: Path) -> float:
    """The CPU time of all that ran in a group so far, in seconds; NaN when it is gone."""
    try:
        words = (group / "cpu.stat").read_text(encoding="ascii").split()
        return int(words[words.index("usage_usec") + 1]) / 1e6
    except (OSError, ValueError, IndexError):
        return math.nan


def move_to_cgroup(pid: int, name: str, note: Callable[[Path], object]) -> None:
    """Put a process and its descendants into a group ``name`` below our own; where we may not, nothing is done.

    ``note`` is told the group's folder before it is made.
    """
    root = _hierarchy()
    if root is None:
        return
    group = (cgroup_of(os.getpid()) or root) / name
    try:
        note(group)
        group.mkdir(exist_ok=True)
        for _ in range(_ROUNDS):
            outside = _family(pid) - _members(group)
            if not outside:
                return
            for one in sorted(
                outside, key=lambda one: one != pid
            ):  # the parent first: its next children are born in it
                _move(one, group)
    except OSError:
        return


def _move(pid: int, group: Path) -> None:
    try:
        (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
    except ProcessLookupError:
        return


def _members(group: Path) -> set[int]:
    try:
        return {int(word) for word in (group / "cgroup.procs").read_text(encoding="ascii").split()}
    except OSError:
        return set()


def _family(pid: int) -> set[int]:
    try:
        return {pid, *(one.pid for one in psutil.Process(pid).children(recursive=True))}
    except psutil.Error:
        return {pid}


def _hierarchy() -> Path | None:
    """Where the hierarchy of groups is mounted."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None
    return next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), None)
