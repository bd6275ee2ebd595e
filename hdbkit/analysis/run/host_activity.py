"""What a host did: the load host, and the database's host by its agent; along a run, and in its window.

Frames have a row per reading with ``t_us`` and a column per figure: the table ``host``, or ``agent_readings`` of the
table ``server_host``. Two readings of a running total give a rate, which stands at the middle between them; where
the agent was away it is that of the whole gap. Times are seconds since the run's start. Disks and networks that did
nothing are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from hdbkit.analysis.run.host import CPU_PARTS, grown, growth_per_s, host_cpu_pct
from hdbkit.analysis.run.records import Window, table
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.run_result import HostUse

MAX_READINGS = 400
"""Readings that a course is made of; of more, each second, third, ... is taken."""
_MODES = {"user": ("user", "nice"), "system": ("system", "irq", "softirq")}
"""Modes of the agent that are one part in the table ``host``; the others are parts themselves."""
_OF_DISKS = {
    "busy_pct": ("disk_busy_s", 100.0),
    "reads_per_s": ("disk_reads", 1.0),
    "writes_per_s": ("disk_writes", 1.0),
    "read_bytes_per_s": ("disk_read_bytes", 1.0),
    "write_bytes_per_s": ("disk_write_bytes", 1.0),
    "requests": ("disk_requests_s", 1.0),
}
_OF_NETWORKS = {"sent_bytes_per_s": ("net_sent_bytes", 1.0), "received_bytes_per_s": ("net_received_bytes", 1.0)}
_LEVELS = (
    *("memory_used_bytes", "memory_available_bytes", "memory_cached_bytes", "swap_used_bytes"),
    *("threads_running", "threads_blocked", "tcp_sockets", "tcp_time_wait_sockets"),
)
INTERRUPTS = {
    "context_switches": "context switches",
    "interrupts": "interrupts",
    "device_interrupts": "interrupts by devices",
    "soft_interrupts_net_rx": "soft interrupts: received packets (NET_RX)",
    "soft_interrupts_net_tx": "soft interrupts: sent packets (NET_TX)",
    "soft_interrupts_timer": "soft interrupts: timers (TIMER)",
    "soft_interrupts_sched": "soft interrupts: scheduler (SCHED)",
    "soft_interrupts_block": "soft interrupts: disks (BLOCK)",
    "soft_interrupts_other": "soft interrupts: others",
}
"""What is counted of threads and interrupts, in words."""
_MIN_SPANNED = 0.5
"""The share of the window that readings must span."""
Devices = dict[str, dict[str, float]]
"""Figures by the name of a device."""


def agent_readings(samples: pd.DataFrame) -> pd.DataFrame:
    """One row per reading with ``t_us``, one column per figure: ``cpu_user_s``, or ``disk_busy_s sda`` of a device.

    ``samples`` is the table ``server_host``. The parts of the CPU time are those of the table ``host``; what is known
    of each core is a column of lists, as there.
    """
    wide = _wide(samples)
    parts = {}
    for part in CPU_PARTS:
        known = [name for mode in _MODES.get(part, (part,)) if (name := f"cpu_{mode}_s") in wide]
        parts[f"cpu_{part}_s"] = wide[known].sum(axis=1) if known else math.nan
    lists = samples[samples["value"].isna()]
    cores = {str(name): rows.groupby("t_us")["by_core"].last() for name, rows in lists.groupby("name")}
    return wide.assign(**parts, **cores).rename_axis(columns=None).reset_index()


def _wide(samples: pd.DataFrame) -> pd.DataFrame:
    figure = samples["name"].where(samples["device"] == "", samples["name"] + " " + samples["device"])
    return samples.assign(figure=figure).pivot_table(index="t_us", columns="figure", values="value", aggfunc="last")


def of_server(folder: RunFolder) -> pd.DataFrame | None:
    """The readings of the database's host of a run; None without an agent. Raises ``DamagedResult``."""
    samples = table(folder, "server_host")
    return None if samples is None or samples.empty else agent_readings(samples)


def of_load_host(folder: RunFolder) -> pd.DataFrame | None:
    """The table ``host`` of a run, with a column per figure of each device; None without it. As ``of_server``."""
    host, devices = table(folder, "host"), table(folder, "host_devices")
    return host if host is None or devices is None else host.merge(_wide(devices), on="t_us", how="left")


def by_core(host: pd.DataFrame, name: str) -> pd.DataFrame:
    """A running total of each core in seconds: a row per reading with ``t_us``, a column per core by its number.

    Empty where it is not known, and of a host with one core.
    """
    known = host[host[name].map(np.size) > 1] if name in host else host[:0]
    if known.empty:
        return pd.DataFrame()
    same = known[known[name].map(np.size) == np.size(known[name].iloc[0])]
    return pd.DataFrame(np.vstack(list(same[name])), index=same["t_us"]).reset_index()


