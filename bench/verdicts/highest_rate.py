"""The interval of the highest rate within a limit, for simulated searches whose trials are sometimes disturbed."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from bench.verdicts.noise import SIMULATED, Floats, Noise
from bench.verdicts.table import Statement
from hdbkit.analysis.run.steps import FOLLOWED, knee, rate_error_per_s
from hdbkit.analysis.statistics.limit_search import LimitNotFound, RateEstimate, estimate_rate, search_limit
from hdbkit.config.steps import RateStep
from hdbkit.results.run_result import StepLatencies, StepResult

SEARCHES = SIMULATED // 50
KNEES = SIMULATED // 40
TRUE = 1000.0
"""The rate at which an undisturbed trial is at the limit."""
_SLOPE, _TRIALS = 5.0, 200


def found(noise: Noise, blocks: int, disturbed: float) -> list[tuple[RateEstimate, float]]:
    """The results of searches, and the rate that each is about; where trials change with time, that of its blocks.

    A share of the trials is disturbed, and takes 1.3 to 7 times as long.
    """
    draw = np.random.default_rng(41)
    excess = 0.1 * noise((SEARCHES, _TRIALS), draw)
    disturbs = np.where(draw.random(excess.shape) < disturbed, draw.uniform(0.3, 2, excess.shape), 0)
    made = []
    for seed, series in enumerate(excess):
        trials, of_blocks = search_limit(TRUE / 5, blocks, seed, (1, 1e6)), []
        try:
            trial = next(trials)
            for each, more in zip(series.tolist(), disturbs[seed].tolist(), strict=True):
                of_blocks += [each] if trial.block else []
                trial = trials.send(_SLOPE * math.log(trial.level / TRUE) + each + more)
        except StopIteration as end:
            one = estimate_rate(end.value)
            made.append((one, TRUE * math.exp(-float(np.mean(of_blocks)) / _SLOPE) if one.changed else TRUE))
        except LimitNotFound:
            pass
    return made


def wrong(noise: Noise, blocks: int = 5, disturbed: float = 0.0) -> float:
    """Per cent of intervals that miss the rate of an undisturbed trial."""
    ends = found(noise, blocks, disturbed)
    return 100 * float(np.mean([not one.low <= true <= one.high for one, true in ends]))


def knees(noise: Noise, capacity: float, stall_s: float = 0.0) -> tuple[list[RateEstimate | None], Floats]:
    """The knees of runs with eight steps of 60 s at 100 to 800 per second, and the capacity in steps 4 to 6.

    The capacity varies by 8 % from each tenth of a step to the next; in one step nothing is completed for a while.
    """
    draw = np.random.default_rng(42)
    varying = capacity * np.exp(0.08 * noise((KNEES, 80), draw)).reshape(KNEES, 8, 10)
    offered = 100.0 * np.arange(1, 9)
    counts = draw.poisson(6 * np.minimum(varying, offered[:, None])).astype(float)
    counts[np.arange(KNEES), draw.integers(0, 8, KNEES), draw.integers(0, 10, KNEES)] *= 1 - stall_s / 6
    made = [knee([_step(rate, each) for rate, each in zip(offered.tolist(), one, strict=True)]) for one in counts]
    return made, varying[:, 3:6].mean(axis=(1, 2))


def _step(rate: float, counts: Floats) -> StepResult:
    unknown = StepLatencies(p50_us=None, p95_us=None, p99_us=None)
    return StepResult(
        step=RateStep.parse(f"60 s at {rate:g}/s"),
        start_s=0,
        end_s=60,
        offered_per_s=rate,
        users=None,
        failed=0,
        service=unknown,
        completed_per_s=float(counts.sum()) / 60,
        completed_error_per_s=rate_error_per_s(counts, 60),
    )


def missed_knees(noise: Noise) -> float:
    """Per cent of intervals that miss the rate whose 95 % are completed; without one nothing is missed."""
    made = zip(*knees(noise, 437), strict=True)
    return 100 * float(
        np.mean([one is not None and not one.low <= true / FOLLOWED <= one.high for one, true in made])
    )


def knees_of_stalls(noise: Noise) -> float:
    """Per cent of runs with a stall of 3 s in one step that have a knee, where every rate is followed."""
    return 100 * float(np.mean([one is not None for one in knees(noise, 4000, 3.0)[0]]))


STATEMENTS = [
    Statement(
        "knee: the interval misses the capacity, which varies by 8 %, of the steps around it", 5.5, missed_knees
    ),
    Statement("knee: marked where there is a stall of 3 s alone", 5.5, knees_of_stalls),
    Statement("find-max, 5 blocks: the interval misses the rate", 5.5, wrong),
    Statement("find-max, 5 blocks, one run in ten disturbed: the same", 5.5, partial(wrong, disturbed=0.1)),
]
