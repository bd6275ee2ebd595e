"""Faults that a run causes on purpose: what happens to what, when, and for how long; each written as a sentence.

``kill server at 30 s``, ``delay network at 10 s for 5 s by 50 ms``. Times count from the start of the window.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Self

from hdbkit.config.problems import did_you_mean
from hdbkit.config.written import Written
from hdbkit.text import exact_number

_NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,3})?"
_SENTENCE = re.compile(
    rf"(?P<action>[a-z]+) (?:(?P<count>[0-9]{{1,5}}) )?(?P<thing>[a-z]+?)s? at (?P<at>{_NUMBER}) ?(?P<at_unit>[a-z]*)"
    rf"(?: for (?P<length>{_NUMBER}) ?(?P<length_unit>[a-z]*))?(?: by (?P<delay>{_NUMBER}) ?(?P<delay_unit>[a-z]*))?"
)
_UNITS = {"at": "s", "length": "s", "delay": "ms"}
_SHOWN = 60
"""The maximum length of a text that is repeated in an error."""


class Thing(StrEnum):
    """What a fault happens to."""

    SERVER = "server"
    CLIENT = "client"
    NETWORK = "network"
    DISK = "disk"


_ALONE = ({Thing.SERVER, Thing.DISK}, {Thing.CLIENT}, {Thing.NETWORK})
"""The things of which one fault must be over before the next: a killed server does not start on a frozen disk."""


class Need(StrEnum):
    """Whether the sentence of a fault has a part."""

    NO = "no"
    MAY = "may"
    MUST = "must"


@dataclass(frozen=True)
class Form:
    """What the sentence of a kind of fault looks like."""

    length: Need = Need.NO
    delay: Need = Need.NO
    count: Need = Need.NO


FAULT_FORMS: dict[tuple[str, str], Form] = {
    ("kill", Thing.SERVER): Form(Need.MAY),
    ("stop", Thing.SERVER): Form(Need.MUST),
    ("restart", Thing.SERVER): Form(),
    ("pause", Thing.SERVER): Form(Need.MUST),
    ("failover", Thing.SERVER): Form(),
    ("kill", Thing.CLIENT): Form(count=Need.MAY),
    ("delay", Thing.NETWORK): Form(Need.MUST, Need.MUST),
    ("cut", Thing.NETWORK): Form(Need.MUST),
    ("reset", Thing.NETWORK): Form(Need.MAY),
    ("pause", Thing.DISK): Form(Need.MUST),
}


@dataclass(frozen=True)
class Fault:
    """One fault. ``at_s`` counts from the start of the window; ``duration_s`` is 0 where it has none.

    Example:
        >>> Fault.parse("kill server at 30 s").at_s
        30.0
    """

    action: str
    thing: Thing
    at_s: float
    duration_s: float = 0.0
    delay_ms: float = 0.0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read a sentence. Raises ``ValueError`` with what is expected."""
        given, words = _shown(text), " ".join(text.split()).lower()
        found = _SENTENCE.fullmatch(words) if text.isascii() else None
        key = (found["action"], found["thing"]) if found else _likely(words)
        if key not in FAULT_FORMS:
            heads = [f"{action} {thing}" for action, thing in FAULT_FORMS]
            known = "; ".join(_example(*one) for one in FAULT_FORMS)
            raise ValueError(f"'{given}' is not a fault.{did_you_mean(' '.join(key), heads)} Known: {known}")
        form, example = FAULT_FORMS[key], _example(*key)
        if found is None:
            raise ValueError(f"'{given}' must read like '{example}'")
        for part, need in (("length", form.length), ("delay", form.delay), ("count", form.count)):
            if need is (Need.NO if found[part] else Need.MUST):
                raise ValueError(f"'{given}' must read like '{example}'")
        for part, unit in _UNITS.items():
            if found[part] and found[f"{part}_unit"] != unit:
                raise ValueError(f"'{given}': {found[part]} must have the unit {unit}, as in '{example}'")
        for part in ("length", "delay", "count"):
            if found[part] and not float(found[part]):
                raise ValueError(f"'{given}': a duration, delay or number must be above 0")
        at_s, duration_s, delay_ms = (float(found[part] or 0) for part in _UNITS)
        return cls(key[0], Thing(key[1]), at_s, duration_s, delay_ms, int(found["count"] or 1))

    @property
    def end_s(self) -> float:
        """When it is over, in seconds from the start of the window."""
        return self.at_s + self.duration_s

    def __str__(self) -> str:
        number = f"{self.count} " if self.count > 1 else ""
        words = f"{self.action} {number}{self.thing}{'s' if self.count > 1 else ''} at {exact_number(self.at_s)} s"
        words += f" for {exact_number(self.duration_s)} s" if self.duration_s else ""
        return words + (f" by {exact_number(self.delay_ms)} ms" if self.delay_ms else "")


@dataclass(frozen=True)
class Faults(Written):
    """The faults of a run, in the order of their times."""

    each: tuple[Fault, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read faults separated by semicolons.

        Raises:
            ValueError: there is none, one is not a fault, or two of one thing overlap; a server and its disk are one.
        """
        if not text.strip(" ;\t\n"):
            raise ValueError("it names no fault; give one, such as 'kill server at 30 s', or omit it")
        found = sorted((Fault.parse(one) for one in text.split(";") if one.strip()), key=lambda one: one.at_s)
        for things in _ALONE:
            own = [one for one in found if one.thing in things]
            for first, second in pairwise(own):
                if second.at_s < first.end_s or second.at_s == first.at_s:
                    raise ValueError(f"'{second}' begins before '{first}' is over")
        return cls(tuple(found))

    def __str__(self) -> str:
        return "; ".join(map(str, self.each))


def shared_outages(faults: Sequence[Fault]) -> list[str]:
    """A sentence for each fault that begins while one of another thing lasts, in the order of their times."""
    disturbing = [one for one in faults if one.thing is not Thing.CLIENT]
    return [
        f"'{second}' begins before '{first}' is over: they share an outage, which is counted for '{first}' until "
        f"'{second}' begins"
        for first, second in pairwise(disturbing)
        if second.at_s < first.end_s or second.at_s == first.at_s
    ]


def _likely(words: str) -> tuple[str, str]:
    """The action and the thing of a sentence that cannot be read."""
    action, thing = [*(word for word in words.split() if not word[0].isdigit()), "", ""][:2]
    return action[:_SHOWN], thing[:_SHOWN].removesuffix("s")


def _shown(text: str) -> str:
    given = text.strip()
    return given if len(given) <= _SHOWN else f"{given[: _SHOWN - 3]}..."


def _example(action: str, thing: str) -> str:
    form = FAULT_FORMS[action, thing]
    words = f"{action} {thing} at 30 s"
    words += {Need.NO: "", Need.MAY: " [for 5 s]", Need.MUST: " for 5 s"}[form.length]
    words += " by 50 ms" if form.delay is Need.MUST else ""
    return f"{words} or {action} 2 {thing}s at 30 s" if form.count is Need.MAY else words
