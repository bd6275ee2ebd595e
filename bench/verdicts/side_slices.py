"""Two sides whose loads alternate in slices: how often equal ones differ, and how often a true effect is found.

The log throughput of a slice is that of its side plus a noise along the pair of runs, in the order of
:class:`~hdbkit.slices.SliceOrder`; ratios vary from pair to pair. Designs are those of
``analysis.comparison.side_slices``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy

from bench.verdicts.noise import SIMULATED, Floats, Noise
from bench.verdicts.slices import sliced
from bench.verdicts.sweeps import PLANNED
from bench.verdicts.table import Statement
from hdbkit.analysis.comparison.replication import Unit
from hdbkit.analysis.comparison.side_slices import Apart, run_blocks, sliced_replication
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.config.until_decided import MAX_UNTIL_DECIDED
from hdbkit.text import many

CYCLES = 30
"""Of a run of 60 s in slices of 1 s."""


def wrong(pairs: int, varying: float, noise: Noise, *, trials: int = SIMULATED // 20, seed: int = 61) -> float:
    """Per cent of comparisons of equal sides that make a false statement: of any runs, or of these few."""
    return 100 - judged(pairs, varying, 0.0, noise, trials, seed)[0]


def judged(
    pairs: int, varying: float, effect: float, noise: Noise, trials: int = SIMULATED // 20, seed: int = 61
) -> tuple[float, float]:
    """Per cent of comparisons whose interval contains the true ratio, and that find a difference."""
    made = sliced(2, CYCLES, noise, trials, np.random.default_rng(seed), runs=pairs, varying=varying, effect=effect)
    assert made.apart is not None
    apart = np.diff(made.logs, axis=2)[:, :, 0].reshape(trials, pairs, made.length)
    means = np.log(np.exp(made.logs).reshape(trials, pairs, made.length, 2).mean(axis=2))
    of_these = np.diff(made.apart, axis=2)[:, :, 0].mean(axis=1)
    covered = found = 0
    for trial in range(trials):
        values = [
            Apart(float(means[trial, one, 1] - means[trial, one, 0]), apart[trial, one]) for one in range(pairs)
        ]
        design = sliced_replication([values])
        (sample,) = design.estimates
        mean = float(sample.means[0])
        error = float(np.sqrt(sample.variance / sample.counts[0]))
        half = error * float(scipy.special.stdtrit(sample.df, (1 + PLANNED) / 2))
        truth = np.log1p(effect) + (of_these[trial] if design.unit is Unit.CYCLES else 0.0)
        covered += abs(mean - truth) <= half
        found += abs(mean) > half
    return 100 * covered / trials, 100 * found / trials


def ever_differs(varying: float, noise: Noise) -> float:
    """Per cent of comparisons of equal sides that differ after any number of pairs, looked at after each."""
    trials, pairs = SIMULATED // 50, MAX_UNTIL_DECIDED
    made = sliced(2, CYCLES, noise, trials, np.random.default_rng(62), runs=pairs, varying=varying)
    means = np.log(np.exp(made.logs).reshape(trials, pairs, made.length, 2).mean(axis=2))
    apart, anytime = means[:, :, 1] - means[:, :, 0], Anytime()
    differs = np.zeros(trials, dtype=bool)
    for blocks in range(2, pairs + 1):
        so_far = apart[:, :blocks]
        half = min(anytime.critical(blocks), 1e9) * so_far.std(axis=1, ddof=1) / blocks**0.5
        differs |= np.abs(so_far.mean(axis=1)) > half
    return 100 * float(differs.mean())


def in_wave(period: int, noise: Noise, shape: tuple[int, int], draw: np.random.Generator) -> Floats:
    """This noise and a wave of so many slices, three times as high, in a phase of its own along each run."""
    phase = draw.uniform(0, 2 * np.pi, (shape[0], 1))
    made: Floats = noise(shape, draw) + 3 * np.sin(2 * np.pi * np.arange(shape[1]) / period + phase)
    return made


def wrong_in_wave(pairs: int, noise: Noise) -> float:
    """The same of sides whose ratios vary by 1 %, in a wave with the pace of two cycles."""
    return wrong(pairs, 0.01, partial(in_wave, 4, noise))


CLAIMS = [
    *(
        Statement(
            f"a comparison in slices, {many(pairs, 'pair')} of runs, whose ratios vary by {100 * varying:g} %: "
            f"{'equal sides differ' if pairs >= run_blocks(1) else 'an interval misses these runs'}",
            5.5,
            partial(wrong, pairs, varying),
        )
        for pairs, varying in ((1, 0), (3, 0), (3, 0.01), (3, 0.1), (7, 0), (7, 0.01), (7, 0.1))
    ),
    *(
        Statement(
            f"a comparison in slices, {many(pairs, 'pair')} of runs, in a wave of four slices: a false statement",
            5.5,
            partial(wrong_in_wave, pairs),
        )
        for pairs in (1, 3, 7)
    ),
    *(
        Statement(
            f"a comparison in slices until it is decided, a look after each of {MAX_UNTIL_DECIDED} pairs, whose "
            f"ratios vary by {100 * varying:g} %: equal sides ever differ",
            5.5,
            partial(ever_differs, varying),
        )
        for varying in (0, 0.01, 0.1)
    ),
]
