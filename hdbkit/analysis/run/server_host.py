"""What the database's host did, as its agent reported each second: along the run, and over its window.

Two readings of a running total give a rate, which stands at the middle between them; where the agent was away it is
that of the whole gap. Times are seconds since the run's start. Disks and networks that did nothing are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from hdbkit.analysis.run.host import CPU_PARTS, grown, host_cpu_pct
from hdbkit.analysis.run.records import Window
from hdbkit.results.run_result import ServerHostUse

MAX_READINGS = 400
"""Readings that a course is made of; of more, each second, third, ... is taken."""
CPU_WORDS = {
    "user": "user",
    "system": "system",
    "iowait": "waiting for a disk",
    "steal": "taken by other machines",
    "idle": "idle",
}
"""The names of the parts of the CPU time."""
_MODES = {"user": ("user", "nice"), "system": ("system", "irq", "softirq")}
"""Modes of the agent that are one part in the table ``host``; the others are parts themselves."""
_OF_DISKS = {
    "busy_pct": ("disk_busy_s", 100.0),
    "reads_per_s": ("disk_reads", 1.0),
    "writes_per_s": ("disk_writes", 1.0),
    "read_bytes_per_s": ("disk_read_bytes", 1.0),
    "write_bytes_per_s": ("disk_write_bytes", 1.0),
}
_OF_NETWORKS = {
    "sent_bytes_per_s": ("net_sent_bytes", 1.0),
    "received_bytes_per_s": ("net_received_bytes", 1.0),
}
_LEVELS = ("memory_used_bytes", "memory_available_bytes", "memory_cached_bytes", "swap_used_bytes")
_MIN_SEEN = 0.5
"""The share of the window that readings must span."""

Devices = dict[str, dict[str, float]]
"""Figures by the name of a device."""


def readings(samples: pd.DataFrame) -> pd.DataFrame:
    """One row per reading with ``t_us``, one column per figure: ``cpu_user_s``, or ``disk_busy_s sda`` of a device.

    ``samples`` is the table ``server_host``. The parts of the CPU time are those of the table ``host``.
    """
    figure = samples["name"].where(samples["device"] == "", samples["name"] + " " + samples["device"])
    wide = samples.assign(figure=figure).pivot_table(index="t_us", columns="figure", values="value", aggfunc="last")
    parts = {}
    for part in CPU_PARTS:
        known = [name for mode in _MODES.get(part, (part,)) if (name := f"cpu_{mode}_s") in wide]
        parts[f"cpu_{part}_s"] = wide[known].sum(axis=1) if known else math.nan
    return wide.assign(**parts).rename_axis(columns=None).reset_index()


def of_load_host(host: pd.DataFrame) -> pd.DataFrame:
    """The processors and memory of the table ``host``, as the table ``server_host`` has those of a server's host."""
    named = [*(f"cpu_{part}_s" for part in CPU_PARTS), "cpu_pressure_s", "memory_used_bytes"]
    return host[["t_us", *named]].melt("t_us", var_name="name").dropna().assign(device="")


