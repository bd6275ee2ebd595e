"""The Universal Scalability Law fitted to a rate over virtual users: whether it fits, and where its peak lies.

Throughput of N virtual users is lambda N / (1 + sigma (N - 1) + kappa N (N - 1)): lambda that of one user, sigma the
share of work that is serialized (contention), kappa the cost of keeping each two users consistent (coherency);
none is below 0 (Gunther 2007). With kappa the throughput has a peak at sqrt((1 - sigma) / kappa).

Fitted by least squares to the means of each count of virtual users on the log scale. N / throughput is linear in
(1, sigma, kappa) / lambda. The noise is that of runs within their blocks, so it is known without the law, and an F
test compares the distances of the means from the law with it (Draper and Smith 1998). A law that does not fit has no
peak: a plateau is one example. The interval contains the peaks that an F test does not reject (Bates and Watts 1988).
Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hdbkit.analysis.statistics import Floats
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.later import scipy
from hdbkit.text import share

MIN_COUNTS_TO_FIT = 4
"""Counts of virtual users that a fit needs, since it has three unknowns."""
MIN_COUNTS_FOR_PEAK = 6
"""Counts that a statement on the peak needs, 1 among them."""
BEYOND_THE_PEAK = 2
"""Counts that must lie beyond a peak before it is reported."""
MIN_BLOCKS = 3
"""Blocks that intervals and the test of lack of fit need."""
LACK_OF_FIT_P = 0.05
"""A law whose means would lie so far away less often than this does not fit."""
_EXACT = 1e-12
_AT_LIMIT = 1e-10
"""Below this, sigma or kappa is 0: the search stays inside its bounds."""
_MIN_INVERSE = 1e-3
"""The least inverse rate to begin with, as a share of that of the highest throughput."""
_BEYOND_COUNTS = 4.0
"""Peaks up to so many times the largest count are tried; an interval that reaches there has no end."""
_PEAKS = 300


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
    """A fitted law, what the noise lets it state, and its peak where the rules allow one.

    ``means`` are the geometric means of the throughput at ``counts``. ``lack_of_fit`` is the p of the test, NaN
    without enough blocks. ``peak`` is None unless the rules allow one; ``low`` and ``high`` are its interval, NaN
    without one, ``high`` infinite where the law without a peak is not rejected.
    """

    law: Law
    counts: tuple[int, ...]
    means: tuple[float, ...]
    lack_of_fit: float
    peak: float | None
    low: float
    high: float
    noise: _Noise | None
    sentence: str

    @property
    def fits(self) -> bool:
        """Not shown to be wrong."""
        return not self.lack_of_fit < LACK_OF_FIT_P

    def curve(self, users: Floats) -> Floats:
        """The throughput at each count of users: by the law, or between the means where the law does not fit.

        The curve between the means has no extremes of its own (Fritsch and Carlson 1980, SIAM J. Numer. Anal. 17).
        """
        if self.fits:
            return self.law.throughput(users)
        between = scipy.interpolate.PchipInterpolator(np.log(self.counts), np.log(self.means))
        return np.asarray(np.exp(between(np.log(users))), dtype=np.float64)

    def band(self, users: Floats) -> tuple[Floats, Floats] | None:
        """The interval of the law at each count of users; None without enough blocks, or where it does not fit."""
        if self.noise is None or not self.fits:
            return None
        half = np.exp(self.noise.half(_slopes(self.law, users)))
        curve = self.law.throughput(users)
        return curve / half, curve * half


@dataclass(frozen=True)
class _Noise:
    """The noise of a fit: ``shape`` is the covariance of (log rate, sigma, kappa) within blocks, with ``df``.

    ``level`` is the variance of the level from block to block, which only the rate has, with ``level_df``.
    """

    shape: Floats
    df: int
    level: float
    level_df: int

    def half(self, slopes: Floats) -> Floats:
        """Half the width of a 95 % interval on the log scale; degrees of freedom by Satterthwaite (1946)."""
        within = np.einsum("ij,jk,ik->i", slopes, self.shape, slopes)
        both = within + self.level
        df = both**2 / np.maximum(within**2 / self.df + self.level**2 / self.level_df, 1e-300)
        half: Floats = scipy.special.stdtrit(df, 0.975) * np.sqrt(both)
        return half


@dataclass(frozen=True)
class _Means:
    """The means of each count of users on the log scale, apart from what blocks add, and the noise of a run.

    ``weights`` are their numbers of runs; ``covariance`` is that of the means' deviations from their mean.
    """

    users: Floats
    logs: Floats
    weights: Floats
    covariance: Floats
    noise: float
    df: int
    level: float
    blocks: int

    @classmethod
    def of(cls, runs: pd.DataFrame) -> _Means:
        users, position = np.unique(runs["virtual_users"].to_numpy(dtype=float), return_inverse=True)
        blocks, block = np.unique(runs["block"].to_numpy(), return_inverse=True)
        design = np.zeros((len(runs), len(users) + len(blocks)))
        rows = np.arange(len(runs))
        design[rows, position] = design[rows, len(users) + block] = 1
        y = np.log(runs["metric_value"].to_numpy(dtype=float))
        inverse = np.linalg.pinv(design)
        found = inverse @ y
        offsets = found[len(users) :]
        df = len(y) - round(float(np.trace(inverse @ design)))
        residuals = y - design @ found
        noise = float(np.sqrt(residuals @ residuals / df)) if df > 0 else float("nan")
        centred = np.eye(len(users)) - 1 / len(users)
        covariance = noise**2 * centred @ (inverse @ inverse.T)[: len(users), : len(users)] @ centred
        level = float(offsets.var(ddof=1)) / len(blocks) if len(blocks) > 1 else float("nan")
        weights = np.bincount(position).astype(float)
        return cls(users, found[: len(users)] + offsets.mean(), weights, covariance, noise, df, level, len(blocks))


def fitted(
    users: Sequence[float] | Floats, throughput: Sequence[float] | Floats, weights: Floats | None = None
) -> Law:
    """The law nearest to throughputs (above 0) on the log scale; users of 1 must be among them."""
    n, y = np.asarray(users, dtype=float), np.asarray(throughput, dtype=float)
    root, top = np.sqrt(np.ones_like(n) if weights is None else weights), y.max()
    columns = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) / n[:, None]
    start, _ = scipy.optimize.nnls(columns * (y / top * root)[:, None], root)

    def away(inverse: Floats) -> Floats:
        return np.asarray(root * np.log(y / top * (columns @ inverse)), dtype=np.float64)

    def slopes(inverse: Floats) -> Floats:
        return np.asarray(columns * (root / (columns @ inverse))[:, None], dtype=np.float64)

    found = scipy.optimize.least_squares(
        away,
        np.maximum(start, [_MIN_INVERSE, 0, 0]),
        slopes,
        bounds=(0, np.inf),
        ftol=_EXACT,
        xtol=_EXACT,
        gtol=_EXACT,
    )
    inverse, *others = found.x.tolist()
    sigma, kappa = (0.0 if one < _AT_LIMIT * inverse else one / inverse for one in others)
    return Law(float(top) / inverse, sigma, kappa)


def scaling(runs: pd.DataFrame, confidence: float = 0.95) -> Scaling | None:
    """The law of one configuration; None with fewer than ``MIN_COUNTS_TO_FIT`` counts of virtual users, or without 1.

    Args:
        runs: one row per run: ``virtual_users``, ``metric_value`` (a rate, above 0), and ``block``, the runs
            that were done together.
        confidence: of the peak's interval.

    A peak is reported only by the rules: ``MIN_COUNTS_FOR_PEAK`` counts, 1 among them, ``BEYOND_THE_PEAK`` beyond it;
    the law fits; and the throughput measured at the largest count is below that at the peak, by a test at the same
    confidence.
    """
    counts = tuple(sorted({int(one) for one in runs["virtual_users"]}))
    if len(counts) < MIN_COUNTS_TO_FIT or counts[0] != 1:
        return None
    means = _Means.of(runs)
    law = fitted(means.users, np.exp(means.logs), means.weights)
    enough = means.blocks >= MIN_BLOCKS and means.df > 0
    p = _lack_of_fit(law, means) if enough else float("nan")
    noise = _noise(law, means) if enough else None
    obstacle = _obstacle(law, means, p, confidence)
    if obstacle:
        text, peak, low, high = obstacle, None, np.nan, np.nan
    else:
        peak, (low, high) = law.peak, _peak_interval(law, means, confidence)
        text = _peak_sentence(peak, low, high, counts[-1], confidence)
    return Scaling(law, counts, tuple(np.exp(means.logs).tolist()), p, peak, low, high, noise, text)


def _lack_of_fit(law: Law, means: _Means) -> float:
    """The p of the means' distances to the law, by the noise of runs."""
    parameters = 1 + (law.waiting > 0) + (law.crosstalk > 0)
    away = means.logs - np.log(law.throughput(means.users))
    f = _squares(away, means.weights) / (len(away) - parameters) / means.noise**2
    return float(scipy.special.fdtrc(len(away) - parameters, means.df, f))


