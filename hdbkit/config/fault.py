"""Faults that a run causes on purpose: what happens to what, when, and for how long; each written as a sentence.

``kill server at 30 s``, ``delay network at 10 s for 5 s by 50 ms``. Times count from the start of the window.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from hdbkit.config.words import number_text

_NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,3})?"
_WHOLE = r"[0-9]{1,5}"
_SENTENCE = re.compile(
    rf"(?P<action>[a-z]+) (?:(?P<count>{_WHOLE}) )?(?P<thing>[a-z]+?)s? at (?P<at>{_NUMBER}) ?s"
    rf"(?: for (?P<length>{_NUMBER}) ?s)?(?: by (?P<delay>{_NUMBER}) ?ms)?"
)


class Thing(StrEnum):
    """What a fault happens to."""

    SERVER = "server"
    CLIENT = "client"
    NETWORK = "network"
    DISK = "disk"


class Need(StrEnum):
    """Whether the sentence of a fault has a part."""

    NO = "no"
    MAY = "may"
    MUST = "must"


@dataclass(frozen=True)
class Form:
    """What the sentence of a kind of fault looks like, and what the fault does."""

    meaning: str
    length: Need = Need.NO
    delay: Need = Need.NO
    count: Need = Need.NO


FORMS: dict[tuple[str, Thing], Form] = {
    ("kill", Thing.SERVER): Form(
        "all its processes are killed; it is started at once or after the given time", Need.MAY
    ),
    ("stop", Thing.SERVER): Form("it is stopped in an orderly way and started after the given time", Need.MUST),
    ("restart", Thing.SERVER): Form("it is restarted in an orderly way"),
    ("pause", Thing.SERVER): Form("its processes are frozen for the given time", Need.MUST),
    ("failover", Thing.SERVER): Form("the target's command control.commands.failover runs"),
    ("kill", Thing.CLIENT): Form("so many client processes are killed", count=Need.MAY),
    ("delay", Thing.NETWORK): Form("each answer arrives later by the given delay", Need.MUST, Need.MUST),
    ("cut", Thing.NETWORK): Form("nothing arrives for the given time; connections stay open", Need.MUST),
    ("reset", Thing.NETWORK): Form("all connections are reset, and for the given time each new one", Need.MAY),
    ("pause", Thing.DISK): Form(
        "the file system of the server's data accepts no writes for the given time", Need.MUST
    ),
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
        words = " ".join(text.split()).lower()
        found = _SENTENCE.fullmatch(words)
        form = FORMS.get((found["action"], Thing(found["thing"]))) if found and found["thing"] in set(Thing) else None
        if found is None or form is None:
            raise ValueError(f"'{text.strip()}' is not a fault; known: {'; '.join(_example(*key) for key in FORMS)}")
        thing = Thing(found["thing"])
        for part, need in (("length", form.length), ("delay", form.delay), ("count", form.count)):
            if need is (Need.NO if found[part] else Need.MUST):
                raise ValueError(f"'{text.strip()}' must read like '{_example(found['action'], thing)}'")
        for part in ("length", "delay", "count"):
            if found[part] and not float(found[part]):
                raise ValueError(f"'{text.strip()}': a duration, delay or number must be above 0")
        count = int(found["count"] or 1)
        return cls(
            found["action"],
            thing,
            float(found["at"]),
            float(found["length"] or 0),
            float(found["delay"] or 0),
            count,
        )

    @property
    def end_s(self) -> float:
        """When it is over, in seconds from the start of the window."""
        return self.at_s + self.duration_s

    def __str__(self) -> str:
        number = f"{self.count} " if self.count > 1 else ""
        words = f"{self.action} {number}{self.thing}{'s' if self.count > 1 else ''} at {number_text(self.at_s)} s"
        words += f" for {number_text(self.duration_s)} s" if self.duration_s else ""
        return words + (f" by {number_text(self.delay_ms)} ms" if self.delay_ms else "")


def parse_faults(text: str) -> tuple[Fault, ...]:
    """The faults of a text, separated by semicolons, in the order of their times.

    Raises:
        ValueError: one is not a fault, or two of one thing overlap.
    """
    found = sorted((Fault.parse(one) for one in text.split(";") if one.strip()), key=lambda one: one.at_s)
    for thing in Thing:
        own = [one for one in found if one.thing is thing]
        for first, second in pairwise(own):
            if second.at_s < first.end_s or second.at_s == first.at_s:
                raise ValueError(f"'{second}' begins before '{first}' is over")
    return tuple(found)


def _example(action: str, thing: Thing) -> str:
    form = FORMS[action, thing]
    number = "[2] " if form.count is Need.MAY else ""
    words = f"{action} {number}{thing} at 30 s"
    words += {Need.NO: "", Need.MAY: " [for 5 s]", Need.MUST: " for 5 s"}[form.length]
    return words + (" by 50 ms" if form.delay is Need.MUST else "")
