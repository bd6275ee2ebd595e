"""Change points: after which values of a series its level changed.

Binary segmentation: the place that parts a stretch into the two halves whose levels differ most is found and tested;
where it is a change, both halves are searched in turn. The test is the likelihood ratio in a first-order
autoregressive series (Robbins et al. 2011), with the correlation of both halves (``autocorrelation``). The
probability that the best of all places is so good is bounded by Hotelling's tube formula (Naiman 1986), which has an
analytic tail: a large change is significant among however many stretches. A steady drift is reported as one or more
changes, and so is a burst of three values or more. Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.autocorrelation import correlation
from hdbkit.later import numpy as np
from hdbkit.later import scipy

_MIN_VALUES = 3
"""Values that a part must have."""
MAX_SERIES = 500
"""Values of one series that are searched, the newest."""
_STANDARD_ERRORS = 2.0
"""Standard errors added to the estimated correlation; from our own simulations, for correlations up to 0.7."""
_OUTLYING = 4.0
"""The farthest that a value stays from the median of its neighbours, in standard deviations of the noise."""
_NEIGHBOURS = 2
"""The neighbours at each side."""


@dataclass(frozen=True)
class Break:
    """The series changes at value ``at`` (counted from 0); ``p`` of the test."""

    at: int
    p: float


def breaks(stretches: Sequence[Sequence[float] | Floats], error_rate: float = 0.05) -> list[list[Break]]:
    """The changes within each stretch, ascending.

    Args:
        stretches: values in the order of time, on the scale on which changes are judged (logarithms); a change from
            one stretch to the next is not searched.
        error_rate: the false discovery rate, over all stretches.
    """
    series = [_without_outliers(np.asarray(one, dtype=float)) for one in stretches]
    wholes = [_best_division(one) for one in series]
    limit = _false_discovery_limit([one.p for one in wholes if one], error_rate)
    return [_divided(one, 0, limit) for one in series]


def _false_discovery_limit(found: Sequence[float], rate: float) -> float:
    """The greatest p that Benjamini and Hochberg's procedure rejects; below every p if it rejects none."""
    limits = rate * np.arange(1, len(found) + 1) / max(len(found), 1)
    rejected = limits[np.sort(found) <= limits] if found else limits
    return float(rejected.max(initial=0.0))


def _divided(y: Floats, offset: int, limit: float) -> list[Break]:
    best = _best_division(y)
    if best is None or best.p > limit:
        return []
    before, after = _divided(y[: best.at], offset, limit), _divided(y[best.at :], offset + best.at, limit)
    return [*before, Break(offset + best.at, best.p), *after]


def _without_outliers(y: Floats) -> Floats:
    """Each value drawn towards the median of its neighbours; the noise is that of successive differences."""
    if len(y) < 2 * _MIN_VALUES:
        return y
    noise = float(np.median(np.abs(np.diff(y)))) / (np.sqrt(2) * float(scipy.special.ndtri(0.75)))
    padded = np.pad(y, _NEIGHBOURS, mode="reflect")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1), axis=1)
    return np.clip(y, medians - _OUTLYING * noise, medians + _OUTLYING * noise) if noise else y


def _best_division(y: Floats) -> Break | None:
    """The most unlike halves, and the probability of so unlike ones without a change; None if there are no halves."""
    n = len(y)
    if n < 2 * _MIN_VALUES or np.ptp(y) == 0:
        return None
    directions, alike = _projections(y, 0.0)
    at = _MIN_VALUES + int(np.abs(alike).argmax())
    directions, alike = _projections(y, correlation(y[:at], y[at:], _STANDARD_ERRORS))
    best = int(np.abs(alike).argmax())
    return Break(_MIN_VALUES + best, _tail(abs(float(alike[best])), directions, n - 3))


def _projections(y: Floats, between: float) -> tuple[Floats, Floats]:
    """For each place a unit vector, that of a change there apart from the mean; and its cosine with the series."""
    n = len(y)
    places = np.arange(_MIN_VALUES, n - _MIN_VALUES + 1)
    steps = (np.arange(n) >= places[:, None]).astype(float)
    values, steps, level = (_whitened(one, between) for one in (y, steps, np.ones(n)))
    level /= np.linalg.norm(level)
    values = values - level * (values @ level)
    steps = steps - np.outer(steps @ level, level)
    directions = steps / np.linalg.norm(steps, axis=1)[:, None]
    return directions, directions @ values / np.linalg.norm(values)


def _whitened(rows: Floats, between: float) -> Floats:
    """The rows without first-order autocorrelation (Prais and Winsten 1954)."""
    white = rows.copy()
    white[..., 1:] -= between * rows[..., :-1]
    white[..., 0] *= np.sqrt(1 - between**2)
    return white


def _tail(cosine: float, directions: Floats, df: int) -> float:
    """The probability that noise has so large a cosine with any of the directions, to either side."""
    beyond = max(1 - cosine**2, 1e-300)
    t = cosine * np.sqrt(df / beyond)
    alone = float(scipy.special.stdtr(df, -t))
    length = float(np.arccos(np.clip((directions[1:] * directions[:-1]).sum(axis=1), -1, 1)).sum())
    tube = alone + length / (2 * np.pi) * float((1 + t**2 / df) ** (-(df - 1) / 2))
    return min(2 * min(tube, len(directions) * alone), 1.0)
