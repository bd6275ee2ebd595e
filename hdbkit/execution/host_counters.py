"""What the kernel counts of this host: processors by mode and core, threads, interrupts, memory, disks, network.

The only reader of these figures, for the load host and for the agent. Figures are running totals, of which two
readings give a rate, and gauges; their units are in their names. What the kernel does not report is left out.
Partitions and devices in memory are omitted.

Interrupts and soft interrupts are those of ``/proc/stat``, which has their sums: ``/proc/interrupts`` and
``/proc/softirqs`` have a column per core.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from hdbkit.later import psutil

Figure = tuple[str, str, float | list[float]]
"""Name with unit, device (disk, network interface, memory node; empty: the whole host), value; of cores a list."""

LOOPBACK_INTERFACE = "lo"
"""The network interface that no network is behind."""
_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_RESTING = ("idle", "iowait")
_SOFT = ("hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu")
_NAMED_SOFT = ("timer", "net_tx", "net_rx", "block", "sched")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_BLOCKS, _NODES = Path("/sys/block"), Path("/sys/devices/system/node")
_NO_DISKS = ("loop", "ram", "zram")


class HostReader:
    """Reads the figures; the CPU time that this takes is one of them, ``reading_s``."""

    def __init__(self) -> None:
        self._spent_s = 0.0

    def read(self, *more: Callable[[], Iterable[Figure]]) -> list[Figure]:
        """All figures at this moment, and those of ``more``, whose CPU time counts too."""
        begun_s = time.thread_time()
        parts = (_processors, _pressure, _memory, _nodes, _disks, _network, _sockets, *more)
        found: list[Figure] = []
        for part in parts:
            with suppress(OSError, LookupError, ValueError, NotImplementedError):
                found.extend(part())
        self._spent_s += time.thread_time() - begun_s
        return [*found, ("reading_s", "", round(self._spent_s, 6))]


def _lines(path: str) -> dict[str, list[str]]:
    """The words of each line of a file by its first word; none where there is no such file."""
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  read often, kept light
            return {words[0].rstrip(":"): words[1:] for line in file if (words := line.split())}
    except OSError:
        return {}


def _processors() -> Iterator[Figure]:
    lines = _lines("/proc/stat")
    if not lines:
        return
    for mode, seconds in _modes(lines["cpu"]).items():
        yield f"cpu_{mode}_s", "", seconds
    cores = [_modes(words) for name, words in lines.items() if name.startswith("cpu") and name != "cpu"]
    yield "cores_busy_s", "", [round(sum(s for mode, s in one.items() if mode not in _RESTING), 2) for one in cores]
    yield "cores_interrupts_s", "", [round(one["irq"] + one["softirq"], 2) for one in cores]
    yield "threads_running", "", max(int(lines["procs_running"][0]) - 1, 0)  # without this one
    yield "threads_blocked", "", int(lines["procs_blocked"][0])
    yield "context_switches", "", int(lines["ctxt"][0])
    total, *devices = map(int, lines["intr"])
    yield "interrupts", "", total
    yield "device_interrupts", "", sum(devices)
    total, *kinds = map(int, lines["softirq"])
    named = {kind: number for kind, number in zip(_SOFT, kinds, strict=False) if kind in _NAMED_SOFT}
    for kind, number in {**named, "other": total - sum(named.values())}.items():
        yield f"soft_interrupts_{kind}", "", number
    yield "load_1min", "", os.getloadavg()[0]


def _modes(words: list[str]) -> dict[str, float]:
    return {mode: int(ticks) * _TICK_S for mode, ticks in zip(_CPU, words, strict=False)}


def _pressure() -> Iterator[Figure]:
    """The seconds in which some task waited for a core, a disk or memory (PSI)."""
    for what in ("cpu", "io", "memory"):
        if some := _lines(f"/proc/pressure/{what}").get("some"):
            yield f"{what}_pressure_s", "", int(some[-1].removeprefix("total=")) / 1e6


def _memory() -> Iterator[Figure]:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    yield "memory_used_bytes", "", memory.total - memory.available
    yield "memory_available_bytes", "", memory.available
    yield "memory_cached_bytes", "", getattr(memory, "cached", 0)
    yield "swap_used_bytes", "", swap.used


def _nodes() -> Iterator[Figure]:
    """Of each memory node the pages that it gave to its own cores and to others, and its free memory."""
    for node in sorted(_NODES.glob("node[0-9]*"), key=lambda path: int(path.name[4:])):
        pages = _lines(f"{node}/numastat")
        if not pages:
            continue
        yield "numa_local_pages", node.name, int(pages["local_node"][0])
        yield "numa_other_pages", node.name, int(pages["other_node"][0])
        lines = (line.split() for line in (node / "meminfo").read_text("ascii").splitlines())
        yield "numa_free_bytes", node.name, next(int(one[3]) * 1024 for one in lines if one[2] == "MemFree:")


def _disks() -> Iterator[Figure]:
    for device, counters in psutil.disk_io_counters(perdisk=True, nowrap=False).items():
        if device.startswith(_NO_DISKS) or not (_BLOCKS / device).exists():
            continue
        yield "disk_reads", device, counters.read_count
        yield "disk_writes", device, counters.write_count
        yield "disk_read_bytes", device, counters.read_bytes
        yield "disk_write_bytes", device, counters.write_bytes
        yield "disk_busy_s", device, counters.busy_time / 1000
        yield "disk_requests_s", device, (counters.read_time + counters.write_time) / 1000


def _network() -> Iterator[Figure]:
    for interface, counters in psutil.net_io_counters(pernic=True, nowrap=False).items():
        yield "net_sent_bytes", interface, counters.bytes_sent
        yield "net_received_bytes", interface, counters.bytes_recv


def _sockets() -> Iterator[Figure]:
    lines = _lines("/proc/net/sockstat")
    if not lines:
        return
    tcp = _pairs(lines["TCP"])
    yield "tcp_sockets", "", tcp["inuse"] + _pairs(_lines("/proc/net/sockstat6").get("TCP6", [])).get("inuse", 0)
    yield "tcp_time_wait_sockets", "", tcp["tw"]


def _pairs(words: list[str]) -> dict[str, int]:
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=True)}
