"""The steps of a run: throughput and latency of each, by the planned times of the steps.

An operation belongs to the step in which it ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hdbkit.analysis.run.quantiles import TIME_COLUMNS, as_figures, counts, quantiles_of
from hdbkit.analysis.run.records import Window, completed_by_part, window_of
from hdbkit.analysis.statistics.autocorrelation import inflation
from hdbkit.analysis.statistics.limit_search import RateEstimate, interval
from hdbkit.config.steps import RateStep, Steps
from hdbkit.later import numpy as np
from hdbkit.later import scipy
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import StepLatencies, StepResult

if TYPE_CHECKING:
    import numpy.typing as npt

_STRETCHES = 10
"""The stretches of a step whose counts show how much its throughput varies."""
FOLLOWED = 0.95
"""Throughput follows an offered rate while at least this share of it is completed."""
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_FIELDS = tuple(f"{name}_us" for name in _QUANTILES)


def steps_result(folder: RunFolder, manifest: Manifest) -> list[StepResult]:
    """The figures of each step that has begun in the window, in order; none if the window is one.

    Raises:
        DamagedResult: there is no measured window, or a file cannot be read.
    """
    load, window = manifest.plan.load, window_of(manifest)
    if load.steps is None:
        return []
    factor = 1.0 if manifest.rate_per_s is None else manifest.rate_per_s / load.steps.mean_level
    found: list[dict[str, Any]] = []
    spans, begin_s = [], load.starting_s + load.rampup_s
    for step in load.steps.each:
        end_s = begin_s + step.duration_s
        span = Window(max(round(1e6 * begin_s), window.start_us), min(round(1e6 * end_s), window.end_us))
        if span.end_us > span.start_us:
            found.append({"step": step, "start_s": begin_s, "end_s": end_s} | _planned(step, factor))
            spans.append(span)
        begin_s = end_s
    if not found:
        return []
    measured = _measured(folder, manifest, spans)
    return [StepResult(**planned, **of_it) for planned, of_it in zip(found, measured, strict=True)]


def knee(steps: Sequence[StepResult]) -> RateEstimate | None:
    """The rate up to which the throughput follows the offered one (``FOLLOWED``), with its 95 % interval.

    From the steps of a constant rate, those of equal rates together. The interval goes from the highest rate that
    was followed, as were all lower ones (0: none), to the lowest that was not, nor any higher, each with 97.5 %.
    Completed operations vary at least as those of a Poisson process (Garwood 1936, Biometrika 28, 437-442); where the
    stretches of the steps vary more, as with a stall or an uneven capacity, their standard error counts (Student's
    t). The estimate is the throughput at the upper end: where offered and completed rate would meet if that were the
    capacity.

    Args:
        steps: the part of a result.

    Returns:
        None if no rate is shown not to be followed.
    """
    done: dict[float, list[tuple[float, float, float, float]]] = {}
    for one in steps:
        planned = one.step
        if one.offered_per_s is not None and planned.first == planned.last and not planned.period_s:
            length_s = one.end_s - one.start_s
            variance = (one.completed_error_per_s * length_s) ** 2
            done.setdefault(one.offered_per_s, []).append(
                (one.completed_per_s * length_s, length_s, variance, _STRETCHES - 1)
            )
    rates = sorted(done)
    numbers, lengths_s, variances, df = np.array([np.sum(done[rate], axis=0) for rate in rates]).reshape(-1, 4).T
    if not rates:
        return None
    ends = scipy.special.gammaincinv([numbers, numbers + 1], [[0.025], [0.975]])
    half = scipy.special.stdtrit(df, 0.975) * np.sqrt(variances)
    ends = np.array([np.minimum(ends[0], numbers - half), np.maximum(ends[1], numbers + half)])
    upper, lower = np.log(FOLLOWED * np.array(rates) * lengths_s / np.maximum(ends, 1e-9))
    low, high = interval(rates, lower, upper)
    if math.isinf(high):
        return None
    at = rates.index(high)
    return RateEstimate(max(low, float(numbers[at] / lengths_s[at])), low, high)


def _planned(step: RateStep, factor: float) -> dict[str, Any]:
    """The mean rate of a step, or its mean number of users."""
    level = Steps((step,)).mean_level
    return (
        {"offered_per_s": level * factor, "users": None} if step.is_rate else {"offered_per_s": None, "users": level}
    )


def rate_error_per_s(counts: npt.NDArray[np.float64], duration_s: float) -> float:
    """The standard error of the rate of a step with these counts in its stretches, for Student's t of their number.

    Neighbouring stretches are alike, which makes the error larger and less known (``autocorrelation``).
    """
    away, df = counts - counts.mean(), len(counts) - 1
    squares = float(away @ away)
    more, worth = inflation(float(away[1:] @ away[:-1]) / squares if squares else 0.0, len(counts), df + 1, 1, 0.0)
    wider = scipy.special.stdtrit(max(df * worth, 1.0), 0.975) / scipy.special.stdtrit(df, 0.975)
    return float(wider * counts.std(ddof=1) * math.sqrt(len(counts) * more) / duration_s)


def _measured(folder: RunFolder, manifest: Manifest, spans: list[Window]) -> list[dict[str, Any]]:
    """Completed operations per second, failures, and the latencies of the headline's operation in microseconds."""
    found: list[dict[str, Any]] = [{} for _ in spans]
    whole = Window(spans[0].start_us, spans[-1].end_us)
    ends_us = [span.end_us for span in spans[:-1]]
    code = manifest.operations.index(manifest.headline)
    for time in ("service", "response") if manifest.paced else ("service",):
        histogram = counts(folder, whole, TIME_COLUMNS[time], ends_us)
        for at, span in enumerate(spans):
            part = histogram[histogram["part"] == at]
            done = part[part["outcome"] != Outcome.FAILED.value]
            merged = done[done["operation"] == code].groupby(["operation", "latency_us"], as_index=False)[["n"]].sum()
            rows = quantiles_of(merged, ["operation"], _QUANTILES).to_dict("records")
            found[at] |= {
                "completed_per_s": int(done["n"].sum()) / span.duration_s,
                "completed_error_per_s": rate_error_per_s(
                    completed_by_part(folder, span, _STRETCHES), span.duration_s
                ),
                "failed": int(part["n"].sum() - done["n"].sum()),
                time: StepLatencies(**(as_figures(rows[0], list(_QUANTILES)) if rows else dict.fromkeys(_FIELDS))),
            }
    return found
