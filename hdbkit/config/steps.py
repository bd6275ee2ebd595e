"""The steps of a load: how the rate of an open loop, or the number of active users, changes over the window.

Each step is a phrase, ``60 s at 100/s``, ``60 s from 100 to 500/s``, ``120 s sine 100 to 300/s every 30 s``, or the
same with ``users``. Steps follow each other without a gap; the ramp-up has the level at which the first one begins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hdbkit.config.written import Written

_NUMBER = r"[0-9]{1,7}(?:\.[0-9]{1,6})?"
_PHRASE = re.compile(
    rf"(?P<length>{_NUMBER}) ?s (?P<form>at|from|sine) (?P<first>{_NUMBER})(?: to (?P<last>{_NUMBER}))? ?"
    rf"(?P<unit>/s|users?)(?: every (?P<period>{_NUMBER}) ?s)?"
)
_EXAMPLES = (
    "'60 s at 100/s', '60 s from 100 to 500/s', '120 s sine 100 to 300/s every 30 s', "
    "or with active users: '60 s at 8 users; 60 s from 8 to 32 users'"
)
_PIECES_OF_PERIOD = 32
_MAX_PERIODS = 1000
_MAX_STEPS = 200


@dataclass(frozen=True)
class _Piece:
    """A part of a step in which the level changes evenly."""

    duration_s: float
    first: float
    last: float


@dataclass(frozen=True)
class RateStep(Written):
    """One step: a constant level, a linear ramp, or a sine that begins at its first level.

    ``is_rate``: the level is a rate (operations per second), else a number of users. ``period_s``: 0 without a sine.

    Example:
        >>> RateStep.parse("60 s from 100 to 500/s").last
        500.0
    """

    text: str
    duration_s: float
    first: float
    last: float
    is_rate: bool
    period_s: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a phrase. Raises ``ValueError`` with what is expected."""
        words = " ".join(text.split()).lower()
        found = _PHRASE.fullmatch(words)
        if not found or (found["last"] is None) != (found["form"] == "at"):
            raise ValueError(f"'{text.strip()[:60]}' is not a step; write {_EXAMPLES}")
        if (found["period"] is None) != (found["form"] != "sine"):
            raise ValueError(f"'{text.strip()[:60]}': a sine, and nothing else, needs 'every N s'")
        first, length_s = float(found["first"]), float(found["length"])
        last, period_s = float(found["last"] or first), float(found["period"] or 0)
        is_rate = found["unit"] == "/s"
        if not length_s or (found["period"] and not period_s) or (is_rate and not (first and last)):
            raise ValueError(f"'{words}': a duration, period or rate must be above 0")
        if period_s and length_s / period_s > _MAX_PERIODS:
            raise ValueError(f"'{words}': at most {_MAX_PERIODS} periods fit in a step")
        if not is_rate and not (first.is_integer() and last.is_integer()):
            raise ValueError(f"'{words}': numbers of users are whole")
        return cls(words, length_s, first, last, is_rate, period_s)

    def __str__(self) -> str:
        return self.text

    @property
    def pieces(self) -> Iterator[_Piece]:
        """Its parts; a sine is drawn with 32 of each period."""
        if not self.period_s:
            yield _Piece(self.duration_s, self.first, self.last)
            return
        piece_s, at_s = self.period_s / _PIECES_OF_PERIOD, 0.0
        for number in range(1, math.ceil(self.duration_s / piece_s - 1e-9) + 1):
            until_s = min(number * piece_s, self.duration_s)
            yield _Piece(until_s - at_s, self._sine(at_s), self._sine(until_s))
            at_s = until_s

    def _sine(self, at_s: float) -> float:
        share = (1 - math.cos(2 * math.pi * at_s / self.period_s)) / 2
        return self.first + (self.last - self.first) * share


@dataclass(frozen=True)
class Steps(Written):
    """The steps of a load, in order.

    Example:
        >>> Steps.parse("60 s at 100/s; 60 s from 100 to 500/s").total_s
        120.0
    """

    each: tuple[RateStep, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read steps separated by semicolons.

        Raises:
            ValueError: one is not a step, there is none, rates and users are mixed, or no user is ever active.
        """
        found = tuple(RateStep.parse(one) for one in text.split(";") if one.strip())
        if not found:
            raise ValueError(f"it has no step; write {_EXAMPLES}, or omit it")
        if len(found) > _MAX_STEPS:
            raise ValueError(f"at most {_MAX_STEPS} steps are allowed, not {len(found)}")
        if len({one.is_rate for one in found}) > 1:
            raise ValueError("all steps must be rates, or all must be numbers of users")
        if not any(one.first or one.last for one in found):
            raise ValueError("no step has an active user; give at least one step 1 user or more")
        return cls(found)

    @classmethod
    def read(cls, given: Any) -> Self:
        """Steps, a text, or a list with a phrase for each. Raises ``ValueError``."""
        listed = isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)
        return super().read("; ".join(given) if listed else given)

    def __str__(self) -> str:
        return "; ".join(one.text for one in self.each)

    @property
    def are_rates(self) -> bool:
        """Whether their levels are rates, else numbers of users."""
        return self.each[0].is_rate

    @property
    def total_s(self) -> float:
        """The length of all steps together, in seconds."""
        return sum(one.duration_s for one in self.each)

    @property
    def highest(self) -> float:
        """The highest level."""
        return max(max(one.first, one.last) for one in self.each)

    @property
    def mean_level(self) -> float:
        """The mean level over all steps."""
        area = sum(one.duration_s * (one.first + one.last) / 2 for step in self.each for one in step.pieces)
        return area / self.total_s

    def pieces(self, before_s: float) -> list[_Piece]:
        """The pieces of a run: what is before the window, at the level of its beginning, and all steps."""
        before = _Piece(before_s, self.each[0].first, self.each[0].first)
        return [before, *(piece for step in self.each for piece in step.pieces)]


def active_s(pieces: Sequence[_Piece], index: int) -> list[tuple[float, float]]:
    """From when until when a user is active, in seconds since the run's start; the last one may be without end.

    A level between two whole numbers is rounded: user 0 is active from a level of 0.5 on.
    """
    found: list[tuple[float, float]] = []
    threshold, begin_s = index + 0.5, 0.0
    for one in pieces:
        end_s = begin_s + one.duration_s
        is_first, is_last = one.first >= threshold, one.last >= threshold
        crossed_s = end_s
        if is_first != is_last:
            crossed_s = begin_s + one.duration_s * (threshold - one.first) / (one.last - one.first)
        if is_first or is_last:
            from_s, until_s = (begin_s, end_s if is_last else crossed_s) if is_first else (crossed_s, end_s)
            if found and found[-1][1] == from_s:
                from_s = found.pop()[0]
            found.append((from_s, until_s))
        begin_s = end_s
    if found and pieces[-1].last >= threshold:
        found[-1] = found[-1][0], math.inf
    return found
