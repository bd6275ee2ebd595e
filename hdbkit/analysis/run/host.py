"""What the window cost: CPU of the host, of the server, of the clients. Running totals, read at its edges.

What else the clients used covers their whole run: it is read before the first operation and after the last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from hdbkit.analysis.run.records import Window, table
from hdbkit.results.folder import RunFolder
from hdbkit.results.run_result import ClientUse, HostUse

CPU_PARTS = ("user", "system", "iowait", "steal", "idle")
MAX_OTHERS_PCT = 20.0
"""The largest share of a host's CPU time that other processes may take."""
MAX_THROTTLED_PCT = 1.0
"""The longest time, as a share of the window, for which CPU quotas may pause processes."""
MAX_STEAL_PCT = 2.0
"""The largest share of a host's CPU time that other machines may take."""
_NOT_SAMPLED, _DECREASED, _GAP = "not sampled", "decreased", "gap"
"""Why the growth of a running total is unknown."""
_MIN_SEEN = 0.95
"""The share of the window that samples must span; what is missing at its edges grew like the rest."""
_UNKNOWN_SERVER_CPU = {
    _NOT_SAMPLED: "the database is embedded, on another host, or its processes cannot be read here",
    _DECREASED: "the CPU time of its processes decreased within the window, as at a restart",
    _GAP: "its processes were not known over the whole window: the server ended or restarted",
}
_USED = {
    "round_trips": "sent_segments",
    "sent_bytes": "sent_bytes",
    "received_bytes": "received_bytes",
    "context_switches": "context_switches",
}
"""Figures per operation, and the column of the table ``clients`` that each is made of."""
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
    "requests": ("disk_requests_s", 1.0),
}
_OF_NETWORKS = {"sent_bytes_per_s": ("net_sent_bytes", 1.0), "received_bytes_per_s": ("net_received_bytes", 1.0)}
_LEVELS = (
    *("memory_used_bytes", "memory_available_bytes", "memory_cached_bytes", "swap_used_bytes"),
    *("threads_running", "threads_blocked", "tcp_sockets", "tcp_time_wait_sockets"),
)
COUNTED = {
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


def grown(host: pd.DataFrame | None, column: str, window: Window) -> float | None:
    """The growth of a running total of the host over the window, straight between samples; None if unknown."""
    found = _growth(host, column, window)
    return None if isinstance(found, str) else found


def _growth(host: pd.DataFrame | None, column: str, window: Window) -> float | str:
    """The growth of a running total, or why it is unknown.

    It may not decrease between two samples that are used (as by a restart of the server).
    """
    if host is None or column not in host:
        return _NOT_SAMPLED
    known = host[np.isfinite(host[column].to_numpy(dtype=float))]
    if known.empty:
        return _NOT_SAMPLED
    values = known[column].to_numpy(dtype=float)
    times = known["t_us"].to_numpy(dtype=float)
    first = max(int(np.searchsorted(times, window.start_us, "right")) - 1, 0)
    last = int(np.searchsorted(times, window.end_us, "left")) + 1
    if (np.diff(values[first:last]) < 0).any():
        return _DECREASED
    seen = np.clip([window.start_us, window.end_us], times[0], times[-1])
    share = float(seen[1] - seen[0]) / (window.end_us - window.start_us)
    if share < _MIN_SEEN:
        return _GAP
    at = np.interp(seen, times, values)
    return float((at[1] - at[0]) / share)


def growth_per_s(host: pd.DataFrame | None, column: str, window: Window) -> float | None:
    """The rate of a running total of the host over the window; None if unknown."""
    growth = grown(host, column, window)
    return None if growth is None else growth / window.duration_s


def mean_memory_bytes(host: pd.DataFrame | None, window: Window) -> float | None:
    """The mean memory in use on the host over the window; None where it was not sampled in it."""
    inside = None if host is None else host[host["t_us"].between(window.start_us, window.end_us)]
    return None if inside is None or inside.empty else float(inside["memory_used_bytes"].mean())


def server_is_here(host: pd.DataFrame | None) -> bool:
    """Whether CPU time of the server was sampled: it shares the clients' host."""
    return host is not None and bool(np.isfinite(host["server_cpu_s"].to_numpy(dtype=float)).any())


def host_cpu_pct(host: pd.DataFrame | None, window: Window) -> dict[str, float] | None:
    """Shares of all cores' time over the window, in percent: user, system, iowait, steal, idle."""
    spent = {part: grown(host, f"cpu_{part}_s", window) for part in CPU_PARTS}
    known = {part: seconds for part, seconds in spent.items() if seconds is not None}
    total = sum(known.values())
    return {part: 100 * seconds / total for part, seconds in known.items()} if total > 0 else None


def others_cpu_pct(
    host: pd.DataFrame | None, clients: pd.DataFrame | None, window: Window, server_elsewhere: bool
) -> float | None:
    """The share of all cores' time, in percent, that neither server nor clients nor the supervisor used.

    What the kernel does on behalf of nobody, such as interrupts, is part of it. None if a part is unknown: a client
    ended early, or the server may be on this host and its processes cannot be read.
    """
    shares, here = host_cpu_pct(host, window), server_is_here(host)
    if shares is None or clients is None or not (here or server_elsewhere):
        return None
    server_s = grown(host, "server_cpu_s", window) if here else 0.0
    supervisor_s = grown(host, "supervisor_cpu_s", window)
    clients_s = float((clients["cpu_end_s"] - clients["cpu_start_s"]).sum(skipna=False))
    total_s = sum(grown(host, f"cpu_{part}_s", window) or 0.0 for part in CPU_PARTS)
    if server_s is None or supervisor_s is None or not np.isfinite(clients_s):
        return None
    used = shares.get("user", 0.0) + shares.get("system", 0.0)
    return max(0.0, used - 100 * (server_s + supervisor_s + clients_s) / total_s)


def pressure_pct(host: pd.DataFrame | None, window: Window) -> float | None:
    """The share of the window, in percent, in which some task waited for a core (PSI "some")."""
    waited_s = grown(host, "cpu_pressure_s", window)
    return None if waited_s is None else 100 * waited_s / window.duration_s


def throttled_pct(host: pd.DataFrame | None, window: Window) -> float | None:
    """The time for which CPU quotas paused processes, in percent of the window, over all cores; None without one."""
    paused_s = grown(host, "cpu_throttled_s", window)
    return None if paused_s is None else 100 * paused_s / window.duration_s


def clients_us(clients: pd.DataFrame | None, total: str, done: pd.Series[int]) -> float | None:
    """The growth of a total of the clients per operation, in microseconds, over those that were there at both edges.

    ``total`` is ``cpu`` or ``waited``, the time for which they had no core; ``done`` is the number of operations of
    each virtual user that ended in the window.
    """
    if clients is None or f"{total}_end_s" not in clients:
        return None
    spent_s = clients[f"{total}_end_s"] - clients[f"{total}_start_s"]
    known = clients[spent_s.notna()]
    users = [
        user for first, n in zip(known["first_user"], known["users"], strict=True) for user in range(first, first + n)
    ]
    operations = int(done.reindex(users).fillna(0).sum())
    return 1e6 * float(spent_s.sum()) / operations if operations else None


def supervisor_cpu_us(host: pd.DataFrame | None, window: Window, done: int) -> float | None:
    """CPU time of hdbkit's supervisor (sampling, looks at limits) per operation, in microseconds."""
    spent_s = grown(host, "supervisor_cpu_s", window)
    return 1e6 * spent_s / done if spent_s is not None and done else None


def server_cpu_us(host: pd.DataFrame | None, window: Window, done: int) -> tuple[float | None, str]:
    """CPU time of the server per operation in microseconds, or None and the reason as a clause."""
    spent_s = _growth(host, "server_cpu_s", window)
    if isinstance(spent_s, str):
        return None, _UNKNOWN_SERVER_CPU[spent_s]
    return (1e6 * spent_s / done, "") if done else (None, "nothing was completed")


def client_use(clients: pd.DataFrame | None) -> ClientUse:
    """Round trips, bytes sent and received, and context switches of the clients per operation that they began.

    Over the whole run, of those clients that know; None where none does, as in a folder of an older hdbkit. A round
    trip is a TCP segment with data that a client sent: a request that is larger than a segment counts more than once.
    """
    found: dict[str, float | None] = {}
    for name, column in _USED.items():
        known = clients[clients[column].notna()] if clients is not None and column in clients else None
        operations = 0 if known is None else int(known["operations"].sum())
        found[name] = float(known[column].sum()) / operations if known is not None and operations else None
    return ClientUse(**found)


# What a host did: the load host, and the database's host by its agent; along a run, and in its window.
#
# Frames have a row per reading with ``t_us`` and a column per figure: the table ``host``, or ``readings`` of the
# table ``server_host``. Two readings of a running total give a rate, which stands at the middle between them; where
# the agent was away it is that of the whole gap. Times are seconds since the run's start. Disks and networks that did
# nothing are left out.


def readings(samples: pd.DataFrame) -> pd.DataFrame:
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
    return None if samples is None or samples.empty else readings(samples)


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
    known = [name for name in COUNTED if name in host]
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
    rates = {name: growth_per_s(host, name, seen) for name in COUNTED}
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
