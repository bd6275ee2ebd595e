"""Experiments that end when they are decided: how often they ever err, and how many blocks they need.

Simulated blocks are judged after each of them by the formulas of ``Anytime`` and ``block_differences``, vectorized;
some are judged by ``hdbkit.analysis.sweep.verdicts`` too, which must give the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from bench.common import show, title
from bench.verdicts.judging import Sweeps
from bench.verdicts.noise import SIMULATED, Floats, Noise, gaussian
from bench.verdicts.sweeps import MAX_ADVISED, METRIC, SMALLEST, Flags, as_runs, of_series, resumed_as_advised
from bench.verdicts.table import Statement
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.config.until_decided import MAX_UNTIL_DECIDED

MANY_BLOCKS = 400
"""So many blocks decide nearly all effects that are shown."""


def sequences(sweeps: Sweeps) -> tuple[Floats, Floats]:
    """The interval of each ratio to the first configuration after 2, 3, ... blocks, (sweeps, blocks - 1, ratios)."""
    base = sweeps.logs[:, :, : sweeps.baseline].mean(axis=2, keepdims=True)
    apart = sweeps.logs[:, :, sweeps.baseline :] - base
    count = np.arange(1.0, apart.shape[1] + 1)[:, None]
    anytime = Anytime(apart.shape[2])
    critical = np.array([min(anytime.critical(int(blocks)), 1e9) for blocks in count[:, 0]])[:, None]
    means = np.cumsum(apart, axis=1) / count
    half = critical * np.sqrt(_squares(apart, np.ones_like(apart)) / np.maximum(count - 1, 1) / count)
    low, high = means - half, means + half
    if apart.shape[2] == 1:
        later = sweeps.numbers[:, :, 1] > sweeps.numbers[:, :, 0]
        repeats = np.zeros_like(apart)
        repeats[:, 1:, 0] = later[:, 1:] == later[:, :-1]
        alone, varies = np.cumsum(1 - repeats, axis=1), np.cumsum(repeats, axis=1) > 0
        means = np.cumsum(apart * (1 - repeats), axis=1) / alone
        left = _squares(apart, 1 - repeats) + _squares(apart, repeats)
        half = critical * np.sqrt(left / np.maximum(count - 1 - varies, 1) / alone)
        low, high = np.minimum(low, means - half), np.maximum(high, means + half)
    return low[:, 1:], high[:, 1:]


def _squares(values: Floats, chosen: Floats) -> Floats:
    """The sum of squares of the chosen ones of the first 1, 2, ... blocks around their mean."""
    count, centred = np.cumsum(chosen, axis=1), (values - values.mean(axis=1, keepdims=True)) * chosen
    found: Floats = np.cumsum(centred**2, axis=1) - np.cumsum(centred, axis=1) ** 2 / np.maximum(count, 1)
    return np.maximum(found, 0)


def compare_with_judge(sweeps: Sweeps, some: int = 5) -> None:
    """Stop if the vectorized intervals of some sweeps differ from those of ``judge``."""
    anytime = Anytime(sweeps.logs.shape[2] - sweeps.baseline)
    low, high = sequences(sweeps[:some])
    for place in range(some):
        judged = judge(as_runs(sweeps[place : place + 1]), METRIC, anytime=anytime)[1:]
        ends = np.log([ratio.interval for ratio in judged]).T
        if not np.allclose(ends, [low[place, -1], high[place, -1]], rtol=2e-3, atol=1e-7):
            raise RuntimeError("the simulation judges otherwise than hdbkit.analysis.sweep.verdicts")


def ever(flags: Flags) -> float:
    """The per cent of sweeps in which any of them is true."""
    return 100 * float(flags.reshape(len(flags), -1).any(axis=1).mean())


def ever_different(size: int, noise: Noise) -> float:
    """The per cent of sweeps of equal configurations that call one different after any number of blocks."""
    made = of_series(noise)(size, MAX_UNTIL_DECIDED, SIMULATED // 10, np.random.default_rng(51))
    compare_with_judge(made)
    low, high = sequences(made)
    return ever((low > 0) | (high < 0))


def ever_different_with_a_noisy_baseline(size: int, noise: Noise) -> float:
    """The same where the baseline has three times the noise."""
    made = of_series(noise)(size, MAX_UNTIL_DECIDED, SIMULATED // 10, np.random.default_rng(52))
    more = np.sqrt(8) * 0.01 * np.random.default_rng(53).normal(size=made.logs.shape)
    low, high = sequences(replace(made, logs=made.logs + np.where(made.cell, 0, more)))
    return ever((low > 0) | (high < 0))


def ever_equivalent(size: int, noise: Noise) -> float:
    """The per cent of sweeps that ever call a configuration equivalent that is just beyond the limit."""
    made = of_series(noise)(size, MAX_UNTIL_DECIDED, SIMULATED // 10, np.random.default_rng(54))
    low, high = sequences(replace(made, logs=made.logs + np.log1p(SMALLEST) * (made.cell > 0)))
    return ever((low >= np.log1p(-SMALLEST)) & (high < np.log1p(SMALLEST)))


def ever_different_after(left: float, noise: Noise) -> float:
    """The per cent of sweeps of two equal configurations that differ after any number of blocks.

    A run of the second one leaves so many times the noise for the next.
    """
    made = of_series(noise)(2, MAX_UNTIL_DECIDED, SIMULATED // 10, np.random.default_rng(56))
    sweeps = len(made.logs)
    order = np.argsort(made.numbers.reshape(sweeps, -1), axis=1)
    second = np.take_along_axis(np.broadcast_to(made.cell, made.logs.shape).reshape(sweeps, -1), order, axis=1)
    before = np.concatenate([np.zeros((sweeps, 1)), second[:, :-1]], axis=1)
    back = np.argsort(order, axis=1)
    shift = np.take_along_axis(before, back, axis=1).reshape(made.logs.shape)
    low, high = sequences(replace(made, logs=made.logs + left * 0.01 * shift))
    return ever((low > 0) | (high < 0))


_KINDS: tuple[tuple[str, Callable[[int, Noise], float]], ...] = (
    ("one of equal ones is ever different", ever_different),
    ("the same, the baseline with three times the noise", ever_different_with_a_noisy_baseline),
    ("one that is 2 % faster is ever equivalent within 2 %", ever_equivalent),
)
STATEMENTS = [
    Statement(f"until decided, {size} configurations, a look after each of {MAX_UNTIL_DECIDED} blocks: {words}", 5.5,
              partial(rate, size))
    for size in (2, 4)
    for words, rate in _KINDS
] + [
    Statement(f"until decided, 2 configurations, a look after each of {MAX_UNTIL_DECIDED} blocks: one of equal ones, "
              f"of which one leaves {left} times the noise for the next run, is ever different", 5.5,
              partial(ever_different_after, left))
    for left in (1, 3)
]  # fmt: skip


def blocks_until(sweeps: Sweeps) -> Floats:
    """The number of blocks after which every ratio is first decided; infinite where that never happens."""
    low, high = sequences(sweeps)
    decided = (low > 0) | (high < 0) | ((low >= np.log1p(-SMALLEST)) & (high <= np.log1p(SMALLEST)))
    each = np.where(decided.any(axis=1), decided.argmax(axis=1) + 2.0, np.inf)
    last: Floats = each.max(axis=1)
    return last


def main() -> None:
    """How many blocks a true effect needs, beside an experiment that is resumed as advised."""
    draw = np.random.default_rng(55)
    for deviation in (0.02, 0.03, 0.05):
        for effect in (0.05, 0.03):
            title(f"A true +{effect:.0%}, noise of a run {deviation:.0%}: blocks until it is decided")
            count = SIMULATED // 10
            apart = np.array([0, np.log1p(effect)])
            made = of_series(gaussian)(2, MANY_BLOCKS, count, draw)
            taken = blocks_until(Sweeps(made.logs * deviation / 0.01 + apart, made.numbers))
            _show("until decided", taken)
            for first in (4, 6):
                made = of_series(gaussian)(2, MANY_BLOCKS, count // 10, draw)
                resumed = Sweeps(made.logs * deviation / 0.01 + apart, made.numbers)
                different, blocks, _ = resumed_as_advised(resumed, first)
                _show(f"{first} blocks, then as advised (at most {MAX_ADVISED})", np.where(different, blocks, np.inf))


def _show(what: str, taken: Floats) -> None:
    """The mean of those that are decided, the median and the 90 % quantile of all."""
    half, most = np.quantile(taken, [0.5, 0.9], method="inverted_cdf")
    decided = taken[np.isfinite(taken)]
    note = f"half by {half:g}, 90 % by {most:g}, decided {np.mean(np.isfinite(taken)):.0%}"
    show(what, [float(decided.mean())], unit="blocks", note=note)
