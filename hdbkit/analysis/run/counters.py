"""What the server and the schema counted, read at the edges of the window.

A counter query takes time; a value belongs to the middle between sending and answer, so the measured time of a
counter reaches from one middle to the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from hdbkit.later import pandas as pd
from hdbkit.readings import UPTIME
from hdbkit.results.columns import COUNTED

RUN_END = "run_end"
START = "start"
END = "end"
_LATER_S = 2.0
"""How much later a server must have been started than by the sample before: some count whole seconds."""


@dataclass(frozen=True)
class Reading:
    """A counter's running total, and when its query was sent and answered."""

    t_sent_us: int
    t_returned_us: int
    value: float

    @property
    def middle_us(self) -> float:
        """The time the total stands for."""
        return (self.t_sent_us + self.t_returned_us) / 2


@dataclass(frozen=True)
class Growth:
    """How much a counter grew between the edges of the window, and the seconds between its two readings."""

    value: float
    seconds: float


def readings(counters: pd.DataFrame | None, edge: str) -> dict[str, Reading]:
    """Every counter that was read at an edge, by name; those without a value are left out."""
    if counters is None:
        return {}
    rows = zip(
        *(counters[one].tolist() for one in ("edge", "name", "t_sent_us", "t_returned_us", "value")), strict=True
    )
    return {
        name: Reading(sent_us, returned_us, value)
        for at, name, sent_us, returned_us, value in rows
        if at == edge and not math.isnan(value)
    }


def growth(counters: pd.DataFrame | None) -> dict[str, Growth]:
    """The growth of every counter that was read at both edges, is of one server, and was not set back between.

    A crash may set them back. What the schema counts is the same on every server.
    """
    first, last = readings(counters, START), readings(counters, END)
    back = first.keys() - {COUNTED} if moves_s(counters) else _set_back(counters)
    return {
        name: Growth(last[name].value - start.value, (last[name].middle_us - start.middle_us) / 1e6)
        for name, start in first.items()
        if name in last and name not in back
    }


def _set_back(counters: pd.DataFrame | None) -> set[str]:
    """The counters of which a later reading was less than an earlier one."""
    if counters is None:
        return set()
    in_order = counters.sort_values("t_sent_us")
    back, before = set[str](), dict[str, float]()
    for name, value in zip(in_order["name"].tolist(), in_order["value"].tolist(), strict=True):
        if value < before.get(name, -math.inf):
            back.add(name)
        before[name] = value
    return back


def is_set_back(counters: pd.DataFrame, name: str) -> bool:
    """Whether a later reading of this counter was less than an earlier one."""
    return name in _set_back(counters[counters["name"] == name])


def restarts_s(counters: pd.DataFrame | None) -> list[float]:
    """When the server was started again during the run, in seconds since the run's start."""
    return [round(change.started_s, 1) for change in _changes(counters) if not change.other_server]


def moves_s(counters: pd.DataFrame | None) -> list[float]:
    """When another server was first seen to answer, in seconds since the run's start, as after a failover."""
    return [round(change.seen_s, 1) for change in _changes(counters) if change.other_server]


@dataclass(frozen=True)
class _Change:
    """A reading with another start of the server than the one before: when it was, and when it was started."""

    seen_s: float
    started_s: float
    other_server: bool
    """It was started before the reading of the one before, so both ran at the same time."""


def _changes(counters: pd.DataFrame | None) -> list[_Change]:
    if counters is None:
        return []
    rows = counters[counters["name"] == UPTIME]
    if rows.empty:
        return []
    rows = rows.sort_values("t_sent_us")
    seen_s = (rows["t_sent_us"] + rows["t_returned_us"]) / 2e6
    readings_s = zip(seen_s.tolist(), (seen_s - rows["value"]).tolist(), strict=True)
    return [
        _Change(at, started, other_server=started < before - _LATER_S)
        for (before, known), (at, started) in pairwise(readings_s)
        if abs(started - known) > _LATER_S
    ]


def rate(grew: dict[str, Growth], *names: str, per_s: float) -> float | None:
    """The growth of these counters together per ``per_s`` seconds; None if one was not read, or none given."""
    if not names or any(name not in grew or grew[name].seconds <= 0 for name in names):
        return None
    return sum(per_s * grew[name].value / grew[name].seconds for name in names)
