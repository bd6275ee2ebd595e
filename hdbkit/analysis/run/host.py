"""What the window cost: CPU of the host, of the server, of the clients. Running totals, read at its edges.

What else the clients used covers their whole run: it is read before the first operation and after the last.
"""

from __future__ import annotations

from hdbkit.analysis.run.records import Window
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.run_result import ClientUse

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
CPU_WORDS = {
    "user": "user",
    "system": "system",
    "iowait": "waiting for a disk",
    "steal": "taken by other machines",
    "idle": "idle",
}
"""The names of the parts of the CPU time."""


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