def _squares(away: Floats, weights: Floats) -> Floats:
    """The weighted sum of squares about the weighted mean, over the last axis: the rate takes up the mean."""
    centred = away - (away @ weights)[..., None] / weights.sum()
    squares: Floats = centred**2 @ weights
    return squares


def _slopes(law: Law, users: Floats) -> Floats:
    """The derivatives of the log throughput by log rate, sigma and kappa; 0 where one is at its limit."""
    below = 1 + law.waiting * (users - 1) + law.crosstalk * users * (users - 1)
    sigma = -(users - 1) / below * (law.waiting > 0)
    kappa = -users * (users - 1) / below * (law.crosstalk > 0)
    return np.column_stack([np.ones_like(users), sigma, kappa])


def _noise(law: Law, means: _Means) -> _Noise:
    slopes = _slopes(law, means.users)
    weighted = slopes.T * means.weights
    gain = np.linalg.pinv(weighted @ slopes) @ weighted
    return _Noise(gain @ means.covariance @ gain.T, means.df, means.level, means.blocks - 1)


def _peak_interval(law: Law, means: _Means, confidence: float) -> tuple[float, float]:
    """Where peaks begin and end to be rejected; infinite where a law without a peak is not."""
    least = float(_squares(means.logs - np.log(law.throughput(means.users)), means.weights))
    allowed = means.noise * np.sqrt(float(scipy.special.fdtri(1, means.df, confidence)))
    peaks = np.sort(np.append(np.geomspace(1, _BEYOND_COUNTS * means.users[-1], _PEAKS), law.peak))
    squares = _squares_at(np.append(peaks, np.inf), means)
    least = min(least, float(squares.min()))
    away = np.sqrt(np.maximum(squares - least, 0.0))  # about linear in log(peak), to each side
    (inside,) = np.nonzero((away[:-1] <= allowed) | (peaks == law.peak))
    first, last = int(inside[0]), int(inside[-1])

    def crossing(within: int, beyond: int) -> float:
        share_of_way = (allowed - away[within]) / max(away[beyond] - away[within], 1e-12)
        return float(peaks[within] * (peaks[beyond] / peaks[within]) ** np.clip(share_of_way, 0, 1))

    low = crossing(first, first - 1) if first else 1.0
    endless = away[-1] <= allowed or last == len(peaks) - 1
    return low, float("inf") if endless else crossing(last, last + 1)


