"""Sweeps by slices: how often equal configurations are called different, and how often a true effect is found.

Simulated (``REAL=0``: nothing else): the log throughput of a slice is that of its configuration plus autoregressive
noise along the run. Slices are in the order of :class:`~hdbkit.slices.SliceOrder`, stretches as
``analysis.sweep.observations`` makes them, and intervals those of ``analysis.sweep.verdicts``, vectorized.

Measured on the private PostgreSQL: sweeps of two equal configurations and of two that differ by 5 %, by slices and by
whole runs, with the same measured seconds, one after the other in random order. The operation of the workload
computes, and 5 % more while a setting that vacuum alone uses has its baseline's value. ``SWEEPS`` is the number of
sweeps of each kind, ``WINDOW_S`` the measured seconds of each, ``RUNS`` the number of runs by slices in a sweep;
Each sweep is printed as it ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import hdbkit
from bench.common import blocks, quick_or, scratch, server, show, title
from bench.verdicts.judging import Sweeps, intervals
from bench.verdicts.noise import SIMULATED, Floats, Noise, autoregressive
from bench.verdicts.sweeps import PLANNED, Flags, any_in_row, compare_with_judge
from bench.verdicts.table import Statement
from hdbkit.analysis.sweep.observations import MAX_STRETCHES, MIN_RUN_DF
from hdbkit.config.preparation import Reset
from hdbkit.config.sweep_spec import CompareBy
from hdbkit.servers import PrivateServer
from hdbkit.slices import SliceOrder, Slices
from hdbkit.workloads import specification

RUNS = 3
CYCLES = (12, 20, 60)
CORRELATIONS = (0.0, 0.5, 0.9)
NOISE = 0.05
"""The standard deviation of a slice's log throughput."""
_ORDERS = 50
"""Different orders of slices; sweeps share them in turn."""
_AT_ONCE = 2000
SWEEPS = int(os.environ.get("SWEEPS", quick_or(2, 20)))
WINDOW_S = float(os.environ.get("WINDOW_S", quick_or(12, 60)))
SLICED_RUNS, PLAIN_BLOCKS = int(os.environ.get("RUNS", "4")), 4
SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "equal": {"vacuum_cost_page_hit": ("1", "2")},
    "+5 %": {"vacuum_cost_page_miss": ("2", "3")},
}
WORKLOAD = """
name: computing
title: an operation that computes
schema_name: computing
scale: one row
metric: {name: operations/s, title: operations per second, unit: operations/s}
operations: {compute: {reads_only: true}}
tables: {entries: {rows: 1, columns: {id: row}}}
"""
STATEMENTS = """
-- name: compute
SELECT count(*) FROM generate_series(1, 20000 + 1000 * (current_setting('vacuum_cost_page_miss') = '2')::int);

-- name: create_entries
CREATE TABLE entries (id INT NOT NULL PRIMARY KEY);
"""
"""The operation computes 5 % more at the baseline of "+5 %"."""


def sliced(
    size: int, cycles: int, correlation: float | Noise, sweeps: int, draw: np.random.Generator,
    *, effect: float = 0.0, runs: int = RUNS, varying: float = 0.0,
) -> Sweeps:  # fmt: skip
    """Sweeps of so many runs and cycles, over correlated or another noise along each run.

    Configuration 1 is faster by ``effect``; ratios vary from run to run with the standard deviation ``varying``.
    """
    noise = correlation if callable(correlation) else partial(autoregressive, correlation)
    timed = NOISE * noise((sweeps * runs, cycles * size), draw)
    orders = np.array([_order(size, cycles, int(draw.integers(2**30))) for _ in range(_ORDERS)])
    places = orders[draw.integers(0, _ORDERS, sweeps * runs)].reshape(-1, cycles, size)
    logs = np.take_along_axis(timed.reshape(-1, cycles, size), places.argsort(axis=2), axis=2)
    apart = draw.normal(0, varying / np.sqrt(2), (sweeps * runs, 1, size))
    logs += apart
    logs[:, :, 1] += np.log1p(effect)
    stretches = _stretches(logs)
    length = stretches.shape[1]
    joined = stretches.reshape(sweeps, runs * length, size)
    return Sweeps(joined, np.ones_like(joined), length, apart.reshape(sweeps, runs, size))


def _order(size: int, cycles: int, seed: int) -> list[list[int]]:
    """The place of each slice, (cycles, slices)."""
    settings: tuple[dict[str, str], ...] = ({},) * size
    order = SliceOrder(
        Slices(configurations=tuple(range(size)), settings=settings, slice_s=0.25, seed=seed, in_session=True)
    )
    return [[order.position(cycle * size + one) for one in range(size)] for cycle in range(cycles)]


def _stretches(logs: Floats) -> Floats:
    """The log throughput of each stretch of cycles, (runs, stretches, configurations)."""
    cycles = logs.shape[1]
    count = min(cycles, MAX_STRETCHES)
    stretch = np.arange(cycles) * count // cycles
    parts = [np.exp(logs[:, stretch == one]).mean(axis=1) for one in range(count)]
    found: Floats = np.log(np.stack(parts, axis=1))
    return found


