"""Cumulative counters of the agent's host by CPU mode, disk and network interface; two readings give rates.

The rate of ``disk_busy_s`` is the utilization of the disk, from 0 to 1. Partitions, devices in memory and the
loopback interface are omitted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from hdbkit.execution.host import cpu_pressure_s

Metric = tuple[str, str, float]
"""Name with unit, device (empty for the whole host), value."""
_BLOCKS = Path("/sys/block")
_NO_DISKS = ("loop", "ram", "zram")
_CPU = ("user", "nice", "system", "iowait", "irq", "softirq", "steal", "idle")


def metrics() -> list[Metric]:
    """Counters of CPU by mode, memory, load, disks by device, and network by interface."""
    return [*_cpu(), *_memory(), *_disks(), *_network()]


def _cpu() -> Iterator[Metric]:
    times = psutil.cpu_times()
    for mode in _CPU:
        if hasattr(times, mode):
            yield f"cpu_{mode}_s", "", float(getattr(times, mode))
    pressure_s = cpu_pressure_s()
    if not math.isnan(pressure_s):
        yield "cpu_pressure_s", "", pressure_s
    yield "load_1min", "", os.getloadavg()[0]


def _memory() -> Iterator[Metric]:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    yield "memory_used_bytes", "", float(memory.total - memory.available)
    yield "memory_available_bytes", "", float(memory.available)
    yield "memory_cached_bytes", "", float(getattr(memory, "cached", 0))
    yield "swap_used_bytes", "", float(swap.used)


def _disks() -> Iterator[Metric]:
    for device, counters in psutil.disk_io_counters(perdisk=True, nowrap=False).items():
        if device.startswith(_NO_DISKS) or (_BLOCKS.is_dir() and not (_BLOCKS / device).exists()):
            continue
        yield "disk_reads", device, float(counters.read_count)
        yield "disk_writes", device, float(counters.write_count)
        yield "disk_read_bytes", device, float(counters.read_bytes)
        yield "disk_write_bytes", device, float(counters.write_bytes)
        if hasattr(counters, "busy_time"):
            yield "disk_busy_s", device, counters.busy_time / 1000


def _network() -> Iterator[Metric]:
    for interface, counters in psutil.net_io_counters(pernic=True, nowrap=False).items():
        if interface != "lo":
            yield "net_sent_bytes", interface, float(counters.bytes_sent)
            yield "net_received_bytes", interface, float(counters.bytes_recv)
