"""Checks of a run beside other work that fail without a fault of the server."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
import pandas as pd

from bench.verdicts.noise import SIMULATED, Floats, Noise
from bench.verdicts.table import Statement
from hdbkit.analysis.run.checks import law_holds
from hdbkit.analysis.run.cost_jumps import jumps
from hdbkit.analysis.run.drift import drift
from hdbkit.analysis.run.records import Window
from hdbkit.analysis.run.summary import littles_law
from hdbkit.results.run_result import LittlesLaw

RUNS = SIMULATED // 10
LAWS, USERS = SIMULATED // 100, 4
TYPICAL_MS = np.array([4.0, 3.0, 4.5, 6.0, 6.0])
"""Latencies of the operations of TPROC-C; a log of 0.8 of each operation's own."""
SHARES = np.array([0.45, 0.43, 0.04, 0.04, 0.04])
BUSY = 0.7
"""A standard deviation of the noise multiplies all latencies by two; each operation varies by a quarter besides."""


def latencies(noise: Noise, runs: int, operations: int, draw: np.random.Generator) -> Floats:
    """The median latency of each operation in the runs of a series (series, runs, operations)."""
    counts = np.maximum(operations * SHARES, 10)
    busy = BUSY * noise((RUNS, runs), draw)[:, :, None]
    own = 0.25 * draw.normal(size=(RUNS, runs, 5))
    medians = 1.25 * 0.8 / np.sqrt(counts) * draw.normal(size=(RUNS, runs, 5))
    made: Floats = TYPICAL_MS * np.exp(busy + own + medians)
    return made


def failed(noise: Noise, operations: int) -> float:
    """Per cent of runs in which a latency is said to have jumped since the five runs before."""
    made = latencies(noise, 6, operations, np.random.default_rng(31))
    found = 0
    for one in made:
        costs = {f"operation {at}": (median(one[:-1, at]), float(one[-1, at])) for at in range(5)}
        found += bool(jumps(costs, ""))
    return 100 * found / len(made)


def unsteady(noise: Noise, seconds: int) -> float:
    """Per cent of runs whose check of a steady state fails."""
    made = 1 + 0.03 * noise((RUNS, seconds), np.random.default_rng(32))
    return 100 * float(np.mean([one is not None and one.steady is False for one in map(drift, made)]))


@dataclass(frozen=True)
class Lived:
    """What the users of a closed loop did in one window: the law, and what its edges may cut off."""

    law: LittlesLaw
    cut_us: float
    pause_us: float
    duration_s: float

    @property
    def holds(self) -> bool:
        """Whether the check passes."""
        return law_holds(self.law, self.cut_us + 2 * self.pause_us, self.duration_s)


def lived(noise: Floats, seconds: int, stalls: float, draw: np.random.Generator, outside: float) -> Lived:
    """Operations of 12 ms on a host whose speed changes from second to second; a share is ``outside`` the calls.

    ``noise`` has a second before the window and one after it. In a share of the tenths of a second nothing runs.
    """
    speeds = np.exp(-BUSY * np.clip(noise - noise.mean(), -3, 3))
    tenths = np.repeat(speeds, 10) * (draw.random(10 * len(noise)) >= stalls)
    worked = np.concatenate([[0.0], np.cumsum(np.maximum(tenths, 1e-6) / 10)])
    clock, window = np.arange(len(worked)) / 10, Window(round(1e6), round(1e6 * (1 + seconds)))
    count = int(worked[-1] / 0.012 * 1.5) + 50
    parts = draw.lognormal(0, 0.8, (USERS, count, 2)) * (0.012 * (1 - outside), 0.012 * outside) / np.exp(0.32)
    edges_us = 1e6 * np.interp(np.cumsum(parts.reshape(USERS, -1), axis=1), worked, clock, right=10 * clock[-1])
    ends, starts = edges_us[:, ::2], np.hstack([np.zeros((USERS, 1)), edges_us[:, 1:-1:2]])
    inside = (ends >= window.start_us) & (ends < window.end_us)
    rows = pd.DataFrame({"user": np.nonzero(inside)[0], "start": starts[inside], "end": ends[inside]})
    of_user = rows.assign(busy_us=rows["end"] - rows["start"]).groupby("user")
    users = pd.DataFrame(
        {
            "n": of_user.size(),
            "busy_us": of_user["busy_us"].sum(),
            "span_us": of_user["end"].max() - of_user["start"].min(),
        }
    )
    over = [
        float((ends - starts)[(starts < edge) & (ends >= edge)].sum()) for edge in (window.start_us, window.end_us)
    ]
    law = littles_law(users, window, USERS)
    pauses = np.where(starts[:, 1:] < window.end_us, starts[:, 1:] - ends[:, :-1], 0)
    return Lived(law, (law.mean_us or 0.0) + max(over) / USERS, float(pauses.max()), window.duration_s)


def law_fails(noise: Noise, seconds: int, stalls: float, outside: float) -> float:
    """Per cent of runs in which Little's law fails, on a server without a fault."""
    draw = np.random.default_rng(33)
    series = noise((LAWS, seconds + 2), draw)
    return 100 * float(np.mean([not lived(one, seconds, stalls, draw, outside).holds for one in series]))


_LENGTHS = {"5 s": 500, "60 s": 6000}
STATEMENTS = [
    *(
        Statement(
            f"Little's law, runs of {seconds} s, {outside:.0%} of a user's time outside the calls"
            f"{f', {stalls:.0%} of the time nothing runs' if stalls else ''}: fails",
            1,
            partial(law_fails, seconds=seconds, stalls=stalls, outside=outside),
        )
        for seconds in (5, 60)
        for stalls, outside in ((0.0, 0.2), (0.3, 0.2), (0.3, 0.8))
    ),
    *(
        Statement(f"no jump in cost, runs of {length} beside other work: fails", 1, partial(failed, operations=count))
        for length, count in _LENGTHS.items()
    ),
    *(
        Statement(
            f"steady state, {seconds} s (a drift, walk, step or decay is one): fails",
            1,
            partial(unsteady, seconds=seconds),
        )
        for seconds in (10, 60)
    ),
]
