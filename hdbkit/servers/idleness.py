"""The wait until a server is idle: no other clients, and no background work left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from hdbkit.contracts import Database, Session
from hdbkit.readings import ENDS

_LOOK_S = 0.1
_CLIENTS_PATIENCE_S = 30.0
_QUIET_PER_S = 100.0
_PATIENCE_S = 300.0
_STUCK_S = 5.0
"""The wait ends when no remaining amount has decreased for this long; some servers never reach zero."""


def wait_until_idle(
    session: Session, engine: Database, replaced: Callable[[Mapping[str, str]], AbstractContextManager[None]]
) -> None:
    """Wait until clients and background work have finished, with settings that speed it up.

    ``replaced`` sets them for the time of a block.

    The server lists settings that speed this up (``rest_settings``) and the remaining work (``rest_left``: name,
    amount). A server that lists no such settings is idle after its checkpoint.
    """
    helping = {str(name): str(value) for name, value in session.ask("rest_settings")}
    if not helping:
        return
    _wait_for_clients(session, engine)
    with replaced(helping):
        _wait_for_remaining_work(session)


def _wait_for_clients(session: Session, engine: Database) -> None:
    """Wait until fewer than 100 transactions per second end, at most 30 s if other clients are active."""
    end = time.monotonic() + _CLIENTS_PATIENCE_S
    ended, at = _ended(session, engine), time.monotonic()
    while time.monotonic() < end:
        time.sleep(_LOOK_S)
        before, began = ended, at
        ended, at = _ended(session, engine), time.monotonic()
        if (ended - before) / (at - began) < _QUIET_PER_S:
            return


def _ended(session: Session, engine: Database) -> float:
    counters = engine.counters(session)
    return sum(counters.get(name, 0.0) for name in ENDS)


def _wait_for_remaining_work(session: Session) -> None:
    least: dict[str, float] = {}
    began = moved = time.monotonic()
    while time.monotonic() < began + _PATIENCE_S and time.monotonic() < moved + _STUCK_S:
        left = {str(what): float(amount) for what, amount in session.ask("rest_left")}
        if not any(left.values()):
            return
        if any(amount < least.get(what, amount + 1) for what, amount in left.items()):
            moved = time.monotonic()
        least = {what: min(amount, least.get(what, amount)) for what, amount in left.items()}
        time.sleep(_LOOK_S)