def called(size: int, cycles: int, correlation: float, draw: np.random.Generator, effect: float = 0.0) -> Floats:
    """For each sweep whether a statement is false (no effect), or whether the effect is found."""
    found = []
    for _ in range(-(-SIMULATED // _AT_ONCE)):
        sweeps = sliced(size, cycles, correlation, _AT_ONCE, draw, effect=effect)
        low, high = intervals(sweeps, PLANNED)
        found.append(low[:, 0] > 0 if effect else misses(low, high, sweeps))
    return np.concatenate(found).astype(np.float64)


def misses(low: Floats, high: Floats, sweeps: Sweeps) -> Flags:
    """Whether an interval of each sweep of equal ones lacks the true ratio; with few runs, that of these."""
    return any_in_row((low > sweeps.truth) | (high < sweeps.truth))


def wrong_sweeps(size: int, runs: int, varying: float, noise: Noise) -> float:
    """The per cent of sweeps of equal configurations with this noise along runs that make a false statement."""
    sweeps = sliced(size, 60, noise, SIMULATED // 20, np.random.default_rng(43), runs=runs, varying=varying)
    return 100 * float(misses(*intervals(sweeps, PLANNED), sweeps).mean())


CLAIMS = [
    Statement(
        f"a sweep by slices, {size} configurations, {runs} runs, ratios vary from run to run by {100 * varying:g} %: "
        f"{'equal ones differ' if (size - 1) * (runs - 1) >= MIN_RUN_DF else 'an interval misses these runs'}",
        5.5,
        partial(wrong_sweeps, size, runs, varying),
    )
    for size, runs in ((2, 2), (2, 3), (2, 8), (4, 3))
    for varying in ((0, 0.1, 0.5) if size == 2 else (0, 0.03))
]


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
    title(f"A true +2 % by slices, {RUNS} runs, noise of a slice {NOISE:.0%}: found")
    for correlation in CORRELATIONS:
        rates = [100 * float(called(2, cycles, correlation, draw, 0.02).mean()) for cycles in CYCLES]
        note = f"{', '.join(f'{rate:.0f}' for rate in rates)} with {', '.join(map(str, CYCLES))} cycles a run"
        show(f"correlation {correlation:g}", [rates[-1]], unit="%", note=note)


def swept(own: PrivateServer, workload: hdbkit.WorkloadSpec, kind: str, compare_by: CompareBy) -> dict[Hashable, Any]:
    """The verdict of one sweep on the configuration that is not the baseline."""
    slices = compare_by is CompareBy.SLICES
    runs = SLICED_RUNS if slices else 2 * PLAIN_BLOCKS
    spec = hdbkit.SweepSpec(
        settings=SETTINGS[kind],
        workload=workload,
        virtual_users=(2,),
        blocks=SLICED_RUNS if slices else PLAIN_BLOCKS,
        compare_by=compare_by,
        reset=Reset.NONE,
        cooldown_s=0,
        seed=int(np.random.default_rng().integers(2**30)),
        load=hdbkit.Load(rampup_s=0.5, duration_s=WINDOW_S / runs, counter_interval_s=60),
    )
    begun_s = time.monotonic()
    found = hdbkit.sweep(own.target, spec).verdicts.to_dict("records")[1]
    ends = "(no interval)" if np.isnan(found["low"]) else f"({found['low']:.3f} to {found['high']:.3f})"
    print(
        f"  {kind}, by {compare_by.value}: {found['verdict']} {found['ratio']:.3f} {ends} in "
        f"{time.monotonic() - begun_s:.0f} s, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return found


def tell(way: str, verdicts: Sequence[Mapping[Hashable, Any]]) -> None:
    """Print how often a difference was found, and the noise of the estimate."""
    apart = [one["verdict"] in ("faster", "slower") for one in verdicts]
    logs = np.log([float(one["ratio"]) for one in verdicts])
    half = 50 * float(np.nanmedian(np.log([float(one["high"] / one["low"]) for one in verdicts])))
    note = f"mean {100 * logs.mean():+.2f} %, deviation {100 * logs.std(ddof=1):.2f} %, half width {half:.2f} %"
    at_most, at_least = {"equal, by slices": (8.0, None), "+5 %, by slices": (None, 90.0)}.get(way, (None, None))
    share = 100 * float(np.mean(apart))
    exact = scipy.stats.binomtest(sum(apart), len(apart)).proportion_ci()
    note = f"{sum(apart)} of {len(apart)} ({100 * exact.low:.0f} to {100 * exact.high:.0f} %); {note}"
    show(f"{way}: called different", [share], unit="%", at_most=at_most, at_least=at_least, note=note)


def measured() -> None:
    """Sweeps on the private PostgreSQL, by slices and by whole runs."""
    title(f"{SWEEPS} sweeps of each kind, {WINDOW_S:g} s measured in each")
    with scratch() as folder, server() as own:
        workload = specification(_folder(folder / "computing"))
        hdbkit.connect(own.target).build(workload)
        ways = {
            f"{kind}, by {how.value}": partial(swept, own, workload, kind, how)
            for kind in SETTINGS
            for how in (CompareBy.SLICES, CompareBy.RUNS)
        }
        done = blocks(ways, SWEEPS)
    for way in ways:
        tell(way, [one[way] for one in done])


def _folder(path: Path) -> Path:
    """The folder of the workload."""
    path.mkdir()
    (path / "workload.yaml").write_text(WORKLOAD, encoding="utf-8")
    (path / "statements.sql").write_text(STATEMENTS, encoding="utf-8")
    return path


def main() -> None:
    """Print all figures."""
    simulated()
    if os.environ.get("REAL") != "0":
        measured()
