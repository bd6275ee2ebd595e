"""How often the explanation of equal sides names something, and whether the intervals of all parts hold together.

The time of a transaction is the sum of five parts. What disturbs a run multiplies all of them; each varies by itself
besides, as if it were sampled. The verdict is that of ``hdbkit compare`` on the throughput, whose level and decision
the explanation keeps to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pandas as pd

from bench.verdicts.comparisons import STORED
from bench.verdicts.noise import SIMULATED, Floats, Noise
from bench.verdicts.table import Statement
from hdbkit.analysis.comparison.beside_parts import counters_apart
from hdbkit.analysis.comparison.explaining import TOTAL, Level, explained_by_parts, replicated
from hdbkit.analysis.comparison.explanation import Explanation
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.run.waits import CLIENT_CPU, OUTSIDE, SERVER_CPU
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.config.metric import Metric
from hdbkit.run_order import in_turn

TRIALS = SIMULATED // 100
PARTS_MS: Mapping[str, float] = {
    "log (WALSync)": 2.0, SERVER_CPU: 1.0, "lock of stock": 0.6, CLIENT_CPU: 0.2, OUTSIDE: 0.4,
}  # fmt: skip
NOISE, OWN = 0.01, 0.03
"""Standard deviations of the level of a run, and of each part besides."""
TPS = Metric(name="TPS", title="transactions per second", unit="/s")


def order_of_blocks(blocks: int, seed: int) -> str:
    """Runs of one session in turn."""
    sides = (side for block in range(1, blocks + 1) for side in np.argsort(in_turn(2, seed, block)))
    return " ".join(f"{'bn'[side]}1" for side in sides)


def times_of(order: str, levels: Floats, draw: np.random.Generator, planted_ms: float = 0.0) -> pd.DataFrame:
    """The parts of each run in ms; ``planted_ms`` is added to the first part of the new side."""
    sides = np.array([BASE if run[0] == "b" else NEW for run in order.split()])
    parts = pd.DataFrame({name: ms * draw.normal(1, OWN, len(sides)) for name, ms in PARTS_MS.items()})
    parts[next(iter(PARTS_MS))] += np.where(sides == NEW, planted_ms, 0.0)
    parts = parts.mul(np.exp(NOISE * levels), axis=0)
    names = [f"run-{number}" for number in range(len(sides))]
    return parts.assign(side=sides, run_id=names, **{TOTAL: parts.sum(axis=1)})


def explained(order: str, times: pd.DataFrame, confidence: float = 0.95) -> Explanation:
    """The explanation of these runs beside the verdict on their throughput."""
    sessions = [run[1:] for run in order.split()]
    runs = pd.DataFrame({"run_id": times["run_id"], "session": sessions, "virtual_users": 4, "side": times["side"]})
    ratio = compared(runs.assign(metric_value=4000 / times[TOTAL]), TPS, confidence=confidence).ratio
    return explained_by_parts("transaction", times, runs.drop(columns="side"), Level.of(ratio, confidence))


def says(why: Explanation) -> bool:
    """Whether a part is said to differ; whether the total does is the verdict's to say."""
    return bool(why.clear)


def of_order(order: Callable[[int], str], noise: Noise) -> float:
    """Per cent of equal sides of which a part is stated, with runs in this order."""
    draw = np.random.default_rng(61)
    found = 0
    for trial in range(TRIALS):
        runs = order(trial)
        levels = noise((1, len(runs.split())), draw)[0]
        found += says(explained(runs, times_of(runs, levels, draw)))
    return 100 * found / TRIALS


def of_looks(noise: Noise) -> float:
    """Per cent of equal sides of which a part is stated after 6, 12 or 24 blocks."""
    draw, looks, found = np.random.default_rng(62), (6, 12, 24), 0
    for trial in range(TRIALS):
        runs = order_of_blocks(24, trial)
        times = times_of(runs, noise((1, 48), draw)[0], draw)
        for number, blocks in enumerate(looks, 1):
            level = Spending(6, looks[:number]).level(blocks)
            some = " ".join(runs.split()[: 2 * blocks])
            if says(explained(some, times.iloc[: 2 * blocks], level)):
                found += 1
                break
    return 100 * found / TRIALS


def misses(noise: Noise, planted_ms: float) -> float:
    """Per cent of comparisons of 8 blocks in which the interval of some part misses what was planted."""
    draw, found = np.random.default_rng(63), 0
    for trial in range(TRIALS):
        order = order_of_blocks(8, trial)
        times = times_of(order, noise((1, 16), draw)[0], draw, planted_ms)
        level = float(np.exp(NOISE * noise((200, 16), draw)).mean())
        why = explained(order, times)
        first = next(iter(PARTS_MS))
        truths = {name: planted_ms * level if name == first else 0.0 for name in PARTS_MS}
        found += any(not part.low_ms <= truths[part.name] <= part.high_ms for part in why.parts)
    return 100 * found / TRIALS


