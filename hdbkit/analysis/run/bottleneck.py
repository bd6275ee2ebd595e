"""What limits a run: the resource that its sessions spend most of their time with, and what would have to change.

The processors of a host limit a run when they are busy; otherwise what sessions wait for most. The clients' ceiling
is what their processes could send with the CPU time that they have, if the server answered at once.
"""

from __future__ import annotations

from hdbkit.analysis.run.server_host import busy_pct
from hdbkit.analysis.run.waits import CLIENT, RUNNING
from hdbkit.results.manifest import Manifest
from hdbkit.text import number

_BUSY_PCT = 90.0
"""From this utilization on, the processors limit a run."""
_CHANGES = {
    "lock": "Shorter transactions, or data spread over more rows, would change that",
    "log": "A faster device of the log, or commits that do not wait for it, would change that",
    "disk": "A larger cache of the server, or a faster disk, would change that",
    "latch": "Fewer sessions at a time, or a server with less contention inside, would change that",
    RUNNING: "More sessions would use the processors that are idle",
    CLIENT: "A shorter round trip, fewer round trips, or more sessions would change that",
    "other": "The server's documentation of this wait names what would change it",
}
_RESOURCES = {
    "lock": "locks", "log": "the log", "disk": "disks", "latch": "latches inside the server", "other": "other waits",
    RUNNING: "the time that each session works, as it uses one core at a time", CLIENT: "clients and network",
}  # fmt: skip


def bottleneck(manifest: Manifest) -> str:
    """What limits a run, what would change that, and what its clients could do; empty if that is not known.

    That is a run whose waits were not sampled, and one whose users are meant to pause.
    """
    result = manifest.measured
    if result.waits is None or manifest.paced or not result.operations_per_s:
        return ""
    return " ".join(filter(None, (_processors(manifest) or _waits(manifest), _ceiling(manifest))))


def _processors(manifest: Manifest) -> str:
    """That the processors of a host are busy, and who uses them; empty if they are not."""
    result = manifest.measured
    elsewhere = result.server_host.cpu_pct if result.server_host else None
    if elsewhere and busy_pct(elsewhere) >= _BUSY_PCT:
        return _busy(manifest, "the database's host", f"{busy_pct(elsewhere):.0f} % busy")
    here = busy_pct(result.host_cpu_pct) if result.host_cpu_pct else 0.0
    if here < _BUSY_PCT:
        return ""
    per_s, cores = result.operations_per_s or 0.0, manifest.host.cores or 1
    used = {"the server": result.server_cpu_us_per_operation, "the clients": result.client_cpu_us_per_operation}
    shares = {name: us * per_s / 1e4 / cores for name, us in used.items() if us is not None}
    shares |= {"other processes": result.others_cpu_pct} if result.others_cpu_pct is not None else {}
    listed = ", ".join(f"{name} {share:.0f} %" for name, share in sorted(shares.items(), key=lambda one: -one[1]))
    host = "this host" if manifest.server.on_this_host else "the load host"
    return _busy(manifest, host, f"{here:.0f} % busy ({listed})")


def _busy(manifest: Manifest, host: str, how: str) -> str:
    each = manifest.noun
    return (
        f"Limited by the processors of {host}, which are {how}. More or faster processors, or less work for each "
        f"{each}, would change that."
    )


def _waits(manifest: Manifest) -> str:
    """What the sessions of the load spend most of their time with."""
    result, sessions = manifest.measured, manifest.plan.load.sessions
    assert result.waits is not None
    by_class = dict(result.waits.sessions_by_class)
    by_class[CLIENT] = max(sessions - sum(share for name, share in by_class.items() if name != CLIENT), 0.0)
    most = max(by_class, key=lambda name: by_class[name])
    named = max(
        (one for one in result.waits.waits if one.wait_class == most), key=lambda one: one.sessions, default=None
    )
    what = f", most of all {named.what} in {named.operation}" if named and most not in (RUNNING, CLIENT) else ""
    rest = ", ".join(
        f"{_RESOURCES[name].split(',')[0]} {number(share, 2)}"
        for name, share in sorted(by_class.items(), key=lambda one: -one[1])
        if name != most and share >= 0.05 * sessions
    )
    return (
        f"Limited by {_RESOURCES[most]}: {number(by_class[most], 2)} of {sessions:,} sessions on average{what}"
        f"{f'; {rest}' if rest else ''}. {_CHANGES[most]}."
    )


def _ceiling(manifest: Manifest) -> str:
    """How many times more the clients could send with their CPU time; empty if it is not known."""
    result, per_s = manifest.measured, manifest.measured.operations_per_s
    us, cores = result.client_cpu_us_per_operation, manifest.host.cores
    if not us or not per_s or not cores:
        return ""
    processes = min(len(manifest.plan.load.clients), cores)
    times = processes * 1e6 / us / per_s
    alone = ", if they had the host to themselves" if manifest.server.on_this_host else ""
    return f"The clients could send {number(times, 2)} times as much{alone}."
