"""Facts and load of this host. The counters are cumulative: two samples give a rate."""

from __future__ import annotations

import math
import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.control_groups import cpu_s as cgroup_cpu_s
from hdbkit.control_groups import groups_with_cpu, limits, own_cgroup, throttled_s
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, TransactionError
from hdbkit.execution.host_counters import LOOPBACK_INTERFACE, Figure, HostReader
from hdbkit.execution.process_tree import TreeCpu
from hdbkit.execution.session_cpu import SessionCpu
from hdbkit.later import psutil
from hdbkit.processes import boot_id
from hdbkit.readings import HostLoad
from hdbkit.results import columns

_DMI = Path("/sys/class/dmi/id")
DEVICES = "devices"
"""The key of a sample with the figures of single devices: name, device, value."""
_PARTS = {
    "cpu_user_s": ("user", "nice"),
    "cpu_interrupts_s": ("irq", "softirq"),
    "cpu_system_s": ("system", "irq", "softirq"),
}
"""Columns that are several modes of the CPU time together."""


def this_host_facts(pid: int | None = None) -> dict[str, Any]:
    """The facts of this host that a reader needs to assess a result; cores and memory as a process may use them."""
    usable = limits(pid)
    return {
        "name": platform.node(),
        "boot_id": _boot_id(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": usable.cores,
        "memory_bytes": usable.memory_bytes,
        "machine": " ".join(filter(None, (_line(_DMI / name) for name in ("sys_vendor", "product_name")))) or None,
        "storage": ", ".join(_disks()) or None,
        "network": ", ".join(_interfaces()) or None,
        "load_1min_at_start": round(os.getloadavg()[0], 2),
    }


def _line(path: Path) -> str:
    """The text of a file of the kernel; empty if there is none or it may not be read."""
    try:
        return " ".join(path.read_text(errors="replace").split())
    except OSError:
        return ""


def _disks() -> Iterator[str]:
    """Disks with a device: ``nvme0n1 (Amazon Elastic Block Store, 100 GB)``."""
    for disk in sorted(Path("/sys/block").glob("*/device")):
        blocks, model = _line(disk.parent / "size"), _line(disk / "model")
        size = f"{int(blocks) * 512 / 1e9:,.0f} GB" if blocks.isdecimal() else ""
        yield f"{disk.parent.name} ({', '.join(filter(None, [model, size]))})"


def _interfaces() -> Iterator[str]:
    """Network interfaces with a device: ``eth0 (ena, 10000 Mbit/s)``."""
    for device in sorted(Path("/sys/class/net").glob("*/device")):
        speed = _line(device.parent / "speed")  # -1, or an error, where the driver knows none
        driver = (device / "driver").resolve().name if (device / "driver").exists() else ""
        known = [driver, f"{speed} Mbit/s" if speed.isdecimal() else ""]
        yield f"{device.parent.name} ({', '.join(filter(None, known))})"


def server_facts(target: Target) -> dict[str, Any]:
    """The facts of this host, on which the target's server runs; cores and memory as the server may use them."""
    engine = database(target)
    try:
        with closing(engine.connect(target)) as session:
            return this_host_facts(engine.server_process(session))
    except (HdbkitError, TransactionError):
        return this_host_facts()  # as this process may use them


def kernel_limits(daemon: str) -> dict[str, list[int]]:
    """What the kernel of this host allows: shared memory, semaphores, huge pages, and memory that a daemon may lock.

    By the names of sysctl; ``memlock`` and ``Hugepagesize`` in bytes. What cannot be read is missing.
    """
    texts = {f"kernel.{name}": _line(Path("/proc/sys/kernel", name)) for name in ("shmmax", "shmall", "sem")}
    texts["vm.nr_hugepages"] = _line(Path("/proc/sys/vm/nr_hugepages"))
    found = {name: [int(word) for word in text.split()] for name, text in texts.items() if text}
    if size := re.search(r"Hugepagesize: (\d+) kB", _line(Path("/proc/meminfo"))):
        found["Hugepagesize"] = [1024 * int(size[1])]
    for process in psutil.process_iter(["name"]) if daemon else ():
        limit = re.search(r"Max locked memory (\d+) ", _line(Path(f"/proc/{process.pid}/limits")))
        if process.info["name"] == daemon and limit:
            found["memlock"] = [int(limit[1])]
    return found


class ServerCpu:
    """The CPU time of a server on this host: of its own control group if it has one, else of its processes."""

    def __init__(self, pid: int) -> None:
        self.pid, self._cgroup = pid, own_cgroup(pid)
        self._tree = TreeCpu(pid)

    def total_s(self, *, at_edge: bool = True) -> float:
        """CPU seconds so far; NaN if the server has ended. Processes that rest are read at edges, seldom between."""
        return cgroup_cpu_s(self._cgroup) if self._cgroup else self._tree.total_s(of_all=at_edge)


class HostSamples:
    """Rows of the table ``host``, without their times; taken in the supervisor's process."""

    def __init__(self) -> None:
        self._reader = HostReader()
        self._groups: dict[ServerCpu | None, set[Path]] = {}

    def _groups_with(self, server: ServerCpu | None) -> set[Path]:
        """The control groups of this process and the server, which are looked up once."""
        if server not in self._groups:
            self._groups = {server: groups_with_cpu(os.getpid(), *([server.pid] if server else []))}
        return self._groups[server]

    def take(
        self, server: ServerCpu | None = None, sessions: SessionCpu | None = None, *, at_edge: bool = False
    ) -> dict[str, Any]:
        """The present figures of this host, of its devices together and of each, and of a server and its sessions."""
        unknown = math.nan, math.nan

        def of_processes() -> Iterator[Figure]:
            yield "cpu_throttled_s", "", throttled_s(self._groups_with(server))
            yield "server_cpu_s", "", server.total_s(at_edge=at_edge) if server else math.nan
            used_s, waited_s = sessions.totals_s(at_edge=at_edge) if sessions else unknown
            yield "sessions_cpu_s", "", used_s
            yield "sessions_waited_s", "", waited_s
            yield "supervisor_cpu_s", "", time.process_time()

        found, row = self._reader.read(of_processes), dict[str, Any]()
        for name, device, value in found:
            row[name] = row[name] + value if device and name in row else value
        for part, modes in _PARTS.items():
            row[part] = sum(row.get(f"cpu_{mode}_s", math.nan) for mode in modes)
        devices = [one for one in found if one[1] not in ("", LOOPBACK_INTERFACE)]
        return {**{name: row[name] for name in columns.HOST if name in row}, DEVICES: devices}


def load() -> HostLoad:
    """The present load of this host; waiting for a disk does not count as busy."""
    cpu = psutil.cpu_times()
    busy_s = cpu.user + cpu.nice + cpu.system + cpu.irq + cpu.softirq + cpu.steal
    total_s = busy_s + cpu.idle + cpu.iowait
    return HostLoad(busy_s, total_s, _unwritten_bytes(), psutil.virtual_memory().total)


def _unwritten_bytes() -> int:
    """Bytes of dirty file pages that are not on disk yet; 0 if the kernel does not report them."""
    try:
        lines = [line.split() for line in Path("/proc/meminfo").read_text().splitlines()]
    except OSError:
        return 0
    return sum(1024 * int(words[1]) for words in lines if words[0] in ("Dirty:", "Writeback:"))


def process_cpu_s(pid: int) -> float:
    """CPU time of one process, to the nanosecond if the kernel reports it; NaN if the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        pass
    try:
        return sum(psutil.Process(pid).cpu_times()[:2])
    except psutil.Error:
        return math.nan


def waited_for_core_s(thread: int) -> float:
    """Seconds for which a thread (a process: its first) was ready to run and had no core; NaN if unknown."""
    try:
        return int(Path(f"/proc/{thread}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return math.nan


def _boot_id() -> str:
    """By which a comparison recognizes a reboot; empty if the kernel does not report it."""
    try:
        return boot_id()
    except OSError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
