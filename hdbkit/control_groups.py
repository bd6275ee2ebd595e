"""Control groups (cgroup v2): CPU time of a set of processes, including those that have ended.

A server started by a service manager already has its own cgroup; a private server gets one if permissions allow.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import psutil

_ROUNDS = 20


def cgroup_of(pid: int) -> Path | None:
    """The folder of a process's cgroup; None if it is in the root cgroup."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::")), "/").strip("/")
    root = _hierarchy()
    return root / path if root and path else None


def own_cgroup(pid: int) -> Path | None:
    """The cgroup of a process, if it has no other members than the process and its descendants."""
    cgroup = cgroup_of(pid)
    if cgroup is None or not math.isfinite(cpu_s(cgroup)):
        return None
    others = _members(cgroup) - _family(pid)
    return (
        None if others & (_members(cgroup) - _family(pid)) else cgroup
    )  # checked twice: processes may end in between


def cpu_s(cgroup: Path) -> float:
    """The CPU time that a cgroup has used, in seconds; NaN if it no longer exists."""
    try:
        words = (cgroup / "cpu.stat").read_text(encoding="ascii").split()
        return int(words[words.index("usage_usec") + 1]) / 1e6
    except (OSError, ValueError, IndexError):
        return math.nan


def move_to_cgroup(pid: int, name: str, note: Callable[[Path], object]) -> None:
    """Move a process and its descendants into a new cgroup ``name`` below our own; does nothing without permission.

    ``note`` is called with the cgroup's folder before it is created.
    """
    root = _hierarchy()
    if root is None:
        return
    cgroup = (cgroup_of(os.getpid()) or root) / name
    try:
        note(cgroup)
        cgroup.mkdir(exist_ok=True)
        for _ in range(_ROUNDS):
            outside = _family(pid) - _members(cgroup)
            if not outside:
                return
            for one in sorted(
                outside, key=lambda one: one != pid
            ):  # the parent first, so that its new children start in the cgroup
                _move(one, cgroup)
    except OSError:
        return


def _move(pid: int, cgroup: Path) -> None:
    try:
        (cgroup / "cgroup.procs").write_text(str(pid), encoding="ascii")
    except ProcessLookupError:
        return


def _members(cgroup: Path) -> set[int]:
    try:
        return {int(word) for word in (cgroup / "cgroup.procs").read_text(encoding="ascii").split()}
    except OSError:
        return set()


def _family(pid: int) -> set[int]:
    try:
        return {pid, *(one.pid for one in psutil.Process(pid).children(recursive=True))}
    except psutil.Error:
        return {pid}


def _hierarchy() -> Path | None:
    """The mount point of the cgroup hierarchy."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None
    return next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), None)
