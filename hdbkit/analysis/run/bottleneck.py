"""What limits a run: the resource that its sessions spend most of their time with, and what would have to change.

The processors of a host or of the clients limit a run when they are busy; otherwise what sessions wait for most, if
that is clear of what comes second: the difference of two shares of samples has an error, as if all sessions waited
together. One full core limits a run too while all others are well below: by interrupts, or by work that one thread
has to do. The clients' ceiling is what their processes could send with the CPU time that they have on all load
hosts, if the server answered at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pydantic import Field

from hdbkit.analysis.run.host_activity import busy_pct
from hdbkit.analysis.run.schedule import kept_its_rate
from hdbkit.analysis.run.waits import RUNNING
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Figures
from hdbkit.text import number

Resource = Literal[
    "processors", "lock", "log", "disk", "latch", "sessions", "clients", "network", "other", "load", "undecided"
]
_OTHERS = "other processes"
_SAMPLED: tuple[Resource, ...] = ("lock", "log", "disk", "latch", "sessions", "other")
_BUSY_PCT = 90.0
"""From this utilization on, processors limit a run."""
_CORE_PCT, _SECOND_PCT = 95.0, 75.0
"""A core is full from the first utilization on, and it is the only one where no other exceeds the second."""
_STANDARD_ERRORS = 2.0
"""By how many the first of the shares has to be above the second to be named."""
_MANY_TIMES = 10.0
"""A ceiling of the clients beyond this is stated as more than that: it extrapolates the CPU time of an operation."""
_ADVICE: dict[Resource, str] = {
    "lock": "Shorter transactions, or data spread over more rows, would change that.",
    "log": "A faster device of the log, or commits that do not wait for it, would change that.",
    "disk": "A larger cache of the server, or a faster disk, would change that.",
    "latch": "Fewer sessions at a time, or a server with less contention inside, would change that.",
    "sessions": "More sessions would use the processors that are idle.",
    "clients": "More client processes, on this load host or on others, would change that.",
    "network": "A shorter round trip, fewer round trips, or more sessions would change that.",
    "other": "The server's documentation of this wait names what would change it.",
    "load": "A higher rate or shorter pauses would show what limits the server.",
}
_NAMES: dict[Resource, str] = {
    "lock": "locks", "log": "the log", "disk": "disks", "latch": "latches inside the server",
    "sessions": "the number of sessions, as each works most of its time and uses one core at a time",
    "clients": "the clients", "network": "the network and the time between calls", "other": "other waits",
}  # fmt: skip
_NOT_SAMPLED = "Waits were not sampled: this engine reports none, or the account may not read them."


class Bottleneck(Figures):
    """What limits a run."""

    resource: Resource = Field(
        description="sessions: each uses one core at a time while others are idle; load: users pause as the load asks"
    )
    sentence: str
    advice: str = Field(description="what would change that; if it is undecided, what to turn on")
    evidence: dict[str, float] = Field(description="mean sessions by resource, or busy shares in percent")
    client_times: float | None = Field(description="how many times as much the clients could send; null: unknown")
    server_is_here: bool = Field(description="whether clients and server share the processors of the load host")

    def __str__(self) -> str:
        alone = ", if they had the host to themselves" if self.server_is_here else ""
        times = self.client_times or 0.0
        about = (
            f"more than {_MANY_TIMES:g}" if times > _MANY_TIMES else f"about {number(times, 1 if times >= 2 else 2)}"
        )
        ceiling = f" The clients could send {about} times as much{alone}."
        return f"{self.sentence} {self.advice}{ceiling if times else ''}"


def bottleneck(manifest: Manifest) -> Bottleneck | None:
    """What limits a run, and how much its clients could do; None for a run whose throughput is not known."""
    result = manifest.result
    if result is None or not result.operations_per_s:
        return None
    times = _client_times(manifest)
    found = _processors(manifest) or _clients(times) or _load(manifest) or _one_core(manifest)
    return Bottleneck(
        resource=found.resource,
        sentence=found.sentence,
        advice=found.advice or _ADVICE[found.resource],
        evidence={str(name): round(share, 3) for name, share in found.evidence.items()},
        client_times=times,
        server_is_here=bool(manifest.server.on_this_host),
    )


class _Found(NamedTuple):
    resource: Resource
    sentence: str
    evidence: Mapping[Any, float]
    advice: str = ""


def _processors(manifest: Manifest) -> _Found | None:
    """That the processors of a host are busy, and who uses them; None if they are not."""
    result = manifest.measured
    elsewhere = result.server_host.cpu_pct if result.server_host else None
    if elsewhere and (busy := busy_pct(elsewhere)) >= _BUSY_PCT:
        return _busy(manifest, "the database's host", busy, {})
    here = busy_pct(result.host_cpu_pct) if result.host_cpu_pct else 0.0
    if here < _BUSY_PCT:
        return None
    per_s, cores = result.operations_per_s or 0.0, manifest.host.cores or 1
    used = {"the server": result.server_cpu_us_per_operation, "the clients": result.client_cpu_us_per_operation}
    shares = {name: us * per_s / 1e4 / cores for name, us in used.items() if us is not None}
    shares |= {_OTHERS: result.others_cpu_pct} if result.others_cpu_pct is not None else {}
    return _busy(manifest, _load_host(manifest), here, shares)


def _busy(manifest: Manifest, host: str, busy: float, shares: Mapping[str, float]) -> _Found:
    listed = ", ".join(f"{name} {share:.0f} %" for name, share in sorted(shares.items(), key=lambda one: -one[1]))
    how = f"{busy:.0f} % busy{f' ({listed})' if listed else ''}"
    sentence = f"Limited by the processors of {host}, which are {how}."
    advice = f"More or faster processors, or less work for each {manifest.noun}, would change that."
    if shares and sum(share for name, share in shares.items() if name != _OTHERS) < busy / 2:
        advice = "Fewer other processes on that host would change that."
    return _Found("processors", sentence, {"busy": busy, **shares}, advice)


def _clients(times: float | None) -> _Found | None:
    """That each process of the clients uses a core of its own; None if they do not."""
    if times is None or (busy := 100 / times) < _BUSY_PCT:
        return None
    sentence = f"Limited by the clients, whose processes are {min(busy, 100):.0f} % busy."
    return _Found("clients", sentence, {"clients": busy})


def _load(manifest: Manifest) -> _Found | None:
    """That users pause as the load asks, and nothing is busy; None for a load that is not kept."""
    schedule = manifest.measured.schedule
    if not manifest.paced or (schedule and not kept_its_rate(manifest)):
        return None
    what = "rate, which was kept" if schedule else "users, who pause as planned"
    return _Found("load", f"Limited by the load's own {what}.", {})


def _one_core(manifest: Manifest) -> _Found:
    """One full core while the others are mostly idle; else, or if waits name another limit, what takes the time."""
    result, waits = manifest.measured, _waits(manifest)
    for host, use in {"the database's host": result.server_host, _load_host(manifest): result.load_host}.items():
        shares = use.cores_busy_pct if use else []
        if not use or len(shares) < 2:
            continue
        busy, core, cores = max(shares), shares.index(max(shares)), len(shares)
        second = sorted(shares)[-2]
        rest, interrupts = (sum(shares) - busy) / (cores - 1), use.cores_interrupts_pct[core]
        of_interrupts = interrupts >= busy / 2
        of_others = use is result.load_host and (result.others_cpu_pct or 0.0) * cores >= busy / 2
        known = waits.resource not in ("sessions", "network", "undecided")
        if busy < _CORE_PCT or second > _SECOND_PCT or (not of_interrupts and (of_others or known)):
            continue
        sentence = (
            f"Limited by one core of {host}, core {core}, which is {busy:.0f} % busy ({interrupts:.0f} % with "
            f"interrupts) while the others are {rest:.0f} % busy on average."
        )
        advice = "Work that is spread over more threads, or a faster core, would change that."
        if of_interrupts:
            advice = (
                "Interrupts that are spread over more cores (more queues of the network interface, receive packet "
                "steering) would change that."
            )
        evidence = {"busiest core": busy, "its interrupts": interrupts, "other cores": rest}
        return _Found("processors", sentence, evidence, advice)
    return waits


def _load_host(manifest: Manifest) -> str:
    return "this host" if manifest.server.on_this_host else "the load host"


def _waits(manifest: Manifest) -> _Found:
    """What the sessions of the load spend most of their time with."""
    result, sessions = manifest.measured, manifest.plan.load.sessions
    if result.waits is None:
        off = not manifest.plan.load.waits_hz
        return _undecided("Sample what sessions wait for (waits_hz=10)." if off else _NOT_SAMPLED)
    if not result.waits.waits:
        return _undecided("Connect without a pooler, so that it is known which virtual user a session belongs to.")
    by_class = result.waits.sessions_by_class
    shares: dict[Resource, float] = {
        name: by_class.get(RUNNING if name == "sessions" else name, 0.0) for name in _SAMPLED
    }
    outside = max(sessions - sum(shares.values()), 0.0)
    us = result.client_cpu_us_per_operation or 0.0
    shares["clients"] = min(us * (result.operations_per_s or 0.0) / 1e6, outside)
    shares["network"] = outside - shares["clients"]
    most, second = sorted(shares, key=lambda name: -shares[name])[:2]
    apart, both = (shares[most] - shares[second]) / sessions, (shares[most] + shares[second]) / sessions
    if apart < _STANDARD_ERRORS * math.sqrt(max(both - apart**2, 0.0) / result.waits.samples):
        goes = " and ".join(
            f"{_NAMES[name].split(',')[0]} {100 * shares[name] / sessions:.0f} %" for name in (most, second)
        )
        return _undecided("A longer run would tell them apart.", f": its time goes to {goes}", shares)
    of_class = [one for one in result.waits.waits if one.wait_class == most]
    what = f", most of all {of_class[0].what} in {of_class[0].operation}" if of_class and most != "sessions" else ""
    rest = ", ".join(
        f"{_NAMES[name].split(',')[0]} {number(share, 2)}"
        for name, share in sorted(shares.items(), key=lambda one: -one[1])
        if name != most and share >= 0.05 * sessions
    )
    sentence = (
        f"Limited by {_NAMES[most]}: {number(shares[most], 2)} of {sessions:,} sessions on average{what}"
        f"{f'; {rest}' if rest else ''}."
    )
    return _Found(most, sentence, shares)


def _undecided(advice: str, why: str = "", evidence: Mapping[Any, float] = MappingProxyType({})) -> _Found:
    return _Found("undecided", f"It is undecided what limits the run{why}.", evidence, advice)


def _client_times(manifest: Manifest) -> float | None:
    """How many times more the clients could send with their CPU time; None if it is not known."""
    result, per_s = manifest.measured, manifest.measured.operations_per_s
    of_hosts = {host.machine or host.name: host.cores for host in manifest.load_hosts}
    us, cores = result.client_cpu_us_per_operation, sum(of_hosts.values()) or manifest.host.cores
    if not us or not per_s or not cores:
        return None
    return min(len(manifest.plan.load.clients), cores) * 1e6 / us / per_s