def _squares_at(peaks: Floats, means: _Means) -> Floats:
    """The least sum of squares of a law with each of these peaks, over sigma on a grid that is refined once."""
    sigmas = np.concatenate([[0.0], np.geomspace(1e-4, 0.999, 60)])
    coarse = np.broadcast_to(sigmas, (len(peaks), len(sigmas)))
    best = _squares_of(peaks, coarse, means).argmin(axis=1)
    around = sigmas[np.maximum(best - 1, 0)], sigmas[np.minimum(best + 1, len(sigmas) - 1)]
    least: Floats = _squares_of(peaks, np.linspace(*around, 25, axis=1), means).min(axis=1)
    return least


def _squares_of(peaks: Floats, sigma: Floats, means: _Means) -> Floats:
    n = means.users
    kappa = (1 - sigma) / peaks[:, None] ** 2
    below = 1 + sigma[..., None] * (n - 1) + kappa[..., None] * (n * (n - 1))
    return _squares(means.logs - np.log(n / below), means.weights)


def _obstacle(law: Law, means: _Means, lack_of_fit: float, confidence: float) -> str:
    """Why there is no statement on a peak; empty if there may be one."""
    counts, users = len(means.users), means.users
    if counts < MIN_COUNTS_FOR_PEAK:
        return f"no statement on a peak: {counts} counts of virtual users, {MIN_COUNTS_FOR_PEAK} are needed"
    if np.isnan(lack_of_fit):
        return f"no statement on a peak: fewer than {MIN_BLOCKS} blocks"
    if lack_of_fit < LACK_OF_FIT_P:
        top = users[means.logs.argmax()]
        return (
            f"no statement on a peak: the law does not fit (p = {lack_of_fit:.2g}); "
            f"the highest mean is that of {top:.0f} virtual users"
        )
    reason = _no_fall(law, means, confidence)
    return f"no peak in range 1 to {users[-1]:.0f}: {reason}" if reason else ""


