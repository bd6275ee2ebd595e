"""Change points: after which runs of a series its level changed.

E-divisive (Matteson and James 2014, J. Am. Statist. Assoc. 109, 334-345; used on series of benchmarks by Daly et al.
2020, ICPE): the place that parts a stretch into the two most unlike halves, by the energy distance between them, is
found and tested by permutations of the stretch; where it is a change, both halves are searched in turn (binary
segmentation: the second half goes to the stretch's end). Nothing is assumed of the noise's form; but runs are taken
as interchangeable between changes, so a slow drift is reported as one or more changes.

An environment that differs parts the series beforehand, whatever the values: what a change is due to
cannot be determined there. The chance to report a change in series without one is at most ``error_rate``, all
stretches that the environment leaves and all counts of virtual users taken together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_RUNS = 3
"""Runs that a part must have."""
MAX_RUNS = 500
"""Runs of one series that are searched, the newest."""
_PERMUTATIONS = 999


@dataclass(frozen=True)
class Break:
    """The series changes at run ``at`` (counted from 0); ``p`` of the test."""

    at: int
    p: float


def breaks(values: Sequence[float] | Floats, boundaries: Sequence[int] = (), error_rate: float = 0.05) -> list[Break]:
    """The changes of one series, ascending; the boundaries themselves are not among them.

    Args:
        values: a number a run, in the order of time, on the scale on which changes are judged (logarithms).
        boundaries: where the environment became another, as the place of the first run of the new one.
        error_rate: the probability of a false change point, over the whole series.
    """
    y = np.asarray(values, dtype=float)
    edges = [0, *sorted({one for one in boundaries if 0 < one < len(y)}), len(y)]
    stretches = [(start, end) for start, end in pairwise(edges) if end - start >= 2 * MIN_RUNS]
    found: list[Break] = []
    for start, end in stretches:
        found += _divided(y[start:end], start, error_rate / len(stretches))
    return sorted(found, key=lambda one: one.at)


def _divided(y: Floats, offset: int, error_rate: float) -> list[Break]:
    if len(y) < 2 * MIN_RUNS:
        return []
    at, statistic = _best_division(_distances(y))
    p = _chance(y, statistic, error_rate)
    if p > error_rate:
        return []
    before, after = _divided(y[:at], offset, error_rate), _divided(y[at:], offset + at, error_rate)
    return [*before, Break(offset + at, p), *after]


def _chance(y: Floats, statistic: float, error_rate: float) -> float:
    """The share of permutations, the series itself among them, with a division as good as this one.

    Computed until it is known to be above ``error_rate``.
    """
    draw = np.random.default_rng(len(y))
    distances = _distances(y)
    as_good = 0
    for _ in range(_PERMUTATIONS):
        order = draw.permutation(len(y))
        as_good += _best_division(distances[np.ix_(order, order)])[1] >= statistic * (1 - 1e-12)
        if 1 + as_good > error_rate * (1 + _PERMUTATIONS):
            break
    return (1 + as_good) / (1 + _PERMUTATIONS)


def _distances(y: Floats) -> Floats:
    apart: Floats = np.abs(y[:, None] - y[None, :])
    return apart


def _best_division(distances: Floats) -> tuple[int, float]:
    """The length of the first half that makes the halves most unlike, and their scaled energy distance."""
    n = len(distances)
    whole = np.cumsum(np.cumsum(distances, axis=0), axis=1)
    k = np.arange(MIN_RUNS, n - MIN_RUNS + 1)
    inside = whole[k - 1, k - 1]
    above = whole[k - 1, n - 1]
    total = whole[n - 1, n - 1]
    across = above - inside
    behind = total - 2 * above + inside
    energy = 2 * across / (k * (n - k)) - inside / (k * (k - 1)) - behind / ((n - k) * (n - k - 1))
    scaled = k * (n - k) / n * energy
    best = int(scaled.argmax())
    return int(k[best]), float(scaled[best])
