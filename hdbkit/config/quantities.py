"""Numbers with units: ``128MB``, ``16G``, ``30s``. Arithmetic is exact: ten steps of 0.1 are 1.

Sizes are powers of 1024 (``kB MB GB TB``, also ``K M G T`` and ``KiB MiB GiB TiB``), times are seconds (``us ms s min
h d``). A number without a unit is a plain number. Its meaning depends on the setting, so it does not combine with
sizes or times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from hdbkit.errors import InputError

_KIB = Fraction(1024)
SIZES = {"B": Fraction(1), "kB": _KIB, "MB": _KIB**2, "GB": _KIB**3, "TB": _KIB**4}
MULTIPLES = {"K": _KIB, "M": _KIB**2, "G": _KIB**3, "T": _KIB**4, "P": _KIB**5}
_LADDERS: tuple[dict[str, Fraction], ...] = (
    SIZES,
    MULTIPLES,
    {unit.lower(): amount for unit, amount in MULTIPLES.items()},
    {f"{unit}B": amount for unit, amount in MULTIPLES.items()},
    {f"{unit}iB": amount for unit, amount in MULTIPLES.items()},
)
TIMES = {
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86_400),
}
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([A-Za-z]*)\s*", re.ASCII)
_MIN_UNITS = 1000
"""A value is rounded down to a unit only if it has at least this many: an error below 0.1 %."""

UNITS = "sizes: kB, MB, GB, TB; times: us, ms, s, min, h, d"


class Dimension(StrEnum):
    """The dimension of a number; only equal dimensions can be compared and added."""

    PLAIN = "a number without unit"
    SIZE = "a size"
    TIME = "a time"


@dataclass(frozen=True)
class Quantity:
    """A number in bytes, seconds, or plain. ``unit`` is the unit as written, empty for a computed value."""

    amount: Fraction
    dimension: Dimension = Dimension.PLAIN
    unit: str = field(default="", compare=False)


def quantity(text: str) -> Quantity | None:
    """Parse ``text``; None if it is not a number or has an unknown unit."""
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    number, unit = Fraction(found[1]), found[2]
    if not unit:
        return Quantity(number)
    if unit in TIMES:
        return Quantity(number * TIMES[unit], Dimension.TIME, unit)
    ladder = next((ladder for ladder in _LADDERS if unit in ladder), None)
    return Quantity(number * ladder[unit], Dimension.SIZE, unit) if ladder else None


def quantity_text(of: Quantity, units: tuple[str, ...] = ()) -> str:
    """The quantity as text, in the largest unit in which it is a whole number: ``1GB``, ``1536MB``, ``2.5``.

    ``units`` are the units of related values, which the text uses (values from 30s to 120s do not include 1min; with
    M and G, none is written in GB). A value that is not whole in a suitable unit is rounded down, by less than 0.1 %.
    """
    if of.dimension is Dimension.PLAIN:
        return _number_text(of.amount)
    ladder = _ladder(of.dimension, units)
    largest = max((ladder[unit] for unit in units if unit in ladder), default=max(ladder.values()))
    smallest = min((ladder[unit] for unit in units if unit in ladder), default=None)
    allowed = {unit: amount for unit, amount in ladder.items() if amount <= largest}
    amount = _rounded(of.amount, allowed, smallest)
    unit = max((unit for unit in allowed if _whole(amount, allowed[unit])), key=allowed.__getitem__, default=None)
    unit = unit or min(allowed, key=allowed.__getitem__)
    return f"{_number_text(amount / allowed[unit])}{unit}"


def counts_in(text: str, what: str) -> tuple[int, ...]:
    """Parse whole numbers separated by commas or spaces, such as ``1,4,16``.

    Raises:
        InputError: the text has anything else; ``what`` names the numbers in the message.
    """
    try:
        return tuple(int(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise InputError(f"{what} must be numbers such as 1,4,16, not {text!r}") from None


def seconds_in(text: str, what: str) -> float:
    """Parse a duration such as ``10m``, ``90s`` or ``600`` (seconds). ``m`` and ``min`` are minutes.

    Raises:
        InputError: it is no duration above 0; ``what`` names it in the message.
    """
    found = quantity(f"{text}in" if text.endswith("m") else text)
    if found is None or found.dimension is Dimension.SIZE or found.amount <= 0:
        raise InputError(f"{what} must be a duration such as 10m, 90s or 1h, not {text!r}")
    return float(found.amount)


def _ladder(dimension: Dimension, units: tuple[str, ...]) -> dict[str, Fraction]:
    """The unit system that contains ``units``."""
    if dimension is Dimension.TIME:
        return TIMES
    return next((ladder for ladder in _LADDERS if set(units) <= ladder.keys()), _LADDERS[0])


def _rounded(amount: Fraction, units: dict[str, Fraction], smallest: Fraction | None) -> Fraction:
    """Round down to the largest unit that keeps the error small; multiples of ``smallest`` are unchanged."""
    if smallest is not None and _whole(amount, smallest):
        return amount
    fine = [unit for unit in units.values() if abs(amount) >= _MIN_UNITS * unit]
    return (amount // max(fine)) * max(fine) if fine else amount


def _whole(amount: Fraction, unit: Fraction) -> bool:
    return (amount / unit).denominator == 1


_MAX_NUMBER = 10**30


def _number_text(number: Fraction) -> str:
    if abs(number) >= _MAX_NUMBER:
        raise ValueError("evaluates to a number that is too large")
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.10g}"
