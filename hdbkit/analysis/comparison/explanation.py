"""Why one side is faster: the time of an operation in two sets of runs as parts, each with an interval, in words.

A part is named where its interval excludes zero; those of all parts hold together. Where the comparison has decided
that the time differs, a part is a cause if it points the same way and accounts for at least a fifth of the
difference. Where it has not, the parts that clearly differ are stated all the same: a part is often less noisy than
the whole. With a part are named what changed beside it: the operation in which most of it is, a count of the server's
work, plans. That is an association: what the server waited for differs, and so does the time.

One run on each side replicates nothing, so nothing is named; the parts of these two runs are listed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hdbkit.analysis.comparison.beside_parts import BESIDE_PARTS, OF_PLANS, ROUND_TRIP, Counter
from hdbkit.analysis.run.waits import CLIENT_CPU, OUTSIDE, PROCESSORS, RUNNING, SERVER_CPU, UNREPORTED, UNTOLD
from hdbkit.text import number, share, virtual_users, with_article

_CAUSE = 0.2
"""The least share of the total that a cause accounts for."""
_OF_CPU = (SERVER_CPU, CLIENT_CPU)
_NO_WAITS = (*_OF_CPU, PROCESSORS, UNREPORTED, OUTSIDE, RUNNING, UNTOLD)
_DOUBLE = math.log(1.5)
"""A counter is named where one side has at least this many times as much, on the log scale."""
_NAMED = 3
"""At most this many parts are named in a sentence."""
_TIMES = 2.0
"""From this ratio of times on, "times as long" is easier to read than per cent."""
_MAX_LOG_WIDTH = math.log(1000)
"""An interval that is wider says nothing: it comes from too few blocks."""
_SHARES = (
    (0.225, "about a fifth"), (0.29, "about a quarter"), (0.415, "about a third"), (0.58, "about half"),
    (0.71, "about two thirds"), (0.85, "about three quarters"), (1.15, "about all"),
)  # fmt: skip
"""The share of a difference in words, up to each limit: a ratio of two estimates has no second digit."""


@dataclass(frozen=True)
class Part:
    """A part of an operation's time on both sides in milliseconds, and the interval of the difference new - base.

    ``new_ms`` is ``base_ms`` and the estimated difference. ``low_ms`` and ``high_ms`` are NaN where nothing is
    replicated.
    """

    name: str
    base_ms: float
    new_ms: float
    low_ms: float
    high_ms: float

    @property
    def difference_ms(self) -> float:
        """New - base."""
        return self.new_ms - self.base_ms

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero; a time below zero is the error of other parts and is never clear."""
        return (self.low_ms > 0 or self.high_ms < 0) and min(self.base_ms, self.new_ms) >= 0

    @property
    def changed_ms(self) -> str:
        """The difference with its interval: ``rose by 2.9 ms (2 to 3.7)``."""
        verb, sign = ("rose", 1) if self.difference_ms > 0 else ("fell", -1)
        low, high = sorted((sign * self.low_ms, sign * self.high_ms))
        return f"{verb} by {number(abs(self.difference_ms), 3)} ms ({number(low, 3)} to {number(high, 3)})"


