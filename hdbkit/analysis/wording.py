"""Ratios and intervals in plain English, the same words in every table, sentence and report.

A ratio is one of scores (``Metric.score``), so that more than 1 is better whatever the metric is. Percentages are
those of the metric itself: a configuration that needs 20 % less time has a change of -20 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hdbkit.analysis.statistics.carry_over import EffectEstimate, holding
from hdbkit.analysis.statistics.power import POWER
from hdbkit.caution import Caution
from hdbkit.config.metric import Better, Measure, Metric
from hdbkit.later import numpy as np
from hdbkit.results.finding import Needed, Ratio, Verdict, finite
from hdbkit.text import percent_of, share

WATCHED = Caution("the load is another program's: its latencies, errors and number of users are unknown")
_MANY = 1.5
"""From this ratio on, "times as fast" is easier to read than per cent."""
_MAX_LOG = 700.0
"""Beyond this, a ratio is no finite number."""
_MAX_WIDTH = 100.0
"""From this ratio of its ends on, an interval that includes 1 says nothing."""
TOO_FEW = "too few runs"
"""What is written in place of such an interval."""
CONFIDENCE: Final = 0.95
"""With which all intervals of a sweep hold, at all of its looks."""


_NO_COMPARISON = (Verdict.BASELINE, Verdict.NOT_RUN, Verdict.ENDED_EARLY, Verdict.FAILED)
"""What is said of a configuration that is compared with nothing."""


def says_nothing(low: float, high: float) -> bool:
    """Whether an interval of a ratio reaches from far below 1 to far above; an unknown one does not."""
    return high > _MAX_WIDTH * low and low < 1 < high


@dataclass(frozen=True)
class Interval:
    """A ratio of scores of a metric with its interval."""

    metric: Metric
    ratio: float
    low: float
    high: float
    inner: tuple[float, float] | None = None
    """The ends at twice the error rate: two one-sided tests of equivalence; without them, ``low`` and ``high``."""
    at_every_look: bool = False
    """Whether it holds at every number of blocks, without any plan of looks."""

    @classmethod
    def around(
        cls, metric: Metric, estimate: EffectEstimate, critical: Callable[[float], Sequence[float]]
    ) -> Interval:
        """The interval of an estimate on the log scale, which holds those of all its models.

        ``critical`` gives at some degrees of freedom the critical value of the interval, and that of the two
        one-sided tests.
        """
        halves = [(one.value, one.error * np.array(critical(one.df)[:2])) for one in estimate.models]
        ends, inner = (holding((value - half[at], value + half[at]) for value, half in halves) for at in (0, 1))
        return cls.of(metric, estimate.value, ends, inner)

    @classmethod
    def of(
        cls,
        metric: Metric,
        value: float,
        ends: tuple[float, float],
        inner: tuple[float, float],
        at_every_look: bool = False,
    ) -> Interval:
        """The interval of an estimate with these ends, all on the log scale; ``inner`` are those of ``inner``."""
        logs = np.array([value, *ends, *inner])
        ratio, low, high, least, most = np.exp(np.clip(logs, -_MAX_LOG, _MAX_LOG)).tolist()
        return cls(metric, ratio, low, high, None if at_every_look else (least, most), at_every_look)

    @property
    def is_known(self) -> bool:
        """Whether it has ends."""
        return math.isfinite(self.low)

    def judged(self, smallest_effect: float) -> dict[str, Any]:
        """The fields of a ``Ratio`` that follow from it: ratio, low, high, verdict, equivalent."""
        if not self.is_known:
            return {"ratio": finite(self.ratio), "verdict": Verdict.UNDECIDED}
        return {
            "ratio": self.ratio,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict(smallest_effect),
            "equivalent": self.equivalent(smallest_effect),
        }

    def verdict(self, smallest_effect: float) -> Verdict:
        """``faster`` or ``slower`` when 1 is outside, ``equivalent`` when all is small, else ``undecided``."""
        if self.low > 1:
            return Verdict.FASTER
        if self.high < 1:
            return Verdict.SLOWER
        return Verdict.EQUIVALENT if self.equivalent(smallest_effect) else Verdict.UNDECIDED

    def equivalent(self, smallest_effect: float) -> bool:
        """Whether two one-sided tests exclude a change of the metric by ``smallest_effect`` or more.

        Each errs at the rate of the interval, and only one of them can err, since the true change is on one side: the
        interval at twice that rate is within the limits (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15, 657-680).
        """
        return self._within(self.inner or (self.low, self.high), smallest_effect)

    def small(self, smallest_effect: float) -> bool:
        """Whether the whole interval of the metric's change lies within +-``smallest_effect``."""
        return self._within((self.low, self.high), smallest_effect)

    def _within(self, scores: tuple[float, float], smallest_effect: float) -> bool:
        ends = [float(self.metric.from_score(end)) for end in scores]
        return min(ends) >= 1 - smallest_effect and max(ends) <= 1 + smallest_effect