def cpu_course(host: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and the share of all cores' time of each part of the CPU time, in percent."""
    rates = _rates(host)
    known = rates[[f"cpu_{part}_s" for part in CPU_PARTS]].set_axis(list(CPU_PARTS), axis=1)
    shares = 100 * known.div(known.sum(axis=1).replace(0, math.nan), axis=0)
    return _with_seconds(shares.dropna(axis=1, how="all").dropna())


def disks_course(host: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and for each disk the share of the time in which it had work, in percent; the busiest first."""
    busy = (100 * _by_device(_rates(host), "disk_busy_s")).clip(upper=100)
    return _with_seconds(_largest_first(busy))


def network_course(host: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and ``eth0 sent`` and ``eth0 received`` of each interface in MB/s; the busiest first."""
    rates = _rates(host)
    ways = {"sent": _by_device(rates, "net_sent_bytes"), "received": _by_device(rates, "net_received_bytes")}
    order = _largest_first(ways["sent"] + ways["received"])
    columns = {f"{name} {way}": found[name] / 1e6 for name in order for way, found in ways.items()}
    return _with_seconds(pd.DataFrame(columns, index=rates.index))


def cores_course(host: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and the share of the time in which each core was busy, in percent; empty for one core."""
    cores = by_core(host, "cores_busy_s")
    return pd.DataFrame() if cores.empty else _with_seconds((100 * _rates(cores)).clip(upper=100))


def threads_course(host: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and the threads that ran or were ready to run, and that waited for a disk, at each reading."""
    known = [name for name in ("threads_running", "threads_blocked") if name in host]
    found = _thinned(host.set_index("t_us")[known].dropna())
    return _with_seconds(found[found.index >= 0].rename(index=lambda t_us: t_us / 1e6))


def interrupts_course(host: pd.DataFrame) -> pd.DataFrame:
    """Columns second, and how often a second threads were switched and each kind of interrupt came."""
    known = [name for name in INTERRUPTS if name in host]
    return _with_seconds(_rates(host[["t_us", *known]]).dropna(axis=1, how="all"))


def host_use(host: pd.DataFrame | None, window: Window) -> HostUse | None:
    """Means over the window; None where readings span less than half of it."""
    if host is None or host.empty:
        return None
    seen = Window(max(window.start_us, int(host["t_us"].min())), min(window.end_us, int(host["t_us"].max())))
    if seen.duration_s < _MIN_SPANNED * window.duration_s:
        return None
    inside = host[host["t_us"].between(seen.start_us, seen.end_us)]
    levels = {name: float(inside[name].mean()) for name in _LEVELS if name in inside and inside[name].notna().any()}
    rates = {name: growth_per_s(host, name, seen) for name in INTERRUPTS}
    reading = growth_per_s(host, "reading_s", seen)
    waited = {what: growth_per_s(host, f"{what}_pressure_s", seen) for what in ("cpu", "io", "memory")}
    pressure_pct = {what: None if share is None else 100 * share for what, share in waited.items()}
    return HostUse(
        cpu_pct=host_cpu_pct(host, seen),
        pressure_pct=pressure_pct["cpu"],
        io_pressure_pct=pressure_pct["io"],
        memory_pressure_pct=pressure_pct["memory"],
        disks={name: _with_ms(disk) for name, disk in _devices(host, seen, _OF_DISKS).items()},
        networks=_devices(host, seen, _OF_NETWORKS),
        cores_busy_pct=_cores_pct(host, "cores_busy_s", seen),
        cores_interrupts_pct=_cores_pct(host, "cores_interrupts_s", seen),
        per_s={name: rate for name, rate in rates.items() if rate is not None},
        numa_other_pct=_numa_other_pct(host, seen),
        reading_ms_per_s=None if reading is None else 1000 * reading,
        **levels,
    )


def _cores_pct(host: pd.DataFrame, name: str, window: Window) -> list[float]:
    cores = by_core(host, name)
    rates = [growth_per_s(cores, core, window) for core in cores.columns[1:]]
    return [round(min(100 * rate, 100.0), 1) for rate in rates if rate is not None]


def _numa_other_pct(host: pd.DataFrame, window: Window) -> float | None:
    """The share of new pages that are of another memory node than the core that asked for them, in percent."""
    grew = {}
    for total in ("numa_local_pages", "numa_other_pages"):
        names = [name for name in host if name == total or str(name).startswith(f"{total} ")]
        grew[total] = sum(grown(host, str(name), window) or 0.0 for name in names)
    pages = sum(grew.values())
    return 100 * grew["numa_other_pages"] / pages if pages else None


def _with_ms(disk: dict[str, float]) -> dict[str, float]:
    """The rates of a disk, with the mean time of a request."""
    requests = disk.get("reads_per_s", 0.0) + disk.get("writes_per_s", 0.0)
    return {**disk, "request_ms": 1000 * disk["requests"] / requests} if requests and "requests" in disk else disk


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


def _rates(host: pd.DataFrame) -> pd.DataFrame:
    """The growth of each total a second, by the middle between two readings in seconds; NaN where it was set back."""
    thinned = _thinned(host.set_index("t_us").select_dtypes("number"))
    at_s = thinned.index.to_numpy(dtype=float) / 1e6
    rates = thinned.diff().iloc[1:].div(np.diff(at_s), axis=0)
    found = rates.where(rates >= 0).set_axis((at_s[1:] + at_s[:-1]) / 2)
    return found[found.index >= 0]


def _thinned(host: pd.DataFrame) -> pd.DataFrame:
    return host.iloc[:: max(1, math.ceil(len(host) / MAX_READINGS))]


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
