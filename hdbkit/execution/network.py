"""Round trip and bandwidth between client and server; for ``doctor``, and before a run."""

from __future__ import annotations

import statistics
import time
from contextlib import closing, suppress

from hdbkit.config import Target
from hdbkit.contracts import Database, Session
from hdbkit.errors import HdbkitError
from hdbkit.readings import answered
from hdbkit.results.manifest import NetworkFacts
from hdbkit.sql import SERVER_STATEMENTS, statements

_LONG_ANSWER = "long_answer"
_ROUND_TRIPS, _AT_MOST_S = 20, 0.1
"""Questions whose median is the round trip, or fewer on a long way."""
_FEW_BYTES, _MANY_BYTES, _SHORT_S, _LONG_S = 1 << 20, 8 << 20, 0.005, 0.3
"""An answer of few bytes opens the window of the connection; many are timed if that was quick, else few again,
or none if the first took long."""


def network_facts(engine: Database, session: Session, target: Target) -> NetworkFacts:
    """Round trip and bandwidth; None where this engine has no question for it, or the server does not answer it.

    The long answer has a connection of its own, which some servers close because of it.
    """
    bandwidth = None
    if _LONG_ANSWER in statements(engine.dialects, SERVER_STATEMENTS):
        with suppress(HdbkitError), closing(engine.connect(target)) as own:
            bandwidth = _mb_per_s(engine, own)
    return NetworkFacts(
        round_trip_ms=answered(lambda: _round_trip_ms(engine, session), None), bandwidth_mb_per_s=bandwidth
    )


def _round_trip_ms(engine: Database, session: Session) -> float | None:
    """The median time of a question of one row."""
    times_s: list[float] = []
    while len(times_s) < _ROUND_TRIPS and sum(times_s) < _AT_MOST_S:
        begun_s = time.perf_counter()
        if engine.clock_s(session) is None:
            return None
        times_s.append(time.perf_counter() - begun_s)
    return round(1000 * statistics.median(times_s), 4)


def _mb_per_s(engine: Database, session: Session) -> float | None:
    """The bandwidth by an answer of the server; both answers take less than 0.1 s except on a slow network."""
    size, took_s = _FEW_BYTES, _long_answer_s(engine, session, _FEW_BYTES)
    if took_s is not None and took_s < _LONG_S:
        size = _MANY_BYTES if took_s < _SHORT_S else _FEW_BYTES
        took_s = _long_answer_s(engine, session, size)
    return None if took_s is None else float(f"{size / took_s / 1e6:.3g}")


def _long_answer_s(engine: Database, session: Session, size: int) -> float | None:
    begun_s = time.perf_counter()
    came = engine.long_answer(session, size)
    return time.perf_counter() - begun_s if came == size else None
