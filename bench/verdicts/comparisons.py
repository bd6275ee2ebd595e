"""How often equal sides are called different by ``hdbkit compare``, and by Welch's test on runs, as it was before.

Sessions and runs have a noise of 1 % each. A simulated comparison is a column of one large comparison, so that the
design is chosen by hdbkit's own code, and each column is judged by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from bench.common import show, title
from bench.verdicts.noise import SIMULATED, Floats, Noise, autoregressive
from bench.verdicts.sweeps import PLANNED
from bench.verdicts.table import Statement
from hdbkit.analysis.comparison.contrasts import contrasts
from hdbkit.analysis.comparison.replication import BASE, NEW, Replication, Unit, replication
from hdbkit.analysis.statistics.two_samples import Correlation, correlated
from hdbkit.run_order import in_turn

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


def called(sides: Names, sessions: Names, scores: Floats, confidence: float = 0.95) -> tuple[Floats, str]:
    """Which comparisons, a column of ``scores`` each, are called different; and what is replicated.

    All are judged as one comparison with a user count for each column. What is estimated over all user counts, the
    correlation of sessions, is replaced by that of each column.
    """
    frame = pd.DataFrame({"side": sides, "session": sessions, "virtual_users": 0, "score": scores[:, 0]})
    count, first = scores.shape[1], replication(frame)
    if first.unit is Unit.NONE:
        return np.zeros(count), first.words
    if "first in each" in first.words and first.unit is Unit.SHARED_SESSIONS:
        designs = (replication(frame.assign(score=column)) for column in scores.T)
        return np.array([_differs(one, 0, confidence) for one in designs]), first.words
    repeated = frame.loc[frame.index.repeat(count)].assign(virtual_users=np.tile(np.arange(count), len(frame)))
    design = replication(repeated.assign(score=scores.ravel()))
    if first.after is not None:
        design = replace(design, after=np.repeat(first.after, count, axis=1))
    if first.unit is Unit.SESSIONS:
        order = list(dict.fromkeys(zip(sessions, sides, strict=True)))
        means = np.array([scores[(sessions == name) & (sides == side)].mean(axis=0) for name, side in order])
        new = np.array([side == NEW for _, side in order])
        common = [correlated(new, means[:, [column]]) for column in range(count)]
        return np.array(
            [_differs(replace(design, correlation=one), n, confidence) for n, one in enumerate(common)]
        ), first.words
    return np.array([_differs(design, column, confidence) for column in range(count)]), first.words


def _differs(design: Replication, column: int, confidence: float) -> float:
    one = slice(column, column + 1)
    values = tuple(sample[:, one] for sample in design.samples)
    after = None if design.after is None else design.after[:, one]
    correlation = Correlation.of_series(values[0]) if design.together else design.correlation
    alone = replace(design, samples=values, after=after, correlation=correlation)
    ((low, high),) = [contrast.ends for contrast in contrasts(alone.estimates, np.zeros(1), confidence)]
    return float(low > 0 or high < 0)


STORED = {
    "6 blocks of one session, base first in each": "b1 n1 " * 6,
    "3 blocks of one session, base first in each": "b1 n1 " * 3,
    "5 sessions of base, n, base, n": " ".join(f"b{n} n{n} b{n} n{n}" for n in range(5)),
    "5 sessions against 5, in turn": " ".join(f"b{n} nn{n}" for n in range(5)),
    "5 sessions of base, then 5 of new (assumes that nothing drifts between them)": " ".join(
        f"{side}{side}{n}" for side in "bn" for n in range(5)
    ),
}
"""Orders of stored runs, with the side and the session of each."""


def wrong_comparisons(order: str, noise: Noise) -> float:
    """Per cent of equal sides that are called different, with runs in this order of time."""
    return 100 * _found(order, noise, 21)


def wrong_in_turn(noise: Noise, blocks: int = 6, seeds: int = 20) -> float:
    """The same for the order in which a comparison is measured, at what its planned end spends."""
    orders = [
        " ".join("bn"[side] + "1" for block in range(1, blocks + 1) for side in np.argsort(in_turn(2, seed, block)))
        for seed in range(seeds)
    ]
    return 100 * float(np.mean([_found(order, noise, seed, seeds, PLANNED) for seed, order in enumerate(orders)]))


def _found(order: str, noise: Noise, seed: int, parts: int = 1, confidence: float = 0.95) -> float:
    """The share of equal sides that is called different."""
    runs = order.split()
    count = SIMULATED // (100 if "b1 n1 b1 n1 b2" in order else 10) // parts
    sides = np.array([BASE if one[0] == "b" else NEW for one in runs])
    scores = noise((count, len(runs)), np.random.default_rng(seed)).T
    return float(called(sides, np.array([one[1:] for one in runs]), NOISE * scores, confidence)[0].mean())


def wrong_together(blocks: int, correlation: float, noise: Noise) -> float:
    """Per cent of equal sides, measured at the same time, that are called different.

    They have 95 % of the noise of the host in common; what each has of its own makes their differences correlated.
    """
    draw, shape = np.random.default_rng(22), (SIMULATED // 10, blocks)
    made = NOISE * (0.05 * noise(shape, draw) + autoregressive(correlation, shape, draw))
    values = [made[[at]].T for at in range(len(made))]
    designs = (
        Replication(Unit.BLOCKS, (one,), "", together=True, correlation=Correlation.of_series(one)) for one in values
    )
    return 100 * float(np.mean([_differs(one, 0, PLANNED) for one in designs]))


STATEMENTS = [
    *(
        Statement(
            f"a comparison of {blocks} blocks in turn: equal sides differ", 5.5, partial(wrong_in_turn, blocks=blocks)
        )
        for blocks in (6, 12)
    ),
    *(
        Statement(
            f"{blocks} blocks of both sides at the same time, correlation {correlation:g}: equal sides differ",
            5.5,
            partial(wrong_together, blocks, correlation),
        )
        for blocks in (6, 8, 20)
        for correlation in (0, 0.3, 0.5)
    ),
    *(
        Statement(f"stored runs, {words}: equal sides differ", 5.5, partial(wrong_comparisons, order))
        for words, order in STORED.items()
    ),
]


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
