"""Sweeps whose decided configurations are not run in later blocks: false verdicts, and runs and blocks saved.

Each simulated sweep runs as a real one does: block by block in the order of ``run_order`` over recorded noise and a
drift, judged at each look by ``hdbkit.analysis.sweep.looks``, and continued with what is undecided alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.common import show, title
from bench.verdicts.judging import intervals
from bench.verdicts.noise import SIMULATED, Floats, scaled
from bench.verdicts.sweeps import (
    DRIFT,
    LEVELS,
    LOOKS,
    METRIC,
    PLANNED,
    SMALLEST,
    at_looks,
    runs_in_block,
    series,
    simulated,
    within,
)
from hdbkit.analysis.statistics.block_model import Cell
from hdbkit.analysis.statistics.power import POWER
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.looks import decided, verdicts
from hdbkit.results.finding import Ratio, Verdict
from hdbkit.run_order import baseline_runs, in_turn

SIZE = 8
SETTINGS = ("first", "second", "third")
"""The grid of two values each."""
SPENDING = Spending(LOOKS[-1], LOOKS)
SWEEPS = SIMULATED // 20
MIXED = (0, 0, 0, 0, SMALLEST, -0.03, 0.05, 0.1)
"""Effects of which one is the smallest that matters: it is as easily called equivalent by mistake as any can be."""


@dataclass(frozen=True)
class Ended:
    """A simulated sweep at its end: its verdicts and main effects, its blocks, and how many runs it took."""

    verdicts: list[Ratio]
    effects: list[Ratio]
    blocks: int
    runs: int


def swept(effects: Sequence[float], timed: Floats, scale: Floats, seed: int) -> Ended:
    """A sweep over ``timed`` noise, in the order of time; ``scale`` is the noise of each configuration."""
    decided_after: dict[Cell, int] = {}
    rows: list[tuple[int, int, int, float]] = []
    begun = 0
    for look in LOOKS:
        left = [one for one in range(1, len(effects)) if (1, one) not in decided_after]
        open_ = [*[0] * baseline_runs(len(left)), *left]
        for block in range(begun + 1, look + 1):
            for _, one in sorted(zip(in_turn(len(open_), seed, block), open_, strict=True)):
                log = timed[len(rows)] * scale[one] + np.log1p(effects[one]) - DRIFT * len(rows) / len(timed)
                rows.append((len(rows) + 1, block, one, float(log)))
        found = verdicts(_frame(rows), METRIC, SPENDING.level, decided_after, SMALLEST)
        if all(ratio.verdict is not Verdict.UNDECIDED for ratio in found):
            break
        decided_after |= {cell: look for cell in decided(found) if cell not in decided_after}
        begun = look
    frame, level = _frame(rows), SPENDING.level(look)
    averaged = main_effects(frame, METRIC, list(SETTINGS), dict.fromkeys(SETTINGS, "0"), SMALLEST, level=level)
    return Ended(found, averaged, look, len(rows))


def _frame(rows: Sequence[tuple[int, int, int, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["number", "block", "configuration", "log"])
    values = {name: (frame["configuration"] // 2**bit % 2).astype(str) for bit, name in enumerate(SETTINGS)}
    measured = {"status": "done", "operations_per_s": 1.0, "metric_value": np.exp(9 + frame["log"])}
    return frame.assign(virtual_users=1, **measured, **values)


def is_false(found: Sequence[Ratio], effects: Sequence[float]) -> bool:
    """Whether a verdict is wrong: equal ones different, the wrong direction, or equivalent in spite of the limit."""
    return any(
        (ratio.verdict is Verdict.FASTER and true <= 0)
        or (ratio.verdict is Verdict.SLOWER and true >= 0)
        or (ratio.equivalent and abs(true) >= SMALLEST)
        for ratio, true in zip(found, effects, strict=True)
    )


def misses(averaged: Sequence[Ratio], effects: Sequence[float]) -> bool:
    """Whether the interval of a setting's main effect misses the true one."""
    logs = np.log1p(np.array(effects)).reshape(2, 2, 2)  # the last axis is the first bit
    true = [float(np.exp(np.diff(logs, axis=2 - bit).mean())) for bit in range(len(SETTINGS))]
    ends = (effect.interval for effect in averaged)
    return any(not low <= ratio <= high for (low, high), ratio in zip(ends, true, strict=True))


def dropping(what: str, effects: Sequence[float], noise: float, sweeps: int, noisy: float = 1.0) -> None:
    """Print the rate of false verdicts and the runs saved; one configuration has ``noisy`` times the noise."""
    draw = np.random.default_rng(11)
    timed = series(scaled(noise), sweeps, LOOKS[-1] * runs_in_block(len(effects)), draw)
    scale = np.ones((sweeps, len(effects)))
    scale[np.arange(sweeps), draw.integers(0, len(effects), sweeps)] = noisy
    ended = [swept(effects, one, each, seed) for seed, (one, each) in enumerate(zip(timed, scale, strict=True))]
    wrong = [100.0 * is_false(one.verdicts, effects) for one in ended]
    missed = 100 * np.mean([misses(one.effects, effects) for one in ended])
    blocks, runs = np.mean([one.blocks for one in ended]), np.mean([one.runs for one in ended])
    saved = 100 * (1 - runs / (blocks * runs_in_block(len(effects))))
    note = f"{saved:.0f} % of runs saved, {blocks:.1f} blocks on average; {missed:.1f} % miss a main effect"
    show(what, [float(np.mean(wrong))], unit="%", at_most=5.5, note=note)


def one_sided_tests() -> None:
    """The blocks that two one-sided tests save, where all configurations are equal."""
    for size in (2, SIZE):
        sweeps = simulated(scaled(0.01), [0] * size, 2 * LOOKS[-1], SIMULATED, np.random.default_rng(12))
        wide, taken = (
            next(
                blocks
                for blocks in range(3, 2 * LOOKS[-1])
                if within(*intervals(sweeps.of(blocks), level)).mean() >= POWER
            )
            for level in (PLANNED, 2 * PLANNED - 1)
        )
        what, note = f"{size} configurations: blocks saved", f"{taken} instead of {wide}"
        show(f"{what} until {POWER:.0%} are equivalent", [100 * (1 - taken / wide)], unit="%", note=note)
        sweeps = sweeps.of(LOOKS[-1])
        wide = at_looks(sweeps, LOOKS, LEVELS, one_sided=False)[1].mean()
        taken = at_looks(sweeps, LOOKS, LEVELS)[1].mean()
        note = f"{taken:.1f} instead of {wide:.1f} on average"
        show(f"{what} with looks", [100 * (1 - taken / wide)], unit="%", note=note)


def main() -> None:
    """Print all figures."""
    looks = ", ".join(map(str, LOOKS))
    title(f"{SIZE} configurations, looks after {looks} blocks, what is decided is dropped, {SWEEPS:,} sweeps each")
    for noise in (0.01, 0.03):
        dropping(f"all equal, noise of {noise:.0%}: a false verdict", [0] * SIZE, noise, SWEEPS)
        dropping(f"effects of 0 to 10 %, noise of {noise:.0%}: a false verdict", MIXED, noise, SWEEPS)
    dropping("all equal, noise of 1 %, one with 3 %: a false verdict", [0] * SIZE, 0.01, SWEEPS, noisy=3)
    title("Equivalence by two one-sided tests instead of the whole interval, noise of 1 %, all equal")
    one_sided_tests()