def label(settings: Mapping[str, object], baseline: Mapping[str, object]) -> str:
    """A configuration by what differs from the baseline: ``fsync=off, work_mem=8MB``."""
    differing = [f"{name}={value}" for name, value in settings.items() if value != baseline[name]]
    return ", ".join(differing) or "baseline"


def percent(ratio: float, metric: Metric) -> str:
    """The change of the metric that a ratio of scores means: ``+3.4 %``."""
    return percent_of(metric.from_score(ratio) - 1)


def found_from(detectable_log: float, metric: Metric) -> float | None:
    """The larger change of the metric, up or down, of such a difference on the log scale; None beyond all measure."""
    if not detectable_log < math.log(_MAX_WIDTH):
        return None
    return max(abs(float(metric.from_score(math.exp(sign * detectable_log))) - 1) for sign in (-1, 1))


def percents(low: float, high: float, metric: Metric) -> str:
    """The interval of the metric's change, the lower end first: ``-1.2 % to +3.4 %``; or that runs are too few."""
    if says_nothing(low, high):
        return TOO_FEW
    ends = (low, high) if metric.better is Better.HIGHER else (high, low)
    return " to ".join(percent(end, metric) for end in ends)


def percent_within(ratio: float, low: float, high: float, metric: Metric) -> str:
    """The change that a ratio means, with its interval where it has one: ``+3.4 % (+1.2 % to +5.6 %)``."""
    return percent(ratio, metric) + (f" ({percents(low, high, metric)})" if math.isfinite(low) else "")


def change(ratio: float, metric: Metric) -> str:
    """A ratio as a phrase: ``1.2 % slower``, ``2.31 times as fast``, ``1.2 % more time``, ``1.2 % higher``."""
    if metric.better is Better.LOWER:
        far = f"{abs(metric.from_score(ratio) - 1) * 100:.1f} %"
        if metric.measure is Measure.QUANTILE:
            return f"{far} {'lower' if ratio >= 1 else 'higher'}"
        return f"{far} {'less' if ratio >= 1 else 'more'} time"
    if _times(ratio, metric):
        return f"{ratio:.{2 if ratio < 10 else 0}f} times as fast"
    return f"{abs(ratio - 1) * 100:.1f} % {'faster' if ratio >= 1 else 'slower'}"


def highest_mean(metric: Metric) -> str:
    """What is certain of the best value where no verdict is: ``highest mean``, ``lowest mean``."""
    return f"{'highest' if metric.better is Better.HIGHER else 'lowest'} mean"


def about(metric: Metric) -> str:
    """The metric with its unit and its direction: ``TPS (operations per second, higher is better)``."""
    known = [one for one in (metric.title, metric.unit) if one != metric.name]
    return f"{metric.name} ({', '.join([*known, f'{metric.better.value} is better'])})"


def changed(subject: str, ratio: float, metric: Metric) -> str:
    """A subject with its change: ``fsync=off is 3.4 % faster``, ``fsync=off takes 3.4 % less time``."""
    if metric.measure is Measure.QUANTILE:
        return f"{subject}: {metric.name} is {change(ratio, metric)}"
    return f"{subject} {'is' if metric.better is Better.HIGHER else 'takes'} {change(ratio, metric)}"


def against(ratio: float, metric: Metric, reference: str) -> str:
    """The reference of a change: ``than the baseline``, ``as the baseline`` (of 2.31 times as fast)."""
    if metric.measure is Measure.QUANTILE:
        return f"than with {reference}"
    return f"{than(ratio, metric)} {reference}"