@dataclass(frozen=True)
class TimeRatio:
    """How many times as long an operation takes on the new side, with its interval: NaN without replication."""

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: float, low: float, high: float) -> TimeRatio:
        """That of logarithms; so few blocks that the interval says nothing are none."""
        known = math.isfinite(low + high) and high - low <= _MAX_LOG_WIDTH
        return cls(*(math.exp(end) for end in (estimate, *((low, high) if known else (math.nan, math.nan)))))

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 1."""
        return self.low > 1 or self.high < 1

    def __str__(self) -> str:
        if self.ratio >= _TIMES:
            return f"takes {number(self.ratio, 3)} times as long ({number(self.low, 3)} to {number(self.high, 3)})"
        near, far = sorted(abs(end - 1) for end in (self.low, self.high))
        more = "more" if self.ratio > 1 else "less"
        return f"takes {share(abs(self.ratio - 1))} {more} time ({share(near)} to {share(far)})"

    @property
    def ends(self) -> str:
        """The interval of the change: ``-9 % to +38 %``."""
        return " to ".join(f"{'+' if end > 1 else '-'}{share(abs(end - 1))}" for end in (self.low, self.high))


@dataclass(frozen=True)
class Explanation:
    """The parts of an operation's time on two sides; ``parts`` are in the order of their differences."""

    noun: str
    total: Part
    time: TimeRatio
    parts: tuple[Part, ...]
    how: str
    """What the intervals are made of."""
    virtual_users: int | None = None
    """The number of users that it is about; None where there is one."""
    decided: bool = True
    """Whether the comparison has decided that the sides differ."""
    alone: bool = False
    """Whether there is one run on each side, so that its stretches stand for runs."""
    beside: Part | None = None
    """The server's CPU time that is no part of the total: other processes, parallel workers. None: not known."""
    counters: tuple[Counter, ...] = ()
    """Counters that differ, with a rate of false discoveries of 5 %; the most different first."""
    statements: tuple[Counter, ...] = ()
    """What the server counted by statement and differs, as ``counters``; the statements that take the time first."""
    where: Mapping[str, str] = field(default_factory=dict)
    """The operation in which most of a part's difference is, where that is one."""
    plans: tuple[str, ...] = ()
    """The statements of which no run of a side has a plan of the other, each with what it changed to."""
    plans_note: str = ""
    """What is to be known of such plans."""
    queued: float = 0.0
    """How long sessions and clients wait for a core for each second of CPU time, as the mean of both sides."""
    round_trips: float = 1.0
    """How many round trips an operation has."""

    @property
    def differs(self) -> bool:
        """Whether it is shown that the time differs."""
        return self.decided and not self.alone and self.time.is_clear

    @property
    def clear(self) -> list[Part]:
        """The parts that differ, the largest difference first; empty where nothing is replicated."""
        return [] if self.alone else [part for part in self.parts if part.is_clear]

    @property
    def causes(self) -> list[Part]:
        """The parts that account for a difference that is shown; empty if there is none, or no part explains it."""
        if not self.differs:
            return []
        causes = [part for part in self.clear if self._share(part) >= _CAUSE]
        return sorted(causes, key=self._share, reverse=True)[:_NAMED]

    def _share(self, part: Part) -> float:
        """The share of the total's difference that a part accounts for.

        Who uses more CPU time waits longer for processors, and so do all others. That share of the waits belongs to
        the CPU time: the waits are the CPU time times the wait for each second of it (``queued``), and the difference
        of a product is what each factor changes at the other's mean.
        """
        return (part.difference_ms + self._queued_ms(part)) / self.total.difference_ms

    def _queued_ms(self, part: Part) -> float:
        """The difference of the waits for a processor that belongs to a part; those waits give it away."""
        if part.name in _OF_CPU:
            return self.queued * part.difference_ms
        if part.name not in (PROCESSORS, UNTOLD):
            return 0.0
        return -self.queued * sum(one.difference_ms for one in self.parts if one.name in _OF_CPU)

    @property
    def sentence(self) -> str:
        """The explanation in a few sentences, and the plans that differ, whether the time does or not."""
        at = f"At {virtual_users(self.virtual_users)}: " if self.virtual_users is not None else ""
        others = [plan for plan in self.plans if all(plan not in self._with(cause) for cause in self.causes)]
        plans = f" Plans: {'; '.join(others)}{self.plans_note}." if others else ""
        text = f"{at}{self._of_time}"
        return f"{text[0].upper()}{text[1:]}{self._of_other_work}{self._of_round_trips}{plans}"

    @property
    def _of_time(self) -> str:
        if self.alone:
            return (
                f"with one run on each side no cause is named, as another pair of equal runs may differ as much; the "
                f"parts of the time per {self.noun} are those of these two runs."
            )
        if not math.isfinite(self.time.low):
            return (
                f"the parts of the time per {self.noun} have no intervals that say anything, so none is named as a "
                f"cause: {self.how}."
            )
        if not self.differs:
            return self._undecided
        head = f"{with_article(self.noun)} {self.time}"
        if not (causes := self.causes):
            return (
                f"{head}, and no part of the time explains it: the interval of each includes zero, or it is less "
                "than a fifth of the difference. More blocks make them narrower."
            )
        named = "; ".join(f"{_name(cause)} {cause.changed_ms}, {', '.join(self._with(cause))}" for cause in causes)
        return f"{head}: {named}{self._unchanged}.{self._of_statements}"

    @property
    def _undecided(self) -> str:
        """That the difference is not shown, and the parts that differ all the same."""
        ends = "" if self.time.is_clear else f" ({self.time.ends})"
        head = f"whether {with_article(self.noun)} takes more or less time is undecided{ends}"
        named = "; ".join(f"{_name(part)} {part.changed_ms}" for part in self.clear[:_NAMED])
        return f"{head}; {named}." if named else f"{head}, and no part of it is shown to differ."

    @property
    def _unchanged(self) -> str:
        """That the CPU time of sessions is not shown to differ, which rules out much."""
        cpu = next((part for part in self.parts if part.name == SERVER_CPU and not part.is_clear), None)
        if cpu is None:
            return ""
        return f"; no change of the {SERVER_CPU} is shown ({cpu.low_ms:+.2g} to {cpu.high_ms:+.2g} ms)"

    @property
    def _of_other_work(self) -> str:
        """The server's CPU time beside the load's sessions, as a sentence, where it differs."""
        if self.alone or self.beside is None or not self.beside.is_clear:
            return ""
        return f" {self.beside.name} {self.beside.changed_ms} per {self.noun}, which is no part of its time."

    @property
    def _of_round_trips(self) -> str:
        """The round trip as a sentence, where it differs and accounts for a fifth of the difference; else empty."""
        trip = next((one for one in self.counters if one.name == ROUND_TRIP), None)
        if trip is None or not self.differs:
            return ""
        if (trip.new - trip.base) * self.round_trips / self.total.difference_ms < _CAUSE:
            return ""
        change = "rose" if trip.new > trip.base else "fell"
        return (
            f" The round trip, measured before each run, {change} from {number(trip.base, 2)} to "
            f"{number(trip.new, 2)} ms; {with_article(self.noun)} has {number(self.round_trips, 2)} of them."
        )

    @property
    def _of_statements(self) -> str:
        """The statement that takes most of the difference, as a sentence; empty if that is not known."""
        least, rose = _CAUSE * abs(self.total.difference_ms), self.total.difference_ms > 0
        for one in self.statements[:1]:
            if one.is_time and abs(one.new - one.base) >= least and (one.new > one.base) == rose:
                change = f"{'rose' if rose else 'fell'} from {number(one.base, 3)} to {number(one.new, 3)}"
                return f" The {one.name} {change} per {self.noun}."
        return ""

    def _with(self, cause: Part) -> list[str]:
        """The share of a cause, and what changed with it: the operation, and a counter."""
        with_waits = f", with its {PROCESSORS}" if cause.name in _OF_CPU and self._queued_ms(cause) else ""
        words = [f"{_in_words(self._share(cause))} of the difference{with_waits}"]
        words += [f"most of it in {self.where[cause.name]}"] if cause.name in self.where else []
        rose = cause.difference_ms > 0
        known = {one.name: one for one in self.counters if (one.new > one.base) == rose and one.apart > _DOUBLE}
        counter = next((known[name] for name in BESIDE_PARTS.of(cause.name) if name in known), None)
        if counter:
            words.append(f"with {counter.name} {number(counter.new, 3)} instead of {number(counter.base, 3)}")
        return [*words, *(f"{plan}{self.plans_note}" for plan in self.plans[:1] if cause.name in OF_PLANS)]


def _name(part: Part) -> str:
    return part.name if part.name in _NO_WAITS else f"waits for {part.name}"


def _in_words(of_all: float) -> str:
    return next((words for limit, words in _SHARES if of_all <= limit), "more than all")
