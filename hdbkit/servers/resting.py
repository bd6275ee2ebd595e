"""Brings a server to rest between runs, where it has work left after its clients.

It is asked which settings help it (``rest_settings``) and what is left to do (``rest_left``: what, how much). A
server that lists no such settings is at rest after its checkpoint.
"""

from __future__ import annotations

import time

from hdbkit.contracts import Database, Session

_LOOK_S = 0.1
_CLIENTS_PATIENCE_S = 30.0
_QUIET_PER_S = 100.0
_PATIENCE_S = 300.0
_STUCK_S = 5.0
"""So long may nothing of what is left go down; some servers never come to nothing."""


def come_to_rest(session: Session, engine: Database) -> None:
    """Wait for the clients' end and for what is left to do, with settings that hasten it; then put those back."""
    helping = {str(name): str(value) for name, value in session.ask("rest_settings")}
    if not helping:
        return
    _wait_for_clients(session, engine)
    present = {str(name): str(value) for name, value in session.ask("running_settings")}
    try:
        for name, value in helping.items():
            session.ask("set_running_setting", name=name, value=value)
        _wait_for_the_rest(session)
    finally:
        for name in reversed(helping):
            session.ask("set_running_setting", name=name, value=present[name])


def _wait_for_clients(session: Session, engine: Database) -> None:
    """Wait until fewer than 100 transactions a second end; somebody else's are waited for no longer than 30 s."""
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
    return counters["commits"] + counters["rollbacks"]


def _wait_for_the_rest(session: Session) -> None:
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