def wrong_cause(noise: Noise, planted_ms: float) -> float:
    """Per cent of comparisons of 6 blocks with a planted cause in which another one is named."""
    draw, found = np.random.default_rng(64), 0
    for trial in range(TRIALS):
        order = order_of_blocks(6, trial)
        why = explained(order, times_of(order, noise((1, 12), draw)[0], draw, planted_ms))
        found += any(cause.name != next(iter(PARTS_MS)) for cause in why.causes)
    return 100 * found / TRIALS


def missed_cause(noise: Noise, planted_ms: float) -> float:
    """Per cent of them in which the planted part is not stated."""
    draw, found = np.random.default_rng(64), 0
    for trial in range(TRIALS):
        order = order_of_blocks(6, trial)
        why = explained(order, times_of(order, noise((1, 12), draw)[0], draw, planted_ms))
        found += next(iter(PARTS_MS)) not in [part.name for part in why.clear]
    return 100 * found / TRIALS


def of_two_runs(noise: Noise) -> float:
    """Per cent of pairs of single equal runs of which the interval of some part misses zero."""
    draw, found = np.random.default_rng(65), 0
    for _ in range(TRIALS):
        both = [times_of("b " * 10, noise((1, 10), draw)[0], draw).assign(side=side) for side in (BASE, NEW)]
        why = explained_by_parts("transaction", pd.concat(both, ignore_index=True))
        found += any(part.low_ms > 0 or part.high_ms < 0 for part in (why.total, *why.parts))
    return 100 * found / TRIALS


def counters_of(order: str, noise: Noise) -> float:
    """Per cent of equal sides of which one of twenty counters is listed; sessions and runs vary by as much."""
    draw, found = np.random.default_rng(66), 0
    names = [run[1:] for run in order.split()]
    runs = pd.DataFrame({"side": [BASE if run[0] == "b" else NEW for run in order.split()], "session": names})
    runs = runs.assign(virtual_users=4, run_id=[f"run-{number}" for number in range(len(runs))])
    places = pd.factorize(runs["session"])[0]
    for _ in range(TRIALS):
        levels = noise((20, places.max() + 1), draw)[:, places] + noise((20, len(runs)), draw)
        counted = pd.DataFrame(100 * np.exp(0.05 * levels.T))
        found += bool(counters_apart(counted, runs["side"], partial(replicated, runs)))
    return 100 * found / TRIALS


_NIGHTS = STORED["5 sessions of base, then 5 of new (assumes that nothing drifts between them)"]
_BASE_FIRST = "b1 n1 " * 8
_SESSIONS = " ".join([*["b1"] * 5, *["n2"] * 5, *["b3"] * 5, *["n4"] * 5])
_FIVE_PCT_MS, _TWENTY_PCT_MS = 0.21, 0.84
_ORDERS: Mapping[str, Callable[[int], str]] = {
    "6 blocks in turn": partial(order_of_blocks, 6),
    "8 stored blocks, base first in each": lambda _: _BASE_FIRST,
    "5 sessions of base, then 5 of new (assumes that nothing drifts between them)": lambda _: _NIGHTS,
}
STATEMENTS = [
    Statement(f"explanation, {words}, equal sides: a part is stated", 5.5, partial(of_order, order))
    for words, order in _ORDERS.items()
]
STATEMENTS += [
    Statement("explanation, looks after 6, 12, 24 blocks, equal sides: a part is stated", 5.5, of_looks),
    Statement("explanation, two single runs: the interval of the total or a part misses zero", 5.5, of_two_runs),
    Statement(
        "explanation, 8 blocks, +5 % by a wait for the log: an interval of a part misses", 7,
        partial(misses, planted_ms=_FIVE_PCT_MS),
    ),
    Statement(
        "explanation, 6 blocks, +5 % by a wait for the log: another cause is named", 5.5,
        partial(wrong_cause, planted_ms=_FIVE_PCT_MS),
    ),
    Statement(
        "explanation, 6 blocks, +20 % by a wait for the log: that part is not stated", 20,
        partial(missed_cause, planted_ms=_TWENTY_PCT_MS),
    ),
    Statement("20 counters, 2 sessions of 5 runs each side: one is listed", 5.5, partial(counters_of, _SESSIONS)),
    Statement("20 counters, 6 blocks in turn: one is listed", 5.5, partial(counters_of, order_of_blocks(6, 1))),
]  # fmt: skip
