"""The error rate of an experiment over its whole life: the level that each look at its results has.

Every result at which a sweep may end is a look. The error rate ``alpha`` is spent over all of them by a function of
the number of blocks that is fixed before the first (Lan and DeMets 1983, 1989). With ``t`` the blocks divided by
those that were planned at first,

    spent(t) = s (2 - 2 Phi(z / sqrt(t)))    up to the planned end, z = Phi^-1(1 - alpha / 2)
    spent(t) = alpha (1 - (1 - s) / t)       beyond

with ``s`` the share ``AT_THE_END``. The second never reaches ``alpha``, so blocks can be added again and again.

A look's simultaneous (Dunnett) intervals err with the probability that it spends. By Boole's inequality all intervals
of all looks hold together with ``1 - alpha`` (Jennison and Turnbull 1989), so a sweep may end on "equivalent" as well
as on "faster".

An experiment that ends when it is decided has a look after each block and plans none: ``Anytime`` gives intervals
that hold at every number of blocks together, whoever looks and whyever it ends. Both rules state one thing: the level
of the intervals after a number of blocks. Sources: ``docs/methods.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from hdbkit.analysis.statistics.carry_over import EffectEstimate, holding
from hdbkit.later import scipy
from hdbkit.text import share

AT_THE_END = 0.8
"""The share of the error rate that is spent at the planned end; the rest is for blocks added later."""
_MIN_ERROR = 1e-12
"""The error rate of an interval that is as good as infinite, so that it can be computed."""
_MIN_SPENT = 1e-6
"""A look spends at least this, so that its critical value can be computed."""


@dataclass(frozen=True)
class Spending:
    """How one sweep spends its error rate.

    ``planned`` is the number of blocks that it was planned with at first; ``looks`` are the numbers of blocks of the
    looks that were taken and of those that are still planned, ascending.

    Example:
        >>> spending = Spending(8, (8, 16))
        >>> [round(spending.level(blocks), 4) for blocks in (8, 16)]
        [0.96, 0.995]
    """

    planned: int
    looks: tuple[int, ...] = ()
    confidence: float = 0.95

    def spent(self, blocks: int) -> float:
        """What all looks up to this number of blocks may have spent together."""
        alpha, t = 1 - self.confidence, blocks / self.planned
        if t > 1:
            return alpha * (1 - (1 - AT_THE_END) / t)
        z = float(scipy.special.ndtri(1 - alpha / 2))
        return AT_THE_END * float(2 * scipy.special.ndtr(-z / t**0.5)) if t > 0 else 0.0

    def level(self, blocks: int) -> float:
        """The level of the simultaneous intervals after this number of finished blocks.

        Between two looks it is that of the next one, so that an interrupted sweep is judged as at its next look.
        Beyond the last look it is that of one more.
        """
        at = next((look for look in self.looks if look >= blocks), blocks)
        before = max((look for look in self.looks if look < at), default=0)
        return 1 - max(self.spent(at) - self.spent(before), _MIN_SPENT)

    def left(self, blocks: int) -> float:
        """The level of fresh blocks of the fastest, which spend what all looks up to this number of blocks left."""
        return self.confidence + self.spent(blocks)

    def after(self, blocks: int) -> float:
        """The level that a look after this number of blocks would have, more than those of the last one."""
        return Spending(self.planned, (*self.looks, blocks), self.confidence).level(blocks)

    def note(self, ended_after: int | None, level: float) -> list[str]:
        """What a reader must know about several looks, as one phrase; none with one."""
        if len(self.looks) < 2:
            return []
        ended = f"; everything was decided after {ended_after}" if ended_after else ""
        return [
            f"Looks after {', '.join(map(str, self.looks[:-1]))} and {self.looks[-1]} blocks{ended}: the intervals "
            f"are computed at {level * 100:.2f} %, so that those of all looks together hold with "
            f"{share(self.confidence)}"
        ]


@dataclass(frozen=True)
class Anytime:
    """Intervals of the mean of differences within blocks that hold at every number of blocks with ``confidence``.

    With ``t`` the mean in standard errors after ``n`` blocks, the mixture of likelihood ratios over effects of a
    normal distribution, in standard deviations of a difference,

        E = sqrt(1 / (1 + n)) ((1 + v) / (1 + v / (1 + n)))^(n / 2),    v = t^2 / (n - 1)

    exceeds ``1 / alpha`` at any number of blocks with a probability of at most ``alpha`` where the mean is 0 and the
    differences are independent and normal (Lai 1976; Wang and Ramdas 2023). The interval has all means that do not
    exceed it. Several comparisons share ``alpha`` (Bonferroni).

    Example:
        >>> [round(Anytime().critical(blocks), 2) for blocks in (4, 5, 10, 50)]
        [inf, 8.45, 3.87, 3.26]
    """

    comparisons: int = 1
    confidence: float = 0.95

    def critical(self, blocks: int) -> float:
        """The half width of an interval in standard errors of the mean; infinite where there are too few blocks."""
        root = ((1 + blocks) ** 0.5 * self.comparisons / (1 - self.confidence)) ** (2 / blocks)
        return float(((blocks - 1) * (root - 1) / (1 - root / (1 + blocks))) ** 0.5) if root < 1 + blocks else inf

    def half_width(self, blocks: int, error: float) -> float:
        """The half width of an interval of a mean with this standard error; infinite also without any noise."""
        critical = self.critical(blocks)
        return critical * error if critical < inf else inf

    def ends(self, blocks: int, estimate: EffectEstimate) -> tuple[float, float]:
        """The ends of the interval of an estimate that holds those of all its models (``carry_over``)."""
        halves = [(one.value, self.half_width(blocks, one.error)) for one in estimate.models]
        return holding((value - half, value + half) for value, half in halves)

    def spent(self, _: int) -> float:
        """What all looks up to this number of blocks may have spent together: the whole error rate."""
        return 1 - self.confidence

    def level(self, blocks: int) -> float:
        """The level of Student's interval of the mean of so many differences that is this interval."""
        if blocks < 2:
            return 1 - _MIN_ERROR
        return 1 - max(2 * float(scipy.special.stdtr(blocks - 1, -self.critical(blocks))), _MIN_ERROR)

    def note(self, ended_after: int | None, _: float) -> list[str]:
        """What a reader must know about the looks, as one phrase."""
        ended = f"; everything was decided after {ended_after} blocks" if ended_after else ""
        return [
            f"A look after each block{ended}: the intervals, of differences within blocks, hold at every number of "
            f"blocks together with {share(self.confidence)}"
        ]
