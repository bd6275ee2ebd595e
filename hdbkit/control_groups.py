"""Control groups: what a process may use (versions 1 and 2), and CPU time of a set of processes (version 2).

A container, a pod or a service manager limits processes by their cgroup, by each one above it, and by their affinity;
the kernel's totals of cores and memory are those of the whole host all the same. The CPU time of a cgroup includes
that of processes that have ended. A server started by a service manager already has its own cgroup; a private server
gets one if permissions allow.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hdbkit.later import psutil

_ROUNDS = 20
_ROOT = Path("/")


@dataclass(frozen=True)
class GroupLimits:
    """What a process may use: whole cores, bytes of memory, and the CPU quota in cores, if it has one."""

    cores: int
    memory_bytes: int
    quota: float | None


def limits(pid: int | None = None, root: Path = _ROOT) -> GroupLimits:
    """The limits of a process (None: of this one) by its affinity and its control groups; the host's without any."""
    pid = os.getpid() if pid is None else pid
    memory_bytes = [psutil.virtual_memory().total]
    for folder in _levels(pid, "memory", root):
        memory_bytes += _numbers(folder / "memory.max") + _numbers(folder / "memory.high")
        memory_bytes += _numbers(folder / "memory.limit_in_bytes")
    quotas = []
    for folder in _levels(pid, "cpu", root):
        now = _numbers(folder / "cpu.max")
        now = now or _numbers(folder / "cpu.cfs_quota_us") + _numbers(folder / "cpu.cfs_period_us")
        if len(now) == 2:  # of an unlimited group only the period is a number
            quotas.append(now[0] / now[1])
    quota = min(quotas, default=None)
    cores = _affinity(pid)
    return GroupLimits(cores if quota is None else min(cores, math.ceil(quota)), min(memory_bytes), quota)


def groups_with_cpu(*pids: int, root: Path = _ROOT) -> set[Path]:
    """The folders of the control groups that share out the cores for these processes."""
    return {folder for pid in pids for folder in _levels(pid, "cpu", root)}


def throttled_s(groups: Iterable[Path]) -> float:
    """Seconds, over all cores, for which CPU quotas paused these groups; NaN if not counted."""
    counted = [
        number * unit
        for folder in groups
        for word, unit in (("throttled_usec", 1e-6), ("throttled_time", 1e-9))
        if (number := _counted(folder / "cpu.stat", word)) is not None
    ]
    return math.fsum(counted) if counted else math.nan


def _affinity(pid: int) -> int:
    """The cores on which a process may run; as for this one, if the process cannot be read."""
    if not hasattr(os, "sched_getaffinity"):
        return psutil.cpu_count() or 1
    try:
        return len(os.sched_getaffinity(pid))
    except OSError:
        return len(os.sched_getaffinity(0))


def _levels(pid: int, controller: str = "", root: Path = _ROOT) -> list[Path]:
    """The cgroups with a process, from its own up to the one that is mounted; without a controller of version 2.

    Within a container its own cgroup may be the one that is mounted: under its path on the host, or as ``/``.
    """
    try:
        groups = [line.split(":", 2) for line in (root / f"proc/{pid}/cgroup").read_text("utf-8").splitlines()]
        mounts = [line.split() for line in (root / "proc/self/mountinfo").read_text("utf-8").splitlines()]
    except OSError:
        return []
    return [folder for words in mounts for folder in _of_mount(words, groups, controller, root)]


def _of_mount(words: list[str], groups: list[list[str]], controller: str, root: Path) -> Iterator[Path]:
    kind = words[words.index("-") + 1]
    if kind != "cgroup2" and not (kind == "cgroup" and controller in words[-1].split(",")):
        return
    wanted = "" if kind == "cgroup2" else controller
    path = next((PurePosixPath(path) for _, names, path in groups if wanted in names.split(",")), None)
    if path is None:
        return
    top = root / words[4].lstrip("/")
    if path.is_relative_to(words[3]) and ".." not in path.parts:
        inside = path.relative_to(words[3])
        yield from (top / one for one in (inside, *inside.parents) if one != PurePosixPath())
    yield top


def _numbers(path: Path) -> list[int]:
    """The numbers of a file of limits that are limits; none of ``max``, of -1 and of a file that is not there."""
    try:
        return [int(word) for word in path.read_text("ascii").split() if word.isdigit()]
    except OSError:
        return []


def _counted(path: Path, word: str) -> int | None:
    try:
        words = path.read_text("ascii").split()
        return int(words[words.index(word) + 1])
    except (OSError, ValueError, IndexError):
        return None


def cgroup_of(pid: int) -> Path | None:
    """The folder of a process's cgroup; None if it is in the root cgroup."""
    levels = _levels(pid)
    return levels[0] if len(levels) > 1 else None


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
    used = _counted(cgroup / "cpu.stat", "usage_usec")
    return math.nan if used is None else used / 1e6


def move_to_cgroup(pid: int, name: str, note: Callable[[Path], object]) -> None:
    """Move a process and its descendants into a new cgroup ``name`` below our own; does nothing without permission.

    ``note`` is called with the cgroup's folder before it is created.
    """
    levels = _levels(os.getpid())
    if not levels:
        return
    cgroup = levels[0] / name
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
