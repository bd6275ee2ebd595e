"""Ratios and intervals in plain English, the same words in every table, line and report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

_MANY = 1.5
"""From this ratio on a reader grasps "times as fast" more easily than per cent."""


@dataclass(frozen=True)
class Interval:
    """A ratio of throughputs with its simultaneous interval."""

    ratio: float
    low: float
    high: float

    def verdict(self, smallest_effect: float) -> str:
        """``faster`` or ``slower`` when 1 is outside, ``no difference`` when all is small, else ``undecided``."""
        if self.low > 1:
            return "faster"
        if self.high < 1:
            return "slower"
        return "no difference" if self.equivalent(smallest_effect) else "undecided"

    def equivalent(self, smallest_effect: float) -> bool:
        """Whether the interval lies inside +-``smallest_effect``."""
        return self.low >= 1 - smallest_effect and self.high <= 1 + smallest_effect


def label(settings: Mapping[str, object], baseline: Mapping[str, object]) -> str:
    """A configuration by what differs from the baseline: ``fsync=off, work_mem=8MB``."""
    differing = [f"{name}={value}" for name, value in settings.items() if value != baseline[name]]
    return ", ".join(differing) or "baseline"


def virtual_users(count: int) -> str:
    """``1 virtual user``, ``4 virtual users``."""
    return many(count, "virtual user")


def many(count: int, what: str) -> str:
    """``1 run``, ``1,200 runs``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def share(fraction: float) -> str:
    """``0.021`` as ``2.1 %``, ``0.02`` as ``2 %``."""
    return f"{round(fraction * 100, 1):g} %"


def percent(ratio: float) -> str:
    """A ratio as a signed change: ``+3.4 %``."""
    return f"{100 * (ratio - 1):+.1f} %"


def percents(low: float, high: float) -> str:
    """The ends of an interval of ratios: ``+1.2 % to +5.6 %``."""
    return f"{percent(low)} to {percent(high)}"


def percent_within(ratio: float, low: float, high: float) -> str:
    """A ratio with its interval, where it has one: ``+3.4 % (+1.2 % to +5.6 %)``."""
    return percent(ratio) + (f" ({percents(low, high)})" if math.isfinite(low) else "")


def change(ratio: float) -> str:
    """A ratio as ``1.2 % slower``, ``3.4 % faster`` or ``2.31 times as fast``."""
    if ratio >= _MANY:
        return f"{ratio:.{2 if ratio < 10 else 0}f} times as fast"
    return f"{abs(ratio - 1) * 100:.1f} % {'faster' if ratio >= 1 else 'slower'}"


def sentence(
    subject: str,
    reference: str,
    interval: Interval,
    smallest_effect: float,
    confidence: float,
    blocks_needed: int | None = None,
) -> str:
    """What the interval says of ``subject`` against ``reference``, as one sentence without its full stop."""
    verdict = interval.verdict(smallest_effect)
    ratio, low, high = interval.ratio, interval.low, interval.high
    if verdict == "undecided":
        advice = f"; about {blocks_needed} blocks would decide" if blocks_needed else ""
        return f"{subject}: undecided: between {change(low)} and {change(high)}{advice}"
    if verdict == "no difference":
        within = f"{share(confidence)} interval {change(low)} to {change(high)}"
        return f"{subject}: no difference larger than {share(smallest_effect)} from {reference} ({within})"
    if ratio >= _MANY:
        within = f"{share(confidence)} interval {low:.2f} to {high:.2f}"
        text = f"{subject} is {ratio:.2f} times as fast as {reference} ({within})"
    else:
        near, far = sorted((abs(low - 1) * 100, abs(high - 1) * 100))
        within = f"{share(confidence)} interval {near:.1f} % to {far:.1f} %"
        text = f"{subject} is {change(ratio)} than {reference} ({within})"
    return text + (
        f", less than the {share(smallest_effect)} that matter" if interval.equivalent(smallest_effect) else ""
    )
