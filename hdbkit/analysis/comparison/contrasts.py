"""The difference of two sides on the log scale, with its intervals: by one model or by two that must agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hdbkit.analysis.comparison.replication import Replication
from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.carry_over import holding
from hdbkit.analysis.statistics.power import least_found
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.analysis.statistics.two_samples import Sample, half_widths, models
from hdbkit.later import numpy as np


class Contrast(NamedTuple):
    """New - base; the ends of its interval, and of that at twice the error rate, of two one-sided tests; and the
    difference that the interval would have excluded from zero with ``power.POWER``."""

    estimate: float
    ends: tuple[float, float]
    inner: tuple[float, float]
    detectable: float

    @classmethod
    def holding(cls, each: Sequence[Contrast]) -> Contrast:
        """That of the first model, with intervals that hold those of all (``carry_over``)."""
        ends, inner = holding(one.ends for one in each), holding(one.inner for one in each)
        return cls(each[0].estimate, ends, inner, max(one.detectable for one in each))


def contrasts(samples: Sequence[Sample], plain: Floats, confidence: float) -> list[Contrast]:
    """The contrast of each condition; its ends are NaN where only means of runs are known.

    ``samples`` are the differences, or base and new, or nothing; ``plain`` are the differences of the means of runs.
    """
    if not samples:
        unknown = (math.nan, math.nan)
        return [Contrast(float(difference), unknown, unknown, math.nan) for difference in plain]
    by_model = [_contrasts(model, plain, confidence) for model in models(samples)]
    return [Contrast.holding(each) for each in zip(*by_model, strict=True)]


def _contrasts(samples: Sequence[Sample], plain: Floats, confidence: float) -> list[Contrast]:
    means = samples[0].means - (samples[1].means if len(samples) > 1 else 0)
    estimates = np.where(np.isnan(means), plain, means)
    half, inner = (half_widths(samples, level) for level in (confidence, 2 * confidence - 1))
    errors = np.sqrt(sum(sample.variance / np.where(sample.counts, sample.counts, np.nan) for sample in samples))
    df = min(sample.df for sample in samples)
    return [
        Contrast(value, (value - wide, value + wide), (value - narrow, value + narrow), least_found(wide, error, df))
        for value, wide, narrow, error in zip(*map(np.ndarray.tolist, (estimates, half, inner, errors)), strict=True)
    ]


def at_every_look(design: Replication, plain: Floats, anytime: Anytime) -> list[Contrast]:
    """The contrast of each condition by itself, whose interval holds at every number of blocks.

    It decides equivalence as well, in place of one at twice the error rate. Without two blocks ``plain`` is the
    estimate.
    """
    blocks, conditions = design.samples[0].shape
    if blocks < 2:
        return contrasts([], plain, anytime.confidence)
    found = []
    for at in range(conditions):
        (sample,) = design.condition(at).estimates
        estimate = sample.estimate
        ends = anytime.ends(blocks, estimate)
        found.append(Contrast(estimate.value, ends, ends, math.nan))
    return found
