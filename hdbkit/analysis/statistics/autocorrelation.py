"""The correlation of neighbouring values of a series whose level changes once.

It is estimated from the residuals of both parts, without the slope that they share: a drift is no correlation. In
short series the estimate is too small; its bias is corrected (Kendall 1954, Biometrika 41, 403-404; more for what is
fitted here, by simulation), and a multiple of its standard error is added, so that intervals and tests that use it
err on the safe side up to a correlation of 0.5 (``bench/verdicts``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_CORRELATION = 0.95


def residuals_of(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Both parts without their means and without the slope that they share."""
    centred = [part - part.mean() for part in (before, after)]
    times = [np.arange(len(part)) - (len(part) - 1) / 2 for part in centred]
    slope = sum(float(time @ part) for time, part in zip(times, centred, strict=True))
    slope /= sum(float(time @ time) for time in times)
    first, second = (part - slope * time for part, time in zip(centred, times, strict=True))
    return first, second


def correlation(before: Floats, after: Floats, standard_errors: float) -> float:
    """The correlation of neighbours within both parts, between 0 and ``MAX_CORRELATION``.

    ``standard_errors`` are added to the estimate; how many suffice depends on what uses it.
    """
    parts = residuals_of(before, after)
    count = len(before) + len(after)
    squares = sum(float(part @ part) for part in parts)
    products = sum(float(part[1:] @ part[:-1]) for part in parts)
    plain = products / squares if squares else 0.0
    estimate = min(max(plain + (4 + 4 * max(plain, 0.0)) / count, 0.0), MAX_CORRELATION)
    return min(estimate + standard_errors * float(np.sqrt((1 - estimate**2) / count)), MAX_CORRELATION)
