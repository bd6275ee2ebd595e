"""Tests whether a run can still meet its limits, by an interval over the part of the window measured so far.

The interval is made of batch means (Law and Carson, 1979): what has passed is cut into ten equal stretches, whose
means count as ten independent values, so that seconds that hang together (a stall, a write-back) widen it instead
of being taken for many. Its upper end is the larger of two: that of all stretches, and that of the later half;
where the later half is above the first, as while a cache fills, the rise is assumed to continue to the end of the
window.

A window is looked at a fixed few times, since every look is one more chance to err: at ``LEVEL`` each, all looks of
a run that is just good enough end it in at most ``len(LOOKS) * (1 - LEVEL)`` = 0.7 % of cases. That holds while
what hangs together lasts a few hundredths of the window. Slower waves are taken for differences: simulated, with a
correlation of 0.6, 0.8, 0.95 between parts, a run that is just good enough ends in 0.3, 1.8, 15 % of cases; one
that is better by the margin that a search leaves (``search.MARGIN``) in 0, 0, 1.1 %.
"""

from __future__ import annotations

import math

from hdbkit.analysis.statistics import Floats
from hdbkit.later import numpy as np
from hdbkit.later import scipy

PARTS = 100
"""Equal parts of a window, in which its events are counted."""
LOOKS = tuple(range(20, 81, 10))
"""The numbers of parts after which a run is checked: not in the first fifth, nor when little can be saved."""
_MIN_S = 2.0
"""A shorter stretch may lie wholly within one stall of a server."""
LEVEL = 0.999
"""Of one look's interval, one-sided."""
_STRETCHES = 10


def looks(window_s: float) -> list[int]:
    """The ``LOOKS`` of a window of this many seconds that are late enough; none in a very short one."""
    return [parts for parts in LOOKS if parts * window_s / PARTS >= _MIN_S]


def upper_bound(parts: Floats, of: Floats | None = None) -> float:
    """The upper end of the interval for the mean over the window, from its first parts: as many as a look has.

    With ``of``, for the sum of the parts as a share of that of ``of`` (a ratio of two means); infinite without any.
    """
    whole = np.ones(len(parts)) if of is None else of
    values, weights = (one.reshape(_STRETCHES, -1).sum(axis=1) for one in (parts, whole))
    half = _STRETCHES // 2
    first, _ = _interval(values[:half], weights[:half])
    later, highest = _interval(values[half:], weights[half:])
    rise = max(later - first, 0.0)
    ahead = max(PARTS - 1.5 * len(parts), 0.0) / len(parts)  # from the middle of the later half to the window's
    return max(_interval(values, weights)[1], highest + rise * ahead)


def _interval(values: Floats, weights: Floats) -> tuple[float, float]:
    """The ratio of two sums, and the upper end of its interval; 0 and infinite where nothing is to divide by."""
    total = float(weights.sum())
    if not total:
        return 0.0, math.inf
    ratio = float(values.sum()) / total
    error = float((values - ratio * weights).std(ddof=1)) * math.sqrt(len(values)) / total
    return ratio, ratio + float(scipy.special.stdtrit(len(values) - 1, LEVEL)) * error
