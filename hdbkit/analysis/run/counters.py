"""What the server counted, read at the edges of the window.

A counter query takes time; a value belongs to the middle between sending and answer, so the measured time of a
counter reaches from one middle to the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from hdbkit.readings import UPTIME

RUN_START = "run_start"
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
    rows = counters[counters["edge"] == edge]
    return {
        str(row["name"]): Reading(int(row["t_sent_us"]), int(row["t_returned_us"]), float(row["value"]))
        for row in rows.to_dict("records")
        if not math.isnan(row["value"])
    }


def growth(counters: pd.DataFrame | None) -> dict[str, Growth]:
    """The growth of every counter that was read at both edges and was not set back between: a crash may do that."""
    first, last = readings(counters, START), readings(counters, END)
    back = _set_back(counters)
    return {
        name: Growth(last[name].value - start.value, (last[name].middle_us - start.middle_us) / 1e6)
        for name, start in first.items()
        if name in last and name not in back
    }


def _set_back(counters: pd.DataFrame | None) -> set[str]:
    """The counters of which a later reading was less than an earlier one."""
    if counters is None:
        return set()
    steps = counters.sort_values("t_sent_us").groupby("name")["value"].diff()
    return set(counters.loc[steps[steps < 0].index, "name"])


def is_set_back(counters: pd.DataFrame, name: str) -> bool:
    """Whether a later reading of this counter was less than an earlier one."""
    return name in _set_back(counters[counters["name"] == name])


def restarts_s(counters: pd.DataFrame | None) -> list[float]:
    """When the server was started again during the run, in seconds since the run's start."""
    if counters is None:
        return []
    rows = counters[counters["name"] == UPTIME].sort_values("t_sent_us")
    sampled_s = (rows["t_sent_us"] + rows["t_returned_us"]) / 2e6
    started_s = (sampled_s - rows["value"]).tolist()
    return [round(now, 1) for before, now in pairwise(started_s) if now > before + _LATER_S]


def rate(grew: dict[str, Growth], *names: str, per_s: float) -> float | None:
    """The growth of these counters together per ``per_s`` seconds; None if one was not read, or none given."""
    if not names or any(name not in grew or grew[name].seconds <= 0 for name in names):
        return None
    return sum(per_s * grew[name].value / grew[name].seconds for name in names)