def _no_fall(law: Law, means: _Means, confidence: float) -> str:
    """Why the throughput is not shown to rise to a peak and fall beyond it; empty if it is."""
    users = means.users
    if law.peak <= 1:
        return "the throughput falls from the first user on"
    beyond = int((users > law.peak).sum())
    if beyond < BEYOND_THE_PEAK:
        lie = f"{beyond} of its counts lie" if beyond != 1 else "1 of its counts lies"
        return f"{lie} beyond the peak of the fit, {BEYOND_THE_PEAK} are needed"
    nearest = int(np.abs(np.log(users / law.peak)).argmin())
    contrast = np.zeros(len(users))
    contrast[[nearest, -1]] = 1, -1
    error = float(np.sqrt(contrast @ means.covariance @ contrast))
    if contrast @ means.logs < float(scipy.special.stdtrit(means.df, (1 + confidence) / 2)) * error:
        return (
            f"the throughput of {users[-1]:.0f} virtual users is not shown to be below that of {users[nearest]:.0f}"
        )
    return ""


def _peak_sentence(peak: float, low: float, high: float, largest: int, confidence: float) -> str:
    end = f"{high:.0f}" if high <= largest else f"more than {largest}"
    text = f"the throughput is greatest at about {peak:.0f} virtual users"
    return f"{text} ({share(confidence)} interval {low:.0f} to {end})"


def laws(runs: pd.DataFrame, by: str, confidence: float = 0.95) -> dict[str, Scaling]:
    """The fitted law of each value of the column ``by`` that has enough counts; ``runs`` as for :func:`scaling`."""
    found = {str(name): scaling(part, confidence) for name, part in runs.groupby(by, sort=False)}
    return {name: one for name, one in found.items() if one is not None}


def laws_table(found: dict[str, Scaling], by: str) -> pd.DataFrame:
    """The laws as a table: ``by``, rate (that of one user), sigma, kappa, lack_of_fit (p), peak, low, high, sentence.

    Rate, sigma and kappa are NaN where the law does not fit.
    """
    rows = []
    for name, one in found.items():
        law = one.law if one.fits else Law(np.nan, np.nan, np.nan)
        parts = {"rate": law.rate, "sigma": law.waiting, "kappa": law.crosstalk, "lack_of_fit": one.lack_of_fit}
        peak = {"peak": np.nan if one.peak is None else one.peak, "low": one.low, "high": one.high}
        rows.append({by: name, **parts, **peak, "sentence": one.sentence})
    names = ["rate", "sigma", "kappa", "lack_of_fit", "peak", "low", "high", "sentence"]
    return pd.DataFrame(rows, columns=[by, *names])
