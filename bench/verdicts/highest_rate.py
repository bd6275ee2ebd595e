"""The interval of the highest rate within a limit, for simulated searches whose trials are sometimes disturbed."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from bench.common import show, title
from bench.verdicts.noise import SIMULATED, Floats, Noise, gaussian
from bench.verdicts.table import Statement
from hdbkit.analysis.run.steps import FOLLOWED, knee
from hdbkit.analysis.statistics.limit_search import Estimate, LimitNotFound, estimate, search
from hdbkit.config.steps import Step
from hdbkit.results.run_result import StepLatencies, StepResult

SEARCHES = SIMULATED // 50
KNEES = SIMULATED // 40
TRUE = 1000.0
"""The rate at which an undisturbed trial is at the limit."""
_SLOPE, _TRIALS = 5.0, 200


def found(noise: Noise, blocks: int, deviation: float, disturbed: float = 0.0) -> list[Estimate]:
    """The results of searches; a share of the trials is disturbed, and takes 1.3 to 7 times as long."""
    draw = np.random.default_rng(41)
    excess = deviation * noise((SEARCHES, _TRIALS), draw)
    excess += np.where(draw.random(excess.shape) < disturbed, draw.uniform(0.3, 2, excess.shape), 0)
    made = []
    for seed, series in enumerate(excess.tolist()):
        trials = search(TRUE / 5, blocks, seed, (1, 1e6))
        try:
            trial = next(trials)
            for each in series:
                trial = trials.send(_SLOPE * math.log(trial.level / TRUE) + each)
        except StopIteration as end:
            made.append(estimate(end.value))
        except LimitNotFound:
            pass
    return made


def wrong(noise: Noise, blocks: int = 5, disturbed: float = 0.0) -> float:
    """Per cent of intervals that miss the rate of an undisturbed trial."""
    ends = found(noise, blocks, 0.1, disturbed)
    return 100 * float(np.mean([not one.low <= TRUE <= one.high for one in ends]))


def knees(noise: Noise, capacity: float, stall_s: float = 0.0) -> list[Estimate | None]:
    """The knees of runs with eight steps of 60 s at 100 to 800 per second.

    The capacity varies by 8 % from each tenth of a step to the next; in one step nothing is completed for a while.
    """
    draw = np.random.default_rng(42)
    varying = capacity * np.exp(0.08 * noise((KNEES, 80), draw)).reshape(KNEES, 8, 10)
    offered = 100.0 * np.arange(1, 9)
    counts = draw.poisson(6 * np.minimum(varying, offered[:, None])).astype(float)
    counts[np.arange(KNEES), draw.integers(0, 8, KNEES), draw.integers(0, 10, KNEES)] *= 1 - stall_s / 6
    return [knee([_step(rate, each) for rate, each in zip(offered.tolist(), one, strict=True)]) for one in counts]


def _step(rate: float, counts: Floats) -> StepResult:
    error = float(counts.std(ddof=1) * math.sqrt(10)) / 60
    unknown = StepLatencies(p50_us=None, p95_us=None, p99_us=None)
    return StepResult(
        step=Step.parse(f"60 s at {rate:g}/s"),
        start_s=0,
        end_s=60,
        offered_per_s=rate,
        users=None,
        failed=0,
        service=unknown,
        completed_per_s=float(counts.sum()) / 60,
        completed_error_per_s=error,
    )


def missed_knees(noise: Noise) -> float:
    """Per cent of intervals that miss the rate whose 95 % are completed; without one nothing is missed."""
    true = 437.0 / FOLLOWED
    return 100 * float(np.mean([one is not None and not one.low <= true <= one.high for one in knees(noise, 437)]))


def knees_of_stalls(noise: Noise) -> float:
    """Per cent of runs with a stall of 3 s in one step that have a knee, where every rate is followed."""
    return 100 * float(np.mean([one is not None for one in knees(noise, 4000, 3.0)]))


STATEMENTS = [
    Statement("knee: the interval misses a capacity that varies by 8 % (assumes no trend of it)", 5.5, missed_knees),
    Statement("knee: marked where there is a stall of 3 s alone", 5.5, knees_of_stalls),
    Statement("find-max, 5 blocks: the interval misses the rate", 5.5, wrong),
    Statement("find-max, 5 blocks, one run in ten disturbed: the same", 5.5, partial(wrong, disturbed=0.1)),
]


def main() -> None:
    """Which end is wrong, and how wide the interval is."""
    title(f"Searches for the highest rate, {SEARCHES:,} each; the rate is that of an undisturbed run")
    for blocks in (5, 8):
        for disturbed in (0.0, 0.1):
            ends = found(gaussian, blocks, 0.2, disturbed)
            what = f"{blocks} blocks, {disturbed:.0%} disturbed"
            width = np.median([math.log(one.high / one.low) for one in ends if one.low and math.isfinite(one.high)])
            show(
                f"{what}: lower end above the rate",
                [100 * float(np.mean([one.low > TRUE for one in ends]))],
                unit="%",
                at_most=2.8,
            )
            show(
                f"{what}: upper end below it",
                [100 * float(np.mean([one.high < TRUE for one in ends]))],
                unit="%",
                at_most=2.8,
                note=f"median width {width:.1%}",
            )
            disturbs = TRUE * math.exp(-disturbed * 1.15 / _SLOPE)
            show(
                f"{what}: lower end above the rate of the mean",
                [100 * float(np.mean([one.low > disturbs for one in ends]))],
                unit="%",
            )
