"""The rest before a run: fixed, or until the hosts of clients and server do little.

What a host does is looked at twice a second. Work that never ends, such as somebody else's, is waited for no longer
than asked; the run then begins all the same, and its plan tells how busy the host was.
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
"""Nor does a host rest while changed pages that wait for its disks take more than this share of its memory."""
_LOOK_S = 0.5


@dataclass(frozen=True)
class Rest:
    """A rest that was taken: how long, and how busy the busier host was at its end (None: nobody looked)."""

    rested_s: float = 0.0
    busy_pct: float | None = None


def cool_down(cooldown: Cooldown, most_s: float, control: ServerControl) -> Rest:
    """Rest before a run, at most ``most_s``; 0 is no rest, and nobody looks."""
    began = time.monotonic()
    if cooldown is Cooldown.FIXED or not most_s:
        time.sleep(most_s)
        return Rest(most_s)
    before = _loads(control)
    while True:
        time.sleep(min(_LOOK_S, most_s))
        now = _loads(control)
        busy_pct = max(busy_share_pct(*pair) for pair in zip(before, now, strict=False))
        rested_s = time.monotonic() - began
        if (busy_pct <= IDLE_BUSY_PCT and not any(map(writes, now))) or rested_s >= most_s:
            return Rest(rested_s, busy_pct)
        before = now


def _loads(control: ServerControl) -> Sequence[HostLoad]:
    """This host, and the server's where that is another one."""
    other = control.host_load()
    return [host.load(), *([other] if other else [])]


def busy_share_pct(before: HostLoad, now: HostLoad) -> float:
    """The busy share of a host's CPU time between two looks, in percent."""
    spent_s = now.total_s - before.total_s
    return 100 * (now.busy_s - before.busy_s) / spent_s if spent_s > 0 else 0.0


def writes(load: HostLoad) -> bool:
    """Whether much waits to be written to the host's disks."""
    return load.dirty_bytes > IDLE_DIRTY * load.memory_bytes
