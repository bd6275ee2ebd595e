"""How often equal sides are called different by ``hdbkit compare``, and by Welch's test on runs, as it was before.

Sessions and runs have a noise of 1 % each. A simulated comparison is a column of one large comparison, so that the
design is chosen by hdbkit's own code, and each column is judged by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from bench.common import show, title
from bench.verdicts.noise import SIMULATED, Floats
from hdbkit.analysis.comparison.replication import BASE, NEW, replication
from hdbkit.analysis.statistics.two_samples import Sample, half_widths

NOISE = 0.01
Names = NDArray[np.str_]
Run = tuple[str, str]
"""The side and the session of a run."""


def compared(
    runs: Sequence[Run], *, draw: np.random.Generator, drift: float = 0.0, factors: tuple[float, float] = (1, 1)
) -> None:
    """Print the rates for runs in this order; ``factors`` multiply the noise of base and new."""
    sides = np.array([side for side, _ in runs])
    sessions = np.array([session for _, session in runs])
    names = sorted(set(sessions))
    levels = draw.normal(0, NOISE, (len(names), SIMULATED))[[names.index(one) for one in sessions]]
    own = draw.normal(0, NOISE, (len(runs), SIMULATED))
    scores = (
        np.where(sides == BASE, *factors)[:, None] * (levels + own) + drift * np.linspace(0, 1, len(runs))[:, None]
    )
    before = scipy.stats.ttest_ind(scores[sides == NEW], scores[sides == BASE], equal_var=False).pvalue < 0.05
    found, unit = called(sides, sessions, scores)
    note = f"{unit}; Welch's test on runs before: {100 * before.mean():.1f} %"
    show("  called different", [100 * float(found.mean())], unit="%", at_most=5.5, note=note)


def called(sides: Names, sessions: Names, scores: Floats) -> tuple[Floats, str]:
    """Which comparisons, a column of ``scores`` each, are called different; and what is replicated."""
    count = scores.shape[1]
    frame = pd.DataFrame(
        {
            "side": np.repeat(sides, count),
            "session": np.repeat(sessions, count),
            "virtual_users": np.tile(np.arange(count), len(scores)),
            "score": scores.ravel(),
        }
    )
    design = replication(frame)
    if not design.samples:
        return np.zeros(count), "undecided"
    outside = np.zeros(count)
    for column in range(count):
        samples = [Sample.of(values[:, column : column + 1]) for values in design.samples]
        estimate = samples[0].means - (samples[1].means if len(samples) > 1 else 0)
        outside[column] = abs(estimate[0]) > half_widths(samples)[0]
    return outside, design.words


def main() -> None:
    """Print all figures."""
    draw = np.random.default_rng(8)
    title(f"Comparisons of equal sides, noise of sessions and runs 1 % each, {SIMULATED:,} each")
    pairs = [BASE, NEW, NEW, BASE] * 3
    cases: dict[str, list[Run]] = {
        "one session of 6 runs each": [(side, side) for side in (BASE, NEW) for _ in range(6)],
        "one session, 6 runs of base, then 6 of new, drift of 4 %": [("base", "a")] * 6 + [("new", "a")] * 6,
        "one session, 6 blocks in turn": [(side, "a") for side in pairs],
        "3 sessions with 3 runs of each side": [
            (side, session) for session in "abc" for side in (BASE, NEW, NEW, BASE, BASE, NEW)
        ],
        "3 sessions of 3 runs each": [
            (side, f"{side} {n}") for side in (BASE, NEW) for n in range(3) for _ in range(3)
        ],
    }
    for what, runs in cases.items():
        print(what)
        compared(runs, draw=draw, drift=0.04 if "drift" in what else 0.0)
    unequal = [(BASE, f"base {n}") for n in range(2)] + [(NEW, f"new {n}") for n in range(10)]
    for what, factors in (("equal", (1, 1)), ("the 2 at three times", (3, 1)), ("the 10 at three times", (1, 3))):
        print(f"2 sessions of a run against 10, noise: {what}")
        compared(unequal, draw=draw, factors=factors)
