"""The gate of a build: whether the metric became worse beyond a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hdbkit.analysis.wording import change, percents
from hdbkit.config.metric import Better, Metric
from hdbkit.errors import InputError
from hdbkit.results.finding import Ratio
from hdbkit.text import share, virtual_users


@dataclass(frozen=True)
class Gate:
    """Whether the metric became worse beyond a limit: ``fell``, ``held`` or ``undecided``; and why, as a sentence."""

    verdict: str
    sentence: str

    def fails(self, strict: bool = False) -> bool:
        """Whether a build must fail; ``strict``: also when it is not shown that it held."""
        return self.verdict == "fell" or (strict and self.verdict == "undecided")


def gate(
    ratios: Sequence[Ratio],
    metric: Metric,
    below: float,
    advice: str = "more runs would decide",
    confidence: float = 0.95,
) -> Gate:
    """The gate over one ratio or several, each with its interval.

    ``below`` is the change that is still accepted, -0.02 for 2 % worse: 2 % less of a rate, 2 % more of a time. It
    *fell* where the whole interval of a ratio lies beyond that limit: a regression beyond the limit is shown, and by
    chance that happens in at most 2.5 % of builds that are exactly at the limit. It *held* where all intervals lie on
    the good side of the limit (not inferior). Else, and where nothing is replicated, it is *undecided*; ``advice`` is
    the way out.

    Raises:
        InputError: ``below`` is not above -1 and at most 0.
    """
    if not -1 < below <= 0:
        raise InputError(
            f"the limit of a gate must be above -1 and at most 0, such as -0.02 for 2 % worse, not {below}"
        )
    accepted = below if metric.better is Better.HIGHER else -below
    limit, limited = metric.score(1 + accepted), f"the limit of {100 * accepted:+.3g} %"
    if not all(ratio.is_known for ratio in ratios):
        return Gate("undecided", f"undecided against {limited}, without an interval; {advice}")
    worst, widest = (min(ratios, key=lambda ratio: ratio.interval[end]) for end in (1, 0))
    if worst.interval[1] < limit:
        words = f"{change(worst.ratio or 0.0, metric)} ({_within(worst, metric, len(ratios) > 1, confidence)})"
        return Gate("fell", f"regression beyond {limited}: {words}")
    within = _within(widest, metric, len(ratios) > 1, confidence)
    if widest.interval[0] >= limit:
        return Gate("held", f"no regression beyond {limited} ({within})")
    return Gate("undecided", f"undecided against {limited}: {within}; {advice}")


def _within(ratio: Ratio, metric: Metric, several: bool, confidence: float) -> str:
    ends = f"{share(confidence)} interval {percents(*ratio.interval, metric)}"
    return f"{ends} at {virtual_users(ratio.virtual_users or 0)}" if several else ends
