"""Reads the clocks of load hosts by bursts of short messages."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from hdbkit.cluster.connection import Connection
from hdbkit.results.host_clock import Estimate, Exchange, estimate

_EXCHANGES: Final = 24
_ANSWER_S: Final = 3.0


def read_clocks(connection: Connection, actors: Mapping[int, Any]) -> dict[int, Estimate]:
    """An estimate of the clock of each host that answers. They are asked in turn, so that none delays another."""
    found: dict[int, Estimate] = {}
    for number, actor in actors.items():
        answers = connection.all({number: partial(_burst, actor)}, _ANSWER_S)
        if exchanges := answers.get(number):
            found[number] = estimate(exchanges)
    return found


def noted(one: Estimate) -> tuple[int, float, float]:
    """An estimate as it is kept beside the spools."""
    return one.at_ns, one.offset_ns, one.uncertainty_ns


async def _burst(actor: Any) -> list[Exchange]:
    found = []
    for _ in range(_EXCHANGES):
        sent_ns = time.monotonic_ns()
        received_ns, answered_ns = await actor.clock()
        found.append(Exchange(sent_ns, received_ns, answered_ns, time.monotonic_ns()))
    return found
