"""The correlation of neighbouring values of a series, and what it makes of the error of a mean.

Of a series whose level changes once it is estimated from the residuals of both parts, without the slope that they
share: a drift is no correlation. Its bias in short series is corrected (Kendall 1954; more for what is fitted here,
by simulation), and a multiple of its standard error is added. Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from hdbkit.analysis.statistics import Floats
from hdbkit.later import numpy as np

MAX_CORRELATION = 0.95
MAX_INFLATING = 0.9
"""The maximum correlation that an error is inflated for."""


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
    return corrected(products / squares if squares else 0.0, count, standard_errors)


def corrected(plain: float, count: int, standard_errors: float) -> float:
    """A correlation of neighbours among ``count`` residuals of two parts, without its bias and raised."""
    estimate = min(max(plain + (4 + 4 * max(plain, 0.0)) / count, 0.0), MAX_CORRELATION)
    return min(estimate + standard_errors * float(np.sqrt((1 - estimate**2) / count)), MAX_CORRELATION)


def inflation(plain: float, values: int, length: float, series: int, standard_errors: float) -> tuple[float, float]:
    """What correlated residuals make of the variance of a mean, and of its degrees of freedom: two factors.

    A mean of correlated values has the variance of a mean of fewer independent ones, their own variance is estimated
    too small, and that estimate has fewer degrees of freedom (Bayley and Hammersley 1946).

    Args:
        plain: the correlation of neighbouring residuals; it is corrected for its bias (Kendall 1954).
        values: the values of each mean.
        length: of the parts that follow each other in time; parts are independent of each other.
        series: independent series that the correlation is estimated from.
        standard_errors: are added to the estimate.
    """
    estimate = plain + (1 + 3 * max(plain, 0.0)) / values
    estimate += standard_errors * float(np.sqrt(max(1 - estimate**2, 0.0) / (values * max(series, 1))))
    rho = min(max(estimate, 0.0), MAX_INFLATING)
    lags = np.arange(1, max(round(length), 1))
    of_mean = 1 + 2 * float(((1 - lags / length) * rho**lags).sum())
    left = max((values - of_mean) / max(values - 1, 1), 1 / values)
    return of_mean / left, (1 - rho**2) / (1 + rho**2)