def than(ratio: float, metric: Metric) -> str:
    """The word behind a change: ``3.4 % faster than``, ``2.31 times as fast as``."""
    return "as" if _times(ratio, metric) else "than"


def _times(ratio: float, metric: Metric) -> bool:
    return metric.better is Better.HIGHER and ratio >= _MANY


def percent_of_ratio(ratio: Ratio, metric: Metric) -> str:
    """The change that a ratio means, with its interval where it has one; empty where it is unknown."""
    return "" if ratio.ratio is None else percent_within(ratio.ratio, *ratio.interval, metric)


def interim_words(done: int, planned: int) -> str:
    """The place of a result before the look that gives verdicts: ``interim: 3 of 8 blocks``."""
    return f"interim: {done} of {planned} blocks"


def without_verdict(ratio: Ratio, metric: Metric, interim: str) -> Ratio:
    """A ratio before the look that judges it: its interval, and no verdict. ``interim`` is its place; empty: a look.

    One that an earlier look decided keeps its verdict, and one without an interval its reason.
    """
    if not interim or ratio.decided_after is not None or not ratio.is_known or ratio.verdict in _NO_COMPARISON:
        return ratio
    text = f"{ratio.label}: {interim}: {percent_of_ratio(ratio, metric)}, without a verdict"
    none = {"equivalent": False, "needed": None, "detectable": None}
    return ratio.model_copy(update={"verdict": Verdict.UNDECIDED, "sentence": text, **none})


def blocks_text(blocks: int, low: int, high: int | None) -> str:
    """A number of blocks and its range: ``20 blocks (12 to 30)``, ``12 blocks``, ``23 blocks (12 or more)``."""
    if low == high:
        return f"{blocks} blocks"
    return f"{blocks} blocks ({low} or more)" if high is None else f"{blocks} blocks ({low} to {high})"


def needed_text(needed: Needed | None) -> str:
    """The blocks that would decide, in words; empty when unknown."""
    return (
        ""
        if needed is None or needed.blocks is None or needed.low is None
        else blocks_text(needed.blocks, needed.low, needed.high)
    )


def sentence(
    subject: str,
    reference: str,
    interval: Interval,
    smallest_effect: float,
    confidence: float = CONFIDENCE,
    advice: str = "",
    detected: float | None = None,
) -> str:
    """The conclusion of the interval about ``subject`` and ``reference``, as one sentence without its full stop.

    Of an undecided one ``detected`` is the change that would have been found, and ``advice`` the way out.
    """
    metric, verdict = interval.metric, interval.verdict(smallest_effect)
    holds = ", which holds at every number of blocks" if interval.at_every_look else ""
    ratio, low, high = interval.ratio, interval.low, interval.high
    if verdict is Verdict.UNDECIDED:
        more = f"; {advice}" if advice else ""
        if says_nothing(low, high):
            return f"{subject}: undecided: {TOO_FEW}{more}"
        between = f"between {change(low, metric)} and {change(high, metric)}"
        known = detected is not None
        seen = f"; {share(detected or 0)} or more would have been found with {share(POWER)}" if known else ""
        return f"{subject}: undecided: {between}{seen}{more}"
    if verdict is Verdict.EQUIVALENT:
        ends = interval.inner or (low, high)
        at = 2 * confidence - 1 if interval.inner else confidence
        within = f"{share(at)} interval {' to '.join(change(one, metric) for one in ends)}{holds}"
        return f"{subject}: equivalent to {reference} within {share(smallest_effect)} ({within})"
    if _times(ratio, metric):
        said = f"{low:.2f} to {high:.2f}"
    else:
        near, far = sorted(abs(metric.from_score(end) - 1) * 100 for end in (low, high))
        said = f"{near:.1f} % to {far:.1f} %"
    text = (
        f"{changed(subject, ratio, metric)} {against(ratio, metric, reference)} "
        f"({share(confidence)} interval {said}{holds})"
    )
    small = f", less than the {share(smallest_effect)} that matter"
    return text + (small if interval.small(smallest_effect) else "")
