"""How many users share a client process where the load leaves that open: those whose sessions key and think."""

from __future__ import annotations

import math

from hdbkit.config import Load
from hdbkit.contracts import ThinkTimes, Workload

_SESSIONS, _OPERATIONS_PER_S = 250, 20.0
"""A process serves at most so many sessions, and so many operations, which take it about 2 % of a core."""


def with_shared_processes(load: Load, work: Workload) -> Load:
    """The load with its ``users_per_process``.

    A session that keys and thinks has an operation every 20 s, so a process for each user is memory and wake-ups
    alone. Only users with several sessions share one, which wait for each other in their process anyway; not on
    several load hosts, and not where faults kill clients.
    """
    if "users_per_process" in load.model_fields_set or load.sessions_per_user == 1 or load.cluster or load.faults:
        return load
    pause_s = _pause_s(load, work)
    sessions = min(_SESSIONS, pause_s * _OPERATIONS_PER_S)
    together = min(int(sessions / load.sessions_per_user), load.virtual_users)
    if together < 2:
        return load
    processes = math.ceil(load.virtual_users / together)
    return load.with_(users_per_process=math.ceil(load.virtual_users / processes))


def _pause_s(load: Load, work: Workload) -> float:
    """The mean time that a session keys and thinks for an operation, in seconds."""
    mix = work.mix(load)
    if not load.keying_and_thinking or not sum(mix.values()):
        return 0.0
    waits = {name: work.waits.get(name, ThinkTimes()) for name in mix}
    pauses_s = (
        weight * (waits[name].keying_s * load.keying_scale + waits[name].thinking_s * load.thinking_scale)
        for name, weight in mix.items()
    )
    return sum(pauses_s) / sum(mix.values())
