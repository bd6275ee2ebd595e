"""Error rates of the verdicts of sweeps over recorded noise between runs.

A simulated sweep takes stretches of four neighbouring runs from the noise, so that what hangs together in time still
does, adds a drift of 4 % from its first run to its last, and puts the runs into the order within blocks that
``sweep_plan`` gives. It is judged by the formulas of complete blocks, vectorized; some sweeps are judged by
``hdbkit.analysis.sweep.verdicts`` too, which must give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.common import show, title
from bench.verdicts.noise import SIMULATED, Floats, recorded, scaled
from hdbkit.analysis.statistics.dunnett import critical_value, equal_replication
from hdbkit.analysis.statistics.power import blocks_needed
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.config.metric import Metric
from hdbkit.sweep_plan import in_turn

Flags = NDArray[np.bool_]

DRIFT = 0.04
STRETCH = 4
"""The block length of the bootstrap: about the cube root of the number of runs (Hall, Horowitz and Jing 1995)."""
SMALLEST = 0.02
LOOKS = (4, 8, 12)
LEVELS = [Spending(LOOKS[-1], LOOKS).level(blocks) for blocks in LOOKS]
PLANNED = Spending(8, (8,)).level(8)
"""The level of the intervals at the planned end of a sweep, whatever its number of blocks."""
MAX_ADVISED = 100
"""More blocks than these are not advised (``hdbkit.analysis.sweep.warnings``)."""


def series(noise: Floats, sweeps: int, runs: int, draw: np.random.Generator, stretch: int = STRETCH) -> Floats:
    """Log throughputs of equal runs, (sweeps, runs): blocks of the noise, in order of time."""
    starts = draw.integers(0, len(noise), size=(sweeps, -(-runs // stretch)))
    places = (starts[:, :, None] + np.arange(stretch)) % len(noise)
    drawn: Floats = noise[places.reshape(sweeps, -1)[:, :runs]]
    return drawn


def simulated(
    noise: Floats, effects: Sequence[float], blocks: int, sweeps: int, draw: np.random.Generator, *,
    drift: float = DRIFT, in_blocks: bool = True, stretch: int = STRETCH,
) -> Floats:  # fmt: skip
    """Log throughputs, (sweeps, blocks, configurations); ``in_blocks=False``: all of one, then all of the next."""
    size = len(effects)
    timed = series(noise, sweeps, blocks * size, draw, stretch) - drift * np.linspace(0, 1, blocks * size)
    if in_blocks:
        seed = int(draw.integers(2**40))
        turns = [[in_turn(size, seed + sweep, block + 1) for block in range(blocks)] for sweep in range(sweeps)]
        placed = np.take_along_axis(timed.reshape(sweeps, blocks, size), np.array(turns), axis=2)
    else:
        placed = timed.reshape(sweeps, size, blocks).transpose(0, 2, 1)
    logs: Floats = placed + np.log1p(np.asarray(effects))
    return logs


def intervals(logs: Floats, level: float, family: bool = True) -> tuple[Floats, Floats]:
    """Lower and upper ends of each ratio to configuration 0, (sweeps, configurations - 1), on the log scale."""
    _, blocks, size = logs.shape
    residuals = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=2, keepdims=True)
    residuals += logs.mean(axis=(1, 2), keepdims=True)
    df = (blocks - 1) * (size - 1)
    noise = np.sqrt((residuals**2).sum(axis=(1, 2)) / df)
    half = critical_value(equal_replication(size - 1 if family else 1), df, level) * noise * np.sqrt(2 / blocks)
    means = logs.mean(axis=1)
    ratios = means[:, 1:] - means[:, :1]
    return ratios - half[:, None], ratios + half[:, None]


def called(logs: Floats, level: float = 0.95, family: bool = True) -> Flags:
    """Whether each sweep calls a configuration different from the baseline."""
    low, high = intervals(logs, level, family)
    return any_in_row((low > 0) | (high < 0))


def any_in_row(flags: Flags) -> Flags:
    """Whether a row has a true value."""
    found: Flags = np.logical_or.reduce(flags, axis=1)
    return found


def at_looks(logs: Floats, looks: Sequence[int], levels: Sequence[float]) -> tuple[Flags, Floats]:
    """Whether each sweep calls something different at the look where it ends, and its number of blocks."""
    ended: Flags = np.zeros(len(logs), dtype=bool)
    different: Flags = np.zeros(len(logs), dtype=bool)
    taken = np.full(len(logs), float(looks[-1]))
    for blocks, level in zip(looks, levels, strict=True):
        low, high = intervals(logs[:, :blocks], level)
        apart: Flags = (low > 0) | (high < 0)
        alike = (low >= np.log1p(-SMALLEST)) & (high <= np.log1p(SMALLEST))
        ends: Flags = ~ended & ((apart | alike).all(axis=1) | (blocks == looks[-1]))
        different[ends], taken[ends] = any_in_row(apart)[ends], blocks
        ended = ended | ends
    return different, taken


@cache
def critical_curve(family: int, df: int) -> tuple[Floats, Floats]:
    """The critical value over the logarithm of the error rate, to be interpolated."""
    rates = np.geomspace(2e-5, 0.06, 12)
    values = [critical_value(equal_replication(family), df, 1 - rate) for rate in rates]
    return np.log(rates), np.array(values)


def critical_after(family: int, blocks: int, level: float) -> float:
    """The critical value of one look after this number of complete blocks."""
    return float(np.interp(np.log(1 - level), *critical_curve(family, family * (blocks - 1))))


def resumed_as_advised(logs: Floats, blocks: int, spends: bool = True) -> tuple[Flags, Floats, Flags]:
    """Sweeps of ``blocks`` blocks, each resumed with the printed number until nothing is advised.

    Returns whether each calls something different at a result that it ends with, its number of blocks, and whether
    all that was undecided at first is decided by the first advice. ``spends=False``: at 95 % each time.
    """
    family = logs.shape[2] - 1
    different, taken = np.zeros(len(logs), dtype=bool), np.full(len(logs), float(blocks))
    first: list[bool] = []
    for place, one in enumerate(logs):
        present, looks = blocks, [blocks]
        while True:
            known = Spending(blocks, tuple(looks))
            level = known.level if spends else (lambda _: 0.95)
            low, high, noise = one_interval(one[:present], critical_after(family, present, level(present)))
            apart = (low > 0) | (high < 0)
            limit = -np.log1p(-SMALLEST)
            undecided = ~apart & ~((low >= -limit) & (high <= np.log1p(SMALLEST)))
            if len(looks) == 2:
                first.append(not undecided.any())
            advised = [advice(family, away, noise, present, level) for away in abs((low + high) / 2)[undecided]]
            within = [number for number in advised if number]
            if not within:
                break
            present = max(within)
            looks.append(present)
        different[place], taken[place] = apart.any(), present
    return different, taken, np.array(first, dtype=bool)


def one_interval(logs: Floats, critical: float) -> tuple[Floats, Floats, float]:
    """The intervals of one sweep, (blocks, configurations), and its noise."""
    blocks, size = logs.shape
    residuals = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
    noise = float(np.sqrt((residuals**2).sum() / ((blocks - 1) * (size - 1))))
    ratios = logs.mean(axis=0)[1:] - logs.mean(axis=0)[0]
    half = critical * noise * np.sqrt(2 / blocks)
    return ratios - half, ratios + half, noise


def advice(family: int, away: float, noise: float, present: int, level: Callable[[int], float]) -> int | None:
    """The number of blocks that is printed for an undecided comparison."""
    needed = blocks_needed(
        away, -float(np.log1p(-SMALLEST)), noise, family * (present - 1), present,
        lambda blocks: (critical_after(family, blocks, level(blocks)), family * (blocks - 1)),
    ).blocks  # fmt: skip
    return needed if needed and needed <= MAX_ADVISED else None


def as_runs(logs: Floats) -> pd.DataFrame:
    """One simulated sweep, (blocks, configurations), as a frame for ``judge``."""
    blocks, size = logs.shape
    return pd.DataFrame(
        {
            "number": np.arange(blocks * size) + 1,
            "block": np.repeat(np.arange(blocks) + 1, size),
            "configuration": np.tile(np.arange(size), blocks),
            "virtual_users": 1,
            "status": "done",
            "operations_per_s": 1.0,
            "metric_value": 10_000 * np.exp(logs).ravel(),
        }
    )


METRIC = Metric(name="throughput", title="operations per second", unit="operations/s")


def compare_with_judge(logs: Floats) -> None:
    """Stop if the vectorized intervals differ from those of ``judge``."""
    low, high = intervals(logs, 0.95)
    for one, its_low, its_high in zip(logs, low, high, strict=True):
        judged = judge(as_runs(one), METRIC).iloc[1:]
        if not np.allclose(np.log(judged[["low", "high"]]).T, [its_low, its_high], atol=1e-9):
            raise RuntimeError("the simulation judges otherwise than hdbkit.analysis.sweep.verdicts")


def alike() -> None:
    """Equal configurations: the rate of false differences."""
    draw = np.random.default_rng(1)
    for noise in (recorded(), scaled(0.01)):
        title(f"Equal configurations, {SIMULATED:,} sweeps, noise of {noise.std():.1%} and a drift of {DRIFT:.0%}")
        for size in (2, 4, 8):
            for blocks in (4, 8):
                logs = simulated(noise, [0] * size, blocks, SIMULATED, draw)
                compare_with_judge(logs[:20])
                share = 100 * called(logs, PLANNED).mean()
                show(f"{size} configurations, {blocks} blocks: called different", [share], unit="%", at_most=5.5)
    logs = simulated(noise, [0, 0], 8, SIMULATED, draw, in_blocks=False)
    show("2, all of one and then all of the other (not done)", [100 * called(logs).mean()], unit="%")
    logs = simulated(noise, [0] * 8, 8, SIMULATED, draw)
    show("8, each compared by itself (not done)", [100 * called(logs, family=False).mean()], unit="%")


def looking() -> None:
    """Equal configurations with looks: the rate of false differences, and the number of blocks."""
    noise, draw = scaled(0.01), np.random.default_rng(2)
    title(f"Equal configurations, noise of 1 %, with looks after {', '.join(map(str, LOOKS))} blocks")
    for size in (2, 4, 8):
        logs = simulated(noise, [0] * size, LOOKS[-1], SIMULATED, draw)
        different, taken = at_looks(logs, LOOKS, LEVELS)
        note = f"{taken.mean():.1f} blocks on average"
        show(f"{size} configurations: called different", [100 * different.mean()], unit="%", at_most=5.5, note=note)
    logs = simulated(noise, [0] * 4, LOOKS[-1], SIMULATED, draw)
    peeked = np.any([called(logs[:, :blocks]) for blocks in range(2, LOOKS[-1] + 1)], axis=0)
    show("4, looked at after each block at 95 % (not done)", [100 * peeked.mean()], unit="%")


def resuming() -> None:
    """Equal configurations, resumed with the printed number of blocks until none is advised."""
    noise, draw = scaled(0.03), np.random.default_rng(4)
    title("Equal configurations, noise of 3 %, resumed as advised until no advice remains")
    for size in (2, 4, 8):
        for blocks in (3, 8):
            logs = simulated(noise, [0] * size, MAX_ADVISED, SIMULATED // 20, draw)
            different, taken, _ = resumed_as_advised(logs, blocks)
            show(
                f"{size} configurations from {blocks} blocks: called different", [100 * different.mean()],
                unit="%", at_most=5.5, note=f"{taken.mean():.1f} blocks on average",
            )  # fmt: skip
            peeked, _, _ = resumed_as_advised(logs, blocks, spends=False)
            show(f"{size} from {blocks}, at 95 % each time (not done)", [100 * peeked.mean()], unit="%")
    for effect in (0.03, 0.05):
        logs = simulated(noise, [0, effect], MAX_ADVISED, SIMULATED // 20, draw, stretch=1)
        _, _, decided = resumed_as_advised(logs, 8)
        show(f"a true +{effect:.0%}: decided at the first number advised", [100 * decided.mean()], unit="%")


def finding() -> None:
    """A true effect at noise of 1 %: the rate at which it is found."""
    draw = np.random.default_rng(3)
    noise = scaled(0.01)
    title("A true +2 %, one comparison, the recorded noise scaled to 1 %")
    logs = simulated(noise, [0, 0.02], 5, SIMULATED, draw, stretch=1)
    low, _ = intervals(logs, PLANNED)
    show("found with 5 blocks", [100 * (low > 0).mean()], unit="%", at_least=60)
    logs = simulated(noise, [0, 0.05], LOOKS[-1], SIMULATED, draw, stretch=1)
    different, taken = at_looks(logs, LOOKS, LEVELS)
    note = f"after {taken.mean():.1f} of {LOOKS[-1]} blocks on average"
    show("a true +5 % with looks: found", [100 * different.mean()], unit="%", note=note)


def main() -> None:
    """Print all figures."""
    alike()
    looking()
    resuming()
    finding()