def cpu_course(samples: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and the share of all cores' time of each part of the CPU time, in percent."""
    rates = _rates(samples)
    known = rates[[f"cpu_{part}_s" for part in CPU_PARTS]].set_axis(list(CPU_PARTS), axis=1)
    shares = 100 * known.div(known.sum(axis=1).replace(0, math.nan), axis=0)
    return _with_seconds(shares.dropna(axis=1, how="all").dropna())


def disks_course(samples: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and for each disk the share of the time in which it had work, in percent; the busiest first."""
    busy = (100 * _by_device(_rates(samples), "disk_busy_s")).clip(upper=100)
    return _with_seconds(_largest_first(busy))


def network_course(samples: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and ``eth0 sent`` and ``eth0 received`` of each interface in MB/s; the busiest first."""
    rates = _rates(samples)
    ways = {"sent": _by_device(rates, "net_sent_bytes"), "received": _by_device(rates, "net_received_bytes")}
    order = _largest_first(ways["sent"] + ways["received"])
    columns = {f"{name} {way}": found[name] / 1e6 for name in order for way, found in ways.items()}
    return _with_seconds(pd.DataFrame(columns, index=rates.index))


def server_host_use(samples: pd.DataFrame | None, window: Window) -> ServerHostUse | None:
    """Means over the window; None where readings span less than half of it."""
    if samples is None or samples.empty:
        return None
    host = readings(samples)
    seen = Window(max(window.start_us, int(host["t_us"].min())), min(window.end_us, int(host["t_us"].max())))
    if seen.duration_s < _MIN_SEEN * window.duration_s:
        return None
    waited_s = grown(host, "cpu_pressure_s", seen) if "cpu_pressure_s" in host else None
    inside = host[host["t_us"].between(seen.start_us, seen.end_us)]
    levels = {name: float(inside[name].mean()) for name in _LEVELS if name in inside and len(inside)}
    return ServerHostUse(
        cpu_pct=host_cpu_pct(host, seen),
        pressure_pct=None if waited_s is None else 100 * waited_s / seen.duration_s,
        disks=_devices(host, seen, _OF_DISKS),
        networks=_devices(host, seen, _OF_NETWORKS),
        memory_used_bytes=levels.get("memory_used_bytes"),
        memory_available_bytes=levels.get("memory_available_bytes"),
        memory_cached_bytes=levels.get("memory_cached_bytes"),
        swap_used_bytes=levels.get("swap_used_bytes"),
    )


def busy_pct(shares: Mapping[str, float]) -> float:
    """The share of the cores' time that went to anything; waiting for a disk is not busy."""
    return sum(share for part, share in shares.items() if part not in ("idle", "iowait"))


def _devices(host: pd.DataFrame, window: Window, figures: dict[str, tuple[str, float]]) -> Devices:
    """The rates of every device that did something."""
    names = dict.fromkeys(name for total, _ in figures.values() for name in _columns(host, total))
    found: Devices = {}
    for name in names:
        of_it = {}
        for figure, (total, factor) in figures.items():
            growth = grown(host, f"{total} {name}", window) if f"{total} {name}" in host else None
            if growth is not None:
                of_it[figure] = factor * growth / window.duration_s
        if any(of_it.values()):
            found[name] = {**of_it, **({"busy_pct": min(100.0, of_it["busy_pct"])} if "busy_pct" in of_it else {})}
    return found


def _rates(samples: pd.DataFrame) -> pd.DataFrame:
    """The growth of each total a second, by the middle between two readings in seconds; NaN where it was set back."""
    host = readings(samples).set_index("t_us")
    thinned = host.iloc[:: max(1, math.ceil(len(host) / MAX_READINGS))]
    at_s = thinned.index.to_numpy(dtype=float) / 1e6
    rates = thinned.diff().iloc[1:].div(np.diff(at_s), axis=0)
    found = rates.where(rates >= 0).set_axis((at_s[1:] + at_s[:-1]) / 2)
    return found[found.index >= 0]


def _columns(host: pd.DataFrame, total: str) -> list[str]:
    """The devices that have a total of this name."""
    return [str(name).partition(" ")[2] for name in host.columns if str(name).startswith(f"{total} ")]


def _by_device(rates: pd.DataFrame, total: str) -> pd.DataFrame:
    names = _columns(rates, total)
    return rates[[f"{total} {name}" for name in names]].set_axis(names, axis=1)


def _largest_first(found: pd.DataFrame) -> pd.DataFrame:
    """The columns by their sums, without those that are 0."""
    sums = found.sum().sort_values(ascending=False, kind="stable")
    return found[[name for name, total in sums.items() if total > 0]]


def _with_seconds(found: pd.DataFrame) -> pd.DataFrame:
    return found.rename_axis("second").reset_index()
