"""Sweeps by slices: how often equal configurations are called different, and how often a true effect is found.

Simulated (``REAL=0``: nothing else): the log throughput of a slice is that of its configuration plus autoregressive
noise along the run. Slices are in the order of :class:`~hdbkit.slices.SliceOrder`, stretches as
``analysis.sweep.observations`` makes them, and intervals those of ``analysis.sweep.verdicts``, vectorized.

Measured on the private PostgreSQL: sweeps of equal configurations by slices and by whole runs, and of two that differ
by 5 % through a delay in the baseline's operations, each with the same time in the same hour. ``SWEEPS`` is their
number, ``WINDOW_S`` the measured seconds of each, and ``BUSY=1`` measures beside two busy processes.
"""

from __future__ import annotations

import numpy as np

from bench.common import show, title
from bench.verdicts.judging import Sweeps, intervals
from bench.verdicts.noise import SIMULATED, Floats, autoregressive
from bench.verdicts.sweeps import PLANNED, any_in_row, compare_with_judge
from hdbkit.analysis.sweep.observations import MAX_STRETCHES
from hdbkit.slices import SliceOrder, Slices

RUNS = 3
CYCLES = (12, 20, 60)
CORRELATIONS = (0.0, 0.5, 0.9)
NOISE = 0.05
"""The standard deviation of a slice's log throughput."""
_ORDERS = 50
"""Different orders of slices; sweeps share them in turn."""
_AT_ONCE = 2000


def sliced(
    size: int, cycles: int, correlation: float, sweeps: int, draw: np.random.Generator, effect: float = 0.0
) -> Sweeps:
    """Sweeps of ``RUNS`` runs of so many cycles; configuration 1 is faster by ``effect``."""
    timed = NOISE * autoregressive(correlation, (sweeps * RUNS, cycles * size), draw)
    orders = np.array([_order(size, cycles, int(draw.integers(2**30))) for _ in range(_ORDERS)])
    places = orders[draw.integers(0, _ORDERS, sweeps * RUNS)].reshape(-1, cycles, size)
    logs = np.take_along_axis(timed.reshape(-1, cycles, size), places.argsort(axis=2), axis=2)
    logs[:, :, 1] += np.log1p(effect)
    stretches = _stretches(logs)
    length = stretches.shape[1]
    joined = stretches.reshape(sweeps, RUNS * length, size)
    return Sweeps(joined, np.ones_like(joined), length)


def _order(size: int, cycles: int, seed: int) -> list[list[int]]:
    """The place of each slice, (cycles, slices)."""
    settings: tuple[dict[str, str], ...] = ({},) * size
    order = SliceOrder(
        Slices(configurations=tuple(range(size)), settings=settings, slice_s=0.25, seed=seed, in_session=True)
    )
    return [[order.place(cycle * size + one) for one in range(size)] for cycle in range(cycles)]


def _stretches(logs: Floats) -> Floats:
    """The log throughput of each stretch of cycles, (runs, stretches, configurations)."""
    cycles = logs.shape[1]
    count = min(cycles, MAX_STRETCHES)
    stretch = np.arange(cycles) * count // cycles
    parts = [np.exp(logs[:, stretch == one]).mean(axis=1) for one in range(count)]
    found: Floats = np.log(np.stack(parts, axis=1))
    return found


def called(size: int, cycles: int, correlation: float, draw: np.random.Generator, effect: float = 0.0) -> Floats:
    """For each sweep whether something is called different (no effect), or whether the effect is found."""
    found = []
    for _ in range(-(-SIMULATED // _AT_ONCE)):
        sweeps = sliced(size, cycles, correlation, _AT_ONCE, draw, effect)
        low, high = intervals(sweeps, PLANNED)
        found.append(low[:, 0] > 0 if effect else any_in_row((low > 0) | (high < 0)))
    return np.concatenate(found).astype(np.float64)


def simulated() -> None:
    """False verdicts and power over the number of configurations, cycles, and the correlation of slices."""
    draw = np.random.default_rng(13)
    compare_with_judge(sliced(4, 60, 0.5, 3, draw), 3)
    title(f"Equal configurations by slices, {RUNS} runs, {SIMULATED:,} sweeps each: called different")
    for size in (2, 4, 8):
        for correlation in CORRELATIONS:
            rates = [100 * float(called(size, cycles, correlation, draw).mean()) for cycles in CYCLES]
            note = f"{', '.join(f'{rate:.1f}' for rate in rates)} with {', '.join(map(str, CYCLES))} cycles a run"
            what = f"{size} configurations, correlation {correlation:g}: the most"
            show(what, [max(rates)], unit="%", at_most=5.5, note=note)
    title(f"A true effect by slices, {RUNS} runs, noise of a slice {NOISE:.0%}: found")
    for effect in (0.02, 0.05):
        for correlation in CORRELATIONS:
            rates = [100 * float(called(2, cycles, correlation, draw, effect).mean()) for cycles in CYCLES]
            note = f"with {', '.join(map(str, CYCLES))} cycles a run"
            listed = ", ".join(f"{rate:.0f}" for rate in rates)
            show(f"+{effect:.0%}, correlation {correlation:g}", [rates[-1]], unit="%", note=f"{listed} {note}")


def main() -> None:
    """Print all figures."""
    simulated()
