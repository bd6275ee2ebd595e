"""Error rates of the verdicts of sweeps over recorded noise between runs.

A simulated sweep takes stretches of four neighbouring runs from the noise, so that what hangs together in time still
does, adds a drift of 4 % from its first run to its last, and puts the runs into the order within blocks that
``run_order.in_turn`` gives. It is judged by the formulas of complete blocks, vectorized; some sweeps are judged by
``hdbkit.analysis.sweep.verdicts`` too, which must give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.common import show, title
from bench.verdicts.judging import Sweeps, by_each_model, intervals
from bench.verdicts.noise import (
    SIMULATED,
    Floats,
    Noise,
    Shape,
    autoregressive,
    gaussian,
    heavy_tailed,
    random_walk,
    recorded,
    scaled,
)
from bench.verdicts.table import Statement
from hdbkit.analysis.statistics.block_model import MIN_DF_FOR_DRIFT
from hdbkit.analysis.statistics.detection import Design, detectable
from hdbkit.analysis.statistics.dunnett import TABULATED_DF, critical_value, equal_replication
from hdbkit.analysis.statistics.power import POWER, Critical, blocks_needed
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.sweep.observations import units
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.config.metric import Metric
from hdbkit.run_order import baseline_runs, in_turn

Flags = NDArray[np.bool_]

DRIFT = 0.04
STRETCH = 4
"""The block length of the bootstrap: about the cube root of the number of runs (Hall, Horowitz and Jing 1995)."""
SMALLEST = 0.02
LOOKS = (4, 8, 12)
LEVELS = [Spending(LOOKS[-1], LOOKS).level(blocks) for blocks in LOOKS]
PLANNED = Spending(8, (8,)).level(8)
"""The level of the intervals at the planned end of a sweep, whatever its number of blocks."""
ORDERS = 1000
"""Different orders of runs; more would take longer than all else."""
MAX_ADVISED = 100
"""More blocks than these are not advised (``hdbkit.analysis.sweep.warnings``)."""


def series(noise: Floats, sweeps: int, runs: int, draw: np.random.Generator, stretch: int = STRETCH) -> Floats:
    """Log throughputs of equal runs, (sweeps, runs): blocks of the noise, in order of time."""
    starts = draw.integers(0, len(noise), size=(sweeps, -(-runs // stretch)))
    places = (starts[:, :, None] + np.arange(stretch)) % len(noise)
    drawn: Floats = noise[places.reshape(sweeps, -1)[:, :runs]]
    return drawn


def runs_in_block(size: int) -> int:
    """The runs of a block of so many configurations."""
    return size - 1 + baseline_runs(size - 1)


def turns(size: int, blocks: int, sweeps: int, draw: np.random.Generator) -> NDArray[np.intp]:
    """The position of each run in each block, as ``in_turn`` gives it, those of the baseline first.

    Sweeps share ``ORDERS``.
    """
    seed, orders = int(draw.integers(2**40)), min(sweeps, ORDERS)
    made = [[in_turn(runs_in_block(size), seed + one, block + 1) for block in range(blocks)] for one in range(orders)]
    return np.array(made)[np.arange(sweeps) % orders]


def placed(timed: Floats, positions: NDArray[np.intp], effects: Sequence[float]) -> Sweeps:
    """The sweeps of runs in the order of time, (sweeps, runs)."""
    sweeps, blocks, runs = positions.shape
    logs = np.take_along_axis(timed.reshape(sweeps, blocks, runs), positions, axis=2)
    made = Sweeps(logs, positions + runs * np.arange(blocks)[:, None] + 1.0, baseline=runs - len(effects) + 1)
    return replace(made, logs=logs + np.log1p(np.asarray(effects))[made.cell])


def simulated(
    noise: Floats, effects: Sequence[float], blocks: int, sweeps: int, draw: np.random.Generator, *,
    drift: float = DRIFT, in_blocks: bool = True, stretch: int = STRETCH,
) -> Sweeps:  # fmt: skip
    """Sweeps over noise; ``in_blocks=False``: all of one configuration, then all of the next."""
    size = len(effects)
    runs = blocks * (runs_in_block(size) if in_blocks else size)
    timed = series(noise, sweeps, runs, draw, stretch) - drift * np.linspace(0, 1, runs)
    if in_blocks:
        return placed(timed, turns(size, blocks, sweeps, draw), effects)
    numbers = np.arange(blocks * size).reshape(size, blocks).T + 1.0
    logs = timed.reshape(sweeps, size, blocks).transpose(0, 2, 1) + np.log1p(np.asarray(effects))
    return Sweeps(logs, np.broadcast_to(numbers, logs.shape))


def called(sweeps: Sweeps, level: float = 0.95, family: bool = True) -> Flags:
    """Whether each sweep calls a configuration different from the baseline."""
    low, high = intervals(sweeps, level, family)
    return any_in_row((low > 0) | (high < 0))


def any_in_row(flags: Flags) -> Flags:
    """Whether a row has a true value."""
    found: Flags = np.logical_or.reduce(flags, axis=1)
    return found


def at_looks(
    sweeps: Sweeps, looks: Sequence[int], levels: Sequence[float], one_sided: bool = True
) -> tuple[Flags, Floats]:
    """Whether each sweep calls something different at the look where it ends, and its number of blocks.

    ``one_sided=False``: equivalent only if the whole interval is within the limits (not done).
    """
    ended: Flags = np.zeros(len(sweeps.logs), dtype=bool)
    different: Flags = np.zeros(len(sweeps.logs), dtype=bool)
    taken = np.full(len(sweeps.logs), float(looks[-1]))
    for blocks, level in zip(looks, levels, strict=True):
        low, high = intervals(sweeps.of(blocks), level)
        apart: Flags = (low > 0) | (high < 0)
        alike = within(*intervals(sweeps.of(blocks), 2 * level - 1 if one_sided else level))
        ends: Flags = ~ended & ((apart | alike).all(axis=1) | (blocks == looks[-1]))
        different[ends], taken[ends] = any_in_row(apart)[ends], blocks
        ended = ended | ends
    return different, taken


def within(low: Floats, high: Floats) -> Flags:
    """Whether each interval lies within the smallest effect that matters."""
    found: Flags = (low >= np.log1p(-SMALLEST)) & (high <= np.log1p(SMALLEST))
    return found


@cache
def critical_curve(compared: int, correlation: float, df: int) -> tuple[Floats, Floats]:
    """The critical value over the logarithm of the error rate, to be interpolated."""
    rates = np.geomspace(2e-5, 0.11, 12)
    return np.log(rates), np.array([critical_value([[correlation] * compared], df, 1 - rate) for rate in rates])


def critical_at(compared: int, correlation: float, df: float, level: float) -> float:
    """The critical value of one look, interpolated over the error rate and the degrees of freedom."""
    above = next(place for place, one in enumerate(TABULATED_DF) if one >= df)
    ends = [TABULATED_DF[one] for one in (above, max(above - 1, 0))]
    values = [float(np.interp(np.log(1 - level), *critical_curve(compared, correlation, one))) for one in ends]
    return float(np.interp(1 / max(df, 1.0), [1 / one for one in ends], values))


def resumed_as_advised(sweeps: Sweeps, blocks: int) -> tuple[Flags, Floats, Flags]:
    """Sweeps of ``blocks`` blocks, each resumed with the printed number until nothing is advised.

    Returns whether each calls something different at a result that it ends with, its number of blocks, and whether
    all that was undecided at first is decided by the first advice.
    """
    count, compared = len(sweeps.logs), int(sweeps.cell[-1])
    different, taken = np.zeros(count, dtype=bool), np.full(count, float(blocks))
    first = []
    for place in range(count):
        present, looks = blocks, [blocks]
        while True:
            level = Spending(blocks, tuple(looks)).level
            models, at = by_each_model(sweeps[place : place + 1].of(present)), level(present)
            ends, inner = (
                [
                    model.values[0] + side * model.errors[0]
                    * [critical_at(compared, model.correlation[0], one, which) for one in model.df[0]]
                    for side in (-1, 1)
                    for model in models
                ]
                for which in (at, 2 * at - 1)
            )  # fmt: skip
            differs = (np.min(ends, axis=0) > 0) | (np.max(ends, axis=0) < 0)
            undecided = ~differs & ~within(np.min(inner, axis=0), np.max(inner, axis=0))
            values, (errors, df) = models[0].values[0], (models[-1].errors[0], models[-1].df[0])
            if len(looks) == 2:
                first.append(not undecided.any())
            advised = [
                advice(compared, *one, present, level)
                for one in zip(values[undecided], errors[undecided], df[undecided], strict=True)
            ]
            affordable = [number for number in advised if number]
            if not affordable:
                break
            present = max(affordable)
            looks.append(present)
        different[place], taken[place] = differs.any(), present
    return different, taken, np.array(first, dtype=bool)


def advice(
    compared: int, value: float, error: float, df: float, present: int, level: Callable[[int], float]
) -> int | None:
    """The number of blocks that is printed for an undecided comparison."""
    in_block = compared + baseline_runs(compared) - 1
    whole = in_block * present - compared
    whole -= whole >= MIN_DF_FOR_DRIFT
    known = df / whole

    def later(blocks: int) -> Critical:
        at, df = level(blocks), max((whole + in_block * (blocks - present)) * known, 1.0)
        shared = equal_replication(1, 1, baseline_runs(compared))[0][0]
        return Critical(critical_at(compared, shared, df, at), critical_at(compared, shared, df, 2 * at - 1), df)

    needed = blocks_needed(
        value, -float(np.log1p(-SMALLEST)), error * np.sqrt(present / 2), df, present, later
    ).blocks
    return needed if needed and needed <= MAX_ADVISED else None


def as_runs(sweeps: Sweeps) -> pd.DataFrame:
    """The first of simulated sweeps as a frame for ``judge``."""
    _, blocks, size = sweeps.logs.shape
    runs = pd.DataFrame(
        {
            "number": sweeps.numbers[0].ravel(),
            "block": np.repeat(np.arange(blocks) + 1, size),
            "configuration": np.tile(sweeps.cell, blocks),
            "virtual_users": 1,
            "status": "done",
            "operations_per_s": 1.0,
            "metric_value": 10_000 * np.exp(sweeps.logs[0]).ravel(),
        }
    )
    if not sweeps.length:
        return runs
    stretch = runs["block"] - 1
    run = stretch // sweeps.length + 1
    return runs.assign(stretch=stretch % sweeps.length, block=run, number=run)


METRIC = Metric(name="throughput", title="operations per second", unit="operations/s")


def compare_with_judge(sweeps: Sweeps, some: int = 20) -> None:
    """Stop if the vectorized intervals of some sweeps differ from those of ``judge``."""
    low, high = intervals(sweeps[:some], 0.95)
    for place, (its_low, its_high) in enumerate(zip(low, high, strict=True)):
        one = sweeps[place : place + 1]
        rows = units(as_runs(one.by_run), as_runs(one), METRIC) if sweeps.length else as_runs(one)
        judged = judge(rows, METRIC)[1:]
        alike = within(*(one[place] for one in intervals(sweeps[:some], 0.9)))
        if not (
            np.allclose(np.log([ratio.interval for ratio in judged]).T, [its_low, its_high], atol=1e-7)
            and alike.tolist() == [ratio.equivalent for ratio in judged]
        ):
            raise RuntimeError("the simulation judges otherwise than hdbkit.analysis.sweep.verdicts")


def alike() -> None:
    """Equal configurations: the rate of false differences."""
    draw = np.random.default_rng(1)
    for noise in (recorded(), scaled(0.01)):
        title(f"Equal configurations, {SIMULATED:,} sweeps, noise of {noise.std():.1%} and a drift of {DRIFT:.0%}")
        for size in (2, 4, 8):
            for blocks in (4, 8):
                sweeps = simulated(noise, [0] * size, blocks, SIMULATED, draw)
                compare_with_judge(sweeps)
                share = 100 * called(sweeps, PLANNED).mean()
                show(f"{size} configurations, {blocks} blocks: called different", [share], unit="%", at_most=5.5)
    sweeps = simulated(noise, [0, 0], 8, SIMULATED, draw, in_blocks=False)
    show("2, all of one and then all of the other (not done)", [100 * called(sweeps).mean()], unit="%")
    sweeps = simulated(noise, [0] * 8, 8, SIMULATED, draw)
    show("8, each compared by itself (not done)", [100 * called(sweeps, family=False).mean()], unit="%")


Simulation = Callable[[int, int, int, np.random.Generator], Sweeps]
"""Of so many configurations, blocks and sweeps."""


def of_series(make: Noise, drift: float = 0.0) -> Simulation:
    """Sweeps over series of noise of 1 % in time, (sweeps, runs) of variance 1."""

    def made(size: int, blocks: int, sweeps: int, draw: np.random.Generator) -> Sweeps:
        runs = blocks * runs_in_block(size)
        timed = 0.01 * make((sweeps, runs), draw) - drift * np.linspace(0, 1, runs)
        return placed(timed, turns(size, blocks, sweeps, draw), [0] * size)

    return made


def outlying(shape: Shape, draw: np.random.Generator) -> Floats:
    """One run is 30 % slower."""
    noise: Floats = draw.normal(size=shape)
    noise[np.arange(shape[0]), draw.integers(0, shape[1], shape[0])] -= 30
    return noise


def unequal(size: int, blocks: int, sweeps: int, draw: np.random.Generator) -> Sweeps:
    """One configuration, at random, has three times the noise of the others."""
    made = of_series(gaussian)(size, blocks, sweeps, draw)
    noisy = draw.integers(0, size, sweeps)
    scale = np.where(made.cell == noisy[:, None], 3, 1)[:, None, :]
    return replace(made, logs=made.logs * scale)


def carried_over(size: int, blocks: int, sweeps: int, draw: np.random.Generator) -> Sweeps:
    """One configuration, at random, speeds up the run after it by 3 %."""
    positions = turns(size, blocks, sweeps, draw)
    order = np.maximum(positions.argsort(axis=2) - runs_in_block(size) + size, 0).reshape(sweeps, -1)
    timed = 0.01 * draw.normal(size=order.shape)
    timed[:, 1:] += 0.03 * (order[:, :-1] == draw.integers(0, size, sweeps)[:, None])
    return placed(timed, positions, [0] * size)


NOISES: dict[str, Simulation] = {
    "independent": of_series(gaussian),
    "drift of 4 %": of_series(gaussian, 0.04),
    "drift of 15 %": of_series(gaussian, 0.15),
    "random walk": of_series(random_walk),
    "correlation 0.5": of_series(partial(autoregressive, 0.5)),
    "t with 3 df": of_series(heavy_tailed),
    "one outlier": of_series(outlying),
    "one noise x 3": unequal,
    "3 % carried over": carried_over,
}
BLOCKS = (3, 4, 5, 8)


def wrong_sweeps(size: int, blocks: int, noise: Noise) -> float:
    """The per cent of sweeps of equal configurations under this noise that call one different."""
    made = of_series(noise)(size, blocks, SIMULATED // 10, np.random.default_rng(43))
    return 100 * float(called(made, PLANNED).mean())


def in_a_wave(period: float, height: float, noise: Noise) -> Noise:
    """The noise beside a wave of this period in runs and this height, of a random phase."""

    def made(shape: Shape, draw: np.random.Generator) -> Floats:
        phase = draw.uniform(0, 2 * np.pi, (shape[0], 1))
        wave: Floats = height * np.sin(2 * np.pi * np.arange(shape[1]) / period + phase)
        return noise(shape, draw) + wave

    return made


def wrong_of_two(blocks: int, noise: Noise, height: float = 0.0, period: float = 2.0, left: float = 0.0) -> float:
    """The same as ``wrong_sweeps`` of two, in waves of this period in blocks, or where a run leaves ``left`` behind.

    Both in standard deviations of the noise.
    """
    draw = np.random.default_rng(45)
    count, positions = SIMULATED // 10, turns(2, blocks, SIMULATED // 10, draw)
    timed = in_a_wave(2 * period, height, noise)((count, 2 * blocks), draw)
    timed[:, 1:] += left * positions.argsort(axis=2).reshape(count, -1)[:, :-1]
    return 100 * float(called(placed(0.01 * timed, positions, [0, 0]), PLANNED).mean())


def wrong_with_fresh_blocks(noise: Noise) -> float:
    """The per cent of sweeps of 8 equal configurations, 8 blocks, and 4 fresh ones of the three best, that err."""
    draw, spending = np.random.default_rng(43), Spending(8, (8,))
    first = called(of_series(noise)(8, 8, SIMULATED // 10, draw), PLANNED)
    return 100 * float((first | called(of_series(noise)(4, 4, SIMULATED // 10, draw), spending.left(8))).mean())


def wrong_beside_a_noisy_one(size: int, blocks: int, noise: Noise, which: int = 1, times: float = 10) -> float:
    """The same as ``wrong_sweeps`` where one configuration has several times the noise."""
    made = of_series(noise)(size, blocks, SIMULATED // 10, np.random.default_rng(43))
    more = np.sqrt(times**2 - 1) * 0.01 * np.random.default_rng(44).normal(size=made.logs.shape)
    noisier = replace(made, logs=made.logs + np.where(made.cell == which, more, 0))
    return 100 * float(called(noisier, PLANNED).mean())


wrong_beside_a_noisy_baseline = partial(wrong_beside_a_noisy_one, which=0, times=3)


STATEMENTS = [
    Statement(
        f"a sweep by runs, {size} configurations, {blocks} blocks: one of equal ones is different",
        5.5,
        partial(wrong_sweeps, size, blocks),
    )
    for size, blocks in ((2, 6), (2, 8), (3, 5), (5, 4), (4, 8), (8, 8), (27, 3))
]
STATEMENTS += [
    Statement(
        f"the same, {size} configurations, {blocks} blocks, the baseline with three times the noise",
        5.5,
        partial(wrong_beside_a_noisy_baseline, size, blocks),
    )
    for size, blocks in ((4, 3), (6, 3), (8, 5))
]
STATEMENTS += [
    Statement(
        f"the same, {size} configurations, {blocks} blocks, one other with ten times the noise",
        5.5,
        partial(wrong_beside_a_noisy_one, size, blocks),
    )
    for size, blocks in ((4, 3), (6, 3))
]
STATEMENTS += [
    Statement(
        f"two configurations, {blocks} blocks, waves of {period:g} blocks as high as {height} times the noise",
        5.5,
        partial(wrong_of_two, blocks, height=height, period=period),
    )
    for blocks in (6, 8, 12)
    for period in (2, 2.5, 3, 4)
    for height in (1, 3, 10)
]
STATEMENTS += [
    Statement(
        f"two configurations, {blocks} blocks, a run leaves {left} times the noise behind: they differ",
        5.5,
        partial(wrong_of_two, blocks, left=left),
    )
    for blocks in (6, 8, 12)
    for left in (1, 3)
]
STATEMENTS += [Statement("verdicts and 4 fresh blocks: one of 8 equal is different", 5.5, wrong_with_fresh_blocks)]


def all_noises() -> None:
    """Equal configurations over each kind of noise; the power beside a drift."""
    draw = np.random.default_rng(8)
    for name, noise in NOISES.items():
        title(f"Equal configurations, {SIMULATED:,} sweeps each, noise of 1 %: {name}")
        for size in (2, 4, 8):
            rates = [100 * float(called(noise(size, blocks, SIMULATED, draw), PLANNED).mean()) for blocks in BLOCKS]
            listed = ", ".join(f"{rate:.1f}" for rate in rates)
            what = f"{size} configurations: called different, the most of {len(BLOCKS)}"
            show(
                what, [max(rates)], unit="%", at_most=5.5, note=f"{listed} with {', '.join(map(str, BLOCKS))} blocks"
            )
    title("A true +3 % of one among 27 configurations, 3 blocks, noise of 1 %, a drift of 15 %")
    runs = 3 * runs_in_block(27)
    timed = 0.01 * draw.normal(size=(SIMULATED // 10, runs)) - 0.15 * np.linspace(0, 1, runs)
    sweeps = placed(timed, turns(27, 3, len(timed), draw), [0, 0.03, *[0] * 25])
    low, high = intervals(sweeps, PLANNED)
    half = 100 * float(np.median(high - low) / 2)
    show("found", [100 * float((low[:, 0] > 0).mean())], unit="%", note=f"half width {half:.1f} %")


def looking() -> None:
    """Equal configurations with looks: the rate of false differences, and the number of blocks."""
    noise, draw = scaled(0.01), np.random.default_rng(2)
    title(f"Equal configurations, noise of 1 %, with looks after {', '.join(map(str, LOOKS))} blocks")
    for size in (2, 4, 8):
        sweeps = simulated(noise, [0] * size, LOOKS[-1], SIMULATED, draw)
        different, taken = at_looks(sweeps, LOOKS, LEVELS)
        note = f"{taken.mean():.1f} blocks on average"
        show(f"{size} configurations: called different", [100 * different.mean()], unit="%", at_most=5.5, note=note)
    sweeps = simulated(noise, [0] * 4, LOOKS[-1], SIMULATED, draw)
    peeked = np.any([called(sweeps.of(blocks)) for blocks in range(2, LOOKS[-1] + 1)], axis=0)
    show("4, looked at after each block at 95 % (not done)", [100 * peeked.mean()], unit="%")


def resuming() -> None:
    """Equal configurations, resumed with the printed number of blocks until none is advised."""
    noise, draw = scaled(0.03), np.random.default_rng(4)
    title("Equal configurations, noise of 3 %, resumed as advised until no advice remains")
    for size in (2, 4, 8):
        for blocks in (3, 8):
            sweeps = simulated(noise, [0] * size, MAX_ADVISED, SIMULATED // 20, draw)
            different, taken, _ = resumed_as_advised(sweeps, blocks)
            show(
                f"{size} configurations from {blocks} blocks: called different", [100 * different.mean()],
                unit="%", at_most=5.5, note=f"{taken.mean():.1f} blocks on average",
            )  # fmt: skip
    for effect in (0.03, 0.05):
        sweeps = simulated(noise, [0, effect], MAX_ADVISED, SIMULATED // 20, draw, stretch=1)
        _, _, decided = resumed_as_advised(sweeps, 8)
        show(f"a true +{effect:.0%}: decided at the first number advised", [100 * decided.mean()], unit="%")


def finding() -> None:
    """A true effect at noise of 1 %: the rate at which it is found."""
    draw = np.random.default_rng(3)
    noise = scaled(0.01)
    title("A true +2 %, one comparison, the recorded noise scaled to 1 %")
    sweeps = simulated(noise, [0, 0.02], 5, SIMULATED, draw, stretch=1)
    low, _ = intervals(sweeps, PLANNED)
    show("found with 5 blocks", [100 * (low > 0).mean()], unit="%", at_least=60)


def promised() -> None:
    """The effect that a plan promises to find with 80 %: how often it is found."""
    draw = np.random.default_rng(9)
    title(
        f"The effect that a plan promises with {POWER:.0%}, noise of 2 %, drift of {DRIFT:.0%}, {SIMULATED:,} sweeps"
    )
    for size in (2, 4, 8):
        found = []
        for blocks in BLOCKS:
            design = Design(size - 1, 1, blocks, PLANNED, baseline_runs(size - 1))
            effect = float(np.expm1(0.02 * detectable(design)))
            noise: Floats = draw.normal(0, 0.02, 5000)
            sweeps = simulated(noise, [0, effect, *[0] * (size - 2)], blocks, SIMULATED, draw, stretch=1)
            found.append(100 * float((intervals(sweeps, PLANNED)[0][:, 0] > 0).mean()))
        listed = ", ".join(f"{share:.1f}" for share in found)
        note = f"{listed} with {', '.join(map(str, BLOCKS))} blocks"
        show(f"{size} configurations: found", found, unit="%", note=note)


def main() -> None:
    """Print all figures."""
    alike()
    all_noises()
    looking()
    resuming()
    finding()
    promised()
