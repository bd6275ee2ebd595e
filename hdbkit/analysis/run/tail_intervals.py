"""Intervals of the latency quantiles of one run, from how the share of slow operations varies along it.

The share of operations beyond a quantile is a mean over stretches of the window, whose error allows for the
correlation of neighbours. The quantiles at the ends of that share's interval are the interval of the quantile
(Woodruff 1952, J. Am. Statist. Assoc. 47, 635-646). It holds for this run: another run may differ by more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hdbkit.analysis.run.quantiles import rank
from hdbkit.analysis.run.records import Window, operations_of
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.autocorrelation import inflation
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder

TAILS: Mapping[str, float] = {"p95": 0.95, "p99": 0.99}
_STRETCHES = 20
_STANDARD_ERRORS = 1.0
"""How many are added to the correlation of neighbouring stretches; from our own simulations."""
_CONFIDENCE = 0.95
MIN_BEYOND = 10
"""The least number of operations beyond a quantile whose interval is stated."""


@dataclass(frozen=True)
class Tail:
    """A quantile of the latency of an operation in us, its 95 % interval, and the operations beyond it.

    ``high_us`` is None where the interval has no upper end within what was seen.
    """

    us: int
    low_us: int
    high_us: int | None
    beyond: int


def tail_intervals(folder: RunFolder, window: Window, names: list[str]) -> dict[str, dict[str, Tail]]:
    """By operation and quantile; without those with too few operations beyond.

    Args:
        folder: the run.
        window: its window.
        names: the operations, by their numbers in the records.
    """
    length_us = (window.end_us - window.start_us) / _STRETCHES
    stretch = f"least(floor((t_end_us - {window.start_us}) / {length_us}), {_STRETCHES - 1})::INTEGER"
    with operations_of(folder, window) as records:
        rows = (
            records.filter(f"outcome <> {Outcome.FAILED.value}")
            .aggregate(
                f"operation, {stretch} AS stretch, latency_us, count(*)::BIGINT AS n",
                "operation, stretch, latency_us",
            )
            .df()
        )
    found = {}
    for number, of_operation in rows.groupby("operation"):
        table = of_operation.pivot_table(index="latency_us", columns="stretch", values="n", aggfunc="sum")
        counts = table.reindex(columns=range(_STRETCHES)).fillna(0).sort_index()
        tails = {name: tail_of(counts, share) for name, share in TAILS.items()}
        found[names[int(str(number))]] = {name: tail for name, tail in tails.items() if tail is not None}
    return found


def tail_of(counts: pd.DataFrame, share: float) -> Tail | None:
    """The interval of one quantile; None with too few operations beyond it.

    Args:
        counts: how often each latency was seen in each stretch; the index are latencies in us, ascending.
        share: of operations below the quantile.
    """
    latencies = counts.index.to_numpy()
    cumulative = counts.sum(axis=1).to_numpy().cumsum()
    total = cumulative[-1]
    at = int(np.searchsorted(cumulative, rank(np.array([int(total)]), share)[0]))
    each, beyond = counts.sum().to_numpy(), counts.iloc[at + 1 :].sum().to_numpy()
    if beyond.sum() < MIN_BEYOND:
        return None
    half = _half(each, beyond)
    low, high = (int(np.searchsorted(cumulative, end * total)) for end in (share - half, min(share + half, 1.0)))
    top = None if share + half >= 1 else int(latencies[high])
    return Tail(int(latencies[at]), int(latencies[max(low, 0)]), top, int(beyond.sum()))


def _half(each: Floats, beyond: Floats) -> float:
    """The half width of the interval of the share of operations beyond."""
    stretches = len(each)
    away = beyond - beyond.sum() / each.sum() * each
    squares = float(away @ away)
    plain = float(away[1:] @ away[:-1]) / squares if squares else 0.0
    variance, df = inflation(plain, stretches, stretches, 1, _STANDARD_ERRORS)
    error = np.sqrt(squares * stretches / (stretches - 1) * variance) / each.sum()
    return float(scipy.special.stdtrit(max((stretches - 1) * df, 1.0), (1 + _CONFIDENCE) / 2) * error)
