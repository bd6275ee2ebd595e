"""Numbers with units as people write them: ``128MB``, ``16G``, ``30s``. They are exact: ten steps of 0.1 are 1.

Sizes are powers of 1024 (``kB MB GB TB``, also ``K M G T`` and ``KiB MiB GiB TiB``), times are seconds (``us ms s min
h d``). A number without unit is a plain number: what it means is the business of the setting, so that it goes with
neither sizes nor times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

_KIB = 1024
_LADDERS: tuple[dict[str, Fraction], ...] = tuple(
    {unit: Fraction(amount) for unit, amount in ladder.items()}
    for ladder in (
        {"B": 1, "kB": _KIB, "MB": _KIB**2, "GB": _KIB**3, "TB": _KIB**4},
        {"K": _KIB, "M": _KIB**2, "G": _KIB**3, "T": _KIB**4},
        {"k": _KIB, "m": _KIB**2, "g": _KIB**3, "t": _KIB**4},
        {"KB": _KIB, "MB": _KIB**2, "GB": _KIB**3, "TB": _KIB**4},
        {"KiB": _KIB, "MiB": _KIB**2, "GiB": _KIB**3, "TiB": _KIB**4},
    )
)
_TIMES = {
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86_400),
}
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([A-Za-z]*)\s*", re.ASCII)
_ENOUGH = 1000
"""So many units are fine enough to round down to: an error below 0.1 %."""

UNITS = "sizes: kB, MB, GB, TB; times: us, ms, s, min, h, d"


class Kind(StrEnum):
    """What a number counts; only equal kinds can be compared and added."""

    PLAIN = "a number without unit"
    SIZE = "a size"
    TIME = "a time"


@dataclass(frozen=True)
class Quantity:
    """A number: bytes, seconds, or plain. ``unit`` is how it was written, empty for a result of arithmetic."""

    amount: Fraction
    kind: Kind = Kind.PLAIN
    unit: str = field(default="", compare=False)


def quantity(text: str) -> Quantity | None:
    """What ``text`` says; None when it is no number, or its unit is unknown."""
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    number, unit = Fraction(found[1]), found[2]
    if not unit:
        return Quantity(number)
    if unit in _TIMES:
        return Quantity(number * _TIMES[unit], Kind.TIME, unit)
    ladder = next((ladder for ladder in _LADDERS if unit in ladder), None)
    return Quantity(number * ladder[unit], Kind.SIZE, unit) if ladder else None


def quantity_text(of: Quantity, units: tuple[str, ...] = ()) -> str:
    """The quantity as one writes it, in the largest unit in which it is whole: ``1GB``, ``1536MB``, ``2.5``.

    ``units`` are those of its neighbours, which it keeps to (a list from 30s to 120s has no 1min, one with M and G no
    GB). What is whole in no unit that is fine enough is rounded down, by less than 0.1 %.
    """
    if of.kind is Kind.PLAIN:
        return _number_text(of.amount)
    ladder = _ladder(of.kind, units)
    largest = max((ladder[unit] for unit in units if unit in ladder), default=max(ladder.values()))
    smallest = min((ladder[unit] for unit in units if unit in ladder), default=None)
    allowed = {unit: amount for unit, amount in ladder.items() if amount <= largest}
    amount = _rounded(of.amount, allowed, smallest)
    unit = max((unit for unit in allowed if _whole(amount, allowed[unit])), key=allowed.__getitem__, default=None)
    unit = unit or min(allowed, key=allowed.__getitem__)
    return f"{_number_text(amount / allowed[unit])}{unit}"


def _ladder(kind: Kind, units: tuple[str, ...]) -> dict[str, Fraction]:
    """The units that go together with those that were written."""
    if kind is Kind.TIME:
        return _TIMES
    return next((ladder for ladder in _LADDERS if set(units) <= ladder.keys()), _LADDERS[0])


def _rounded(amount: Fraction, units: dict[str, Fraction], smallest: Fraction | None) -> Fraction:
    """Down to the largest unit of which there are enough; a multiple of ``smallest`` stays as it is."""
    if smallest is not None and _whole(amount, smallest):
        return amount
    fine = [unit for unit in units.values() if abs(amount) >= _ENOUGH * unit]
    return (amount // max(fine)) * max(fine) if fine else amount


def _whole(amount: Fraction, unit: Fraction) -> bool:
    return (amount / unit).denominator == 1


_MOST = 10**30


def _number_text(number: Fraction) -> str:
    if abs(number) >= _MOST:
        raise ValueError("comes to a number that is too large")
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.10g}"
