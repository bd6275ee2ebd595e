"""The Universal Scalability Law fitted to a rate over virtual users, and where its peak lies.

Throughput of N virtual users is lambda N / (1 + sigma (N - 1) + kappa N (N - 1)): lambda that of one user, sigma the
share of work that is serialized (contention), kappa the cost of keeping each two users consistent (coherency);
none is below 0 (Gunther 2007,
Guerrilla Capacity Planning, chapter 4). With kappa the throughput has a peak at sqrt((1 - sigma) / kappa).

Fitted by least squares on the log scale, as all throughputs here are judged. N / throughput is linear in (1, sigma,
kappa) / lambda, so each Gauss-Newton step is a linear problem whose solution must not be negative
(``scipy.optimize.nnls``; Lawson and Hanson 1974). Intervals are percentiles of a bootstrap over blocks, for the runs
of a block are correlated: one block fewer is drawn than there are, so that the spread is not too small with few
blocks (Rao and Wu 1988, J. Am. Statist. Assoc. 83, 231-241).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from hdbkit.analysis.wording import share

Floats = NDArray[np.float64]

MIN_COUNTS_TO_FIT = 4
"""Counts of virtual users that a fit needs, since it has three unknowns."""
MIN_COUNTS_FOR_PEAK = 6
"""Counts that a statement on the peak needs, 1 among them."""
BEYOND_THE_PEAK = 2
"""Counts that must lie beyond a peak before it is reported."""
MIN_BLOCKS = 3
_RESAMPLES = 500
_STEPS = 25


@dataclass(frozen=True)
class Law:
    """One fitted curve: ``rate`` is the throughput of one user, ``waiting`` sigma, ``crosstalk`` kappa."""

    rate: float
    waiting: float
    crosstalk: float

    @property
    def peak(self) -> float:
        """The virtual users at which the throughput is greatest; infinite where it only grows."""
        if self.crosstalk <= 0:
            return float("inf")
        return max(1.0, float(np.sqrt(max(1 - self.waiting, 0.0) / self.crosstalk)))

    def throughput(self, users: Floats) -> Floats:
        """The throughput at this number of virtual users."""
        return self.rate * users / (1 + self.waiting * (users - 1) + self.crosstalk * users * (users - 1))


@dataclass(frozen=True)
class Scaling:
    """A fitted law, its bootstrap resamples, and its peak where the rules allow one.

    ``peak`` is None unless the rules allow one; ``low`` and ``high`` are its interval, NaN without enough blocks,
    ``high`` infinite where many resamples have no peak. ``resampled`` are the laws of the bootstrap.
    """

    law: Law
    counts: tuple[int, ...]
    peak: float | None
    low: float
    high: float
    resampled: tuple[Law, ...]
    sentence: str

    def band(self, users: Floats, confidence: float = 0.95) -> tuple[Floats, Floats] | None:
        """The interval of the curve at each count of users; None without enough blocks."""
        if not self.resampled:
            return None
        curves = np.array([one.throughput(users) for one in self.resampled])
        low, high = np.quantile(curves, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        return low, high


def fitted(users: Sequence[int] | Floats, throughput: Sequence[float] | Floats) -> Law:
    """The law nearest to throughputs (above 0) on the log scale; users of 1 must be among them."""
    n, y = np.asarray(users, dtype=float), np.asarray(throughput, dtype=float)
    columns = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) / n[:, None]
    solution, _ = scipy.optimize.nnls(columns * y[:, None], np.ones_like(y))
    for _ in range(_STEPS):
        inverse = columns @ solution
        step, _ = scipy.optimize.nnls(columns / inverse[:, None], 1 - np.log(y * inverse))
        moved, solution = np.abs(step - solution), step
        if np.all(moved <= 1e-10 * np.abs(solution).max()):
            break
    first, second, third = solution.tolist()
    return Law(1 / first, second / first, third / first)


def scaling(runs: pd.DataFrame, confidence: float = 0.95, seed: int = 1) -> Scaling | None:
    """The law of one configuration; None with fewer than ``MIN_COUNTS_TO_FIT`` counts of virtual users, or without 1.

    Args:
        runs: one row per run: ``virtual_users``, ``metric_value`` (a rate, above 0), and ``block``, the runs
            that were done together.
        confidence: of the peak's interval.
        seed: of the bootstrap, so that equal runs give equal intervals.

    A peak is reported only by the rules: ``MIN_COUNTS_FOR_PEAK`` counts, 1 among them, ``BEYOND_THE_PEAK`` beyond it.
    """
    counts = tuple(sorted({int(one) for one in runs["virtual_users"]}))
    if len(counts) < MIN_COUNTS_TO_FIT or counts[0] != 1:
        return None
    law = fitted(runs["virtual_users"].to_numpy(), runs["metric_value"].to_numpy())
    resampled = _resampled(runs, counts, seed)
    beyond = sum(count > law.peak for count in counts)
    if len(counts) < MIN_COUNTS_FOR_PEAK or beyond < BEYOND_THE_PEAK:
        return Scaling(law, counts, None, np.nan, np.nan, resampled, _no_peak(counts, beyond))
    low = high = float("nan")
    if resampled:
        ends = [(1 - confidence) / 2, (1 + confidence) / 2]
        peaks = [one.peak for one in resampled]
        low, high = (float(one) for one in np.quantile(peaks, ends, method="closest_observation"))
    text = _peak_sentence(law.peak, low, high, counts[-1], confidence)
    return Scaling(law, counts, law.peak, low, high, resampled, text)


def _resampled(runs: pd.DataFrame, counts: tuple[int, ...], seed: int) -> tuple[Law, ...]:
    """The laws of blocks drawn with replacement, where they have every count; none where there are too few blocks."""
    parts = [part[["virtual_users", "metric_value"]].to_numpy(dtype=float) for _, part in runs.groupby("block")]
    if len(parts) < MIN_BLOCKS:
        return ()
    draw = np.random.default_rng(seed)
    picks = draw.integers(0, len(parts), size=(_RESAMPLES, len(parts) - 1))
    known: dict[tuple[int, ...], Law | None] = {}
    for pick in map(tuple, np.sort(picks).tolist()):
        if pick not in known:
            drawn = np.concatenate([parts[one] for one in pick])
            whole = set(drawn[:, 0].astype(int).tolist()) == set(counts)
            known[pick] = fitted(drawn[:, 0], drawn[:, 1]) if whole else None
    laws = (known[pick] for pick in map(tuple, np.sort(picks).tolist()))
    return tuple(law for law in laws if law is not None)


def _no_peak(counts: tuple[int, ...], beyond: int) -> str:
    if len(counts) < MIN_COUNTS_FOR_PEAK:
        return f"no statement on a peak: {len(counts)} counts of virtual users, {MIN_COUNTS_FOR_PEAK} are needed"
    beyond_it = f"{beyond} of its counts lie" if beyond != 1 else "1 of its counts lies"
    return f"no peak in range 1 to {counts[-1]}: {beyond_it} beyond the peak of the fit, {BEYOND_THE_PEAK} are needed"


def _peak_sentence(peak: float, low: float, high: float, largest: int, confidence: float) -> str:
    text = f"the throughput is greatest at about {peak:.0f} virtual users"
    if not np.isfinite(low):
        return f"{text} (no interval: fewer than {MIN_BLOCKS} blocks)"
    end = f"{high:.0f}" if high <= largest else f"more than {largest}"
    return f"{text} ({share(confidence)} interval {low:.0f} to {end})"


def laws(runs: pd.DataFrame, by: str, confidence: float = 0.95) -> dict[str, Scaling]:
    """The fitted law of each value of the column ``by`` that has enough counts; ``runs`` as for :func:`scaling`."""
    found = {str(name): scaling(part, confidence) for name, part in runs.groupby(by, sort=False)}
    return {name: one for name, one in found.items() if one is not None}


def laws_table(found: dict[str, Scaling], by: str) -> pd.DataFrame:
    """The laws as a table: ``by``, rate (that of one user), sigma, kappa, peak, low, high, sentence."""
    return pd.DataFrame(
        [
            {
                **{by: name, "rate": one.law.rate, "sigma": one.law.waiting, "kappa": one.law.crosstalk},
                **{"peak": np.nan if one.peak is None else one.peak, "low": one.low, "high": one.high},
                "sentence": one.sentence,
            }
            for name, one in found.items()
        ],
        columns=[by, "rate", "sigma", "kappa", "peak", "low", "high", "sentence"],
    )
