"""How often the interval of a tail latency of one run misses that of very many such runs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from bench.verdicts.noise import SIMULATED, Noise
from bench.verdicts.table import Statement
from hdbkit.analysis.run.tail_intervals import tail_of

RUNS, MANY = SIMULATED // 100, 4000
VARIES = 0.2
"""By how much a standard deviation of the noise changes all latencies of a second, on the log scale."""


def missed_tails(noise: Noise, share: float, seconds: int, per_s: int) -> float:
    """Per cent of runs whose interval misses the quantile at ``share``."""
    draw = np.random.default_rng(71)
    levels = np.exp(VARIES * noise((MANY, seconds), draw)).ravel()
    every = draw.choice(levels, 500_000) * draw.lognormal(0, 0.5, 500_000) * 1000
    truth, misses = float(np.quantile(every, share)), 0
    stretch = np.repeat(np.arange(seconds) * 20 // seconds, per_s)
    for _ in range(RUNS):
        run = np.exp(VARIES * noise((1, seconds), draw))[0]
        us = (1000 * np.repeat(run, per_s) * draw.lognormal(0, 0.5, seconds * per_s)).astype(int)
        tail = tail_of(pd.crosstab(us, stretch), share)
        assert tail is not None
        misses += not (tail.low_us - 1 <= truth and (tail.high_us is None or truth <= tail.high_us + 1))
    return 100 * misses / RUNS


STATEMENTS = [
    Statement(
        f"p{100 * share:g} of one run of {seconds} s, {per_s:,} operations/s: its interval misses",
        7,
        partial(missed_tails, share=share, seconds=seconds, per_s=per_s),
    )
    for share in (0.95, 0.99)
    for seconds, per_s in ((30, 100), (60, 1000))
]
