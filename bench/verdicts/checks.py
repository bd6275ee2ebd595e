"""Checks of a run beside other work that fail without a fault of the server, and faults that they find."""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np

from bench.common import show, title
from bench.verdicts.noise import SIMULATED, Floats, Noise, gaussian
from bench.verdicts.table import Statement
from hdbkit.analysis.run.checks import drift
from hdbkit.analysis.run.costs import jumps

RUNS = SIMULATED // 10
TYPICAL_MS = np.array([4.0, 3.0, 4.5, 6.0, 6.0])
"""Latencies of the operations of TPROC-C; a log of 0.8 of each operation's own."""
SHARES = np.array([0.45, 0.43, 0.04, 0.04, 0.04])
BUSY = 0.7
"""A standard deviation of the noise multiplies all latencies by two; each operation varies by a quarter besides."""


def latencies(noise: Noise, runs: int, operations: int, draw: np.random.Generator, times: float = 1.0) -> Floats:
    """The median latency of each operation in the runs of a series (series, runs, operations).

    In the last run the fourth operation takes so many ``times`` as long.
    """
    counts = np.maximum(operations * SHARES, 10)
    busy = BUSY * noise((RUNS, runs), draw)[:, :, None]
    own = 0.25 * draw.normal(size=(RUNS, runs, 5))
    medians = 1.25 * 0.8 / np.sqrt(counts) * draw.normal(size=(RUNS, runs, 5))
    made: Floats = TYPICAL_MS * np.exp(busy + own + medians)
    made[:, -1, 3] *= times
    return made


def failed(noise: Noise, operations: int, times: float = 1.0) -> float:
    """Per cent of runs in which a latency is said to have jumped since the five runs before."""
    made = latencies(noise, 6, operations, np.random.default_rng(31), times)
    found = 0
    for one in made:
        costs = {f"operation {at}": (median(one[:-1, at]), float(one[-1, at])) for at in range(5)}
        found += bool(jumps(costs, ""))
    return 100 * found / len(made)


def unsteady(noise: Noise, seconds: int) -> float:
    """Per cent of runs whose check of a steady state fails."""
    made = 1 + 0.03 * noise((RUNS, seconds), np.random.default_rng(32))
    return 100 * float(np.mean([one is not None and one.steady is False for one in map(drift, made)]))


_LENGTHS = {"5 s": 500, "60 s": 6000}
STATEMENTS = [
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


def main() -> None:
    """The power of the check of costs."""
    title(f"One of five operations slows down, {RUNS:,} runs each: no jump in cost fails")
    for length, count in _LENGTHS.items():
        for times in (4, 8, 20):
            rates = [failed(partial(_scaled, level), count, times) for level in (0.2, 1.0)]
            show(f"runs of {length}, {times} times, quiet host", rates[:1], unit="%")
            show(f"runs of {length}, {times} times, busy host", rates[1:], unit="%")


def _scaled(level: float, shape: tuple[int, int], draw: np.random.Generator) -> Floats:
    return level * gaussian(shape, draw)
