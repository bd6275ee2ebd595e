"""The cooldown before a run: a fixed time, or until the hosts of clients and server are idle.

The load of the hosts is checked twice a second. If they stay busy, for example because of other users' work, the run
begins after the given maximum, and its plan records how busy the host was.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from hdbkit.config import Cooldown
from hdbkit.contracts import ServerControl
from hdbkit.execution import host
from hdbkit.readings import IDLE_BUSY_PCT, HostLoad

IDLE_DIRTY = 0.01
"""A host is not idle while dirty pages that wait for its disks take more than this share of its memory."""
_LOOK_S = 0.5


@dataclass(frozen=True)
class Rest:
    """A completed cooldown: its duration, and how busy the busier host was at its end (None: not measured)."""

    rested_s: float = 0.0
    busy_pct: float | None = None


def cool_down(cooldown: Cooldown, max_s: float, control: ServerControl) -> Rest:
    """Wait before a run, at most ``max_s``; 0 means no cooldown, and the load is not measured."""
    began = time.monotonic()
    if cooldown is Cooldown.FIXED or not max_s:
        time.sleep(max_s)
        return Rest(max_s)
    before = _loads(control)
    while True:
        time.sleep(min(_LOOK_S, max_s))
        now = _loads(control)
        busy_pct = max(busy_share_pct(*pair) for pair in zip(before, now, strict=False))
        rested_s = time.monotonic() - began
        if (busy_pct <= IDLE_BUSY_PCT and not any(map(writes, now))) or rested_s >= max_s:
            return Rest(rested_s, busy_pct)
        before = now


def _loads(control: ServerControl) -> Sequence[HostLoad]:
    """The load of this host, and of the server's host if that is another one."""
    other = control.host_load()
    return [host.load(), *([other] if other else [])]


def busy_share_pct(before: HostLoad, now: HostLoad) -> float:
    """The busy share of a host's CPU time between two readings, in percent."""
    spent_s = now.total_s - before.total_s
    return 100 * (now.busy_s - before.busy_s) / spent_s if spent_s > 0 else 0.0


def writes(load: HostLoad) -> bool:
    """Whether many dirty pages wait to be written to the host's disks."""
    return load.dirty_bytes > IDLE_DIRTY * load.memory_bytes
