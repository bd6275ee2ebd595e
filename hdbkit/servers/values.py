"""Values of settings as a server parses them: numbers with units, switches, choices, lists.

A setting's value and limits are numbers in its unit (``128MB`` is 16384 of ``8kB``). Units are case-sensitive; a
number without a unit is in the setting's own unit. A *size* has no unit: it is an integer that may end in K, M, G
or T (optionally with B), which are powers of 1024 in either case.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction

from hdbkit.config.problems import did_you_mean
from hdbkit.config.quantities import MULTIPLES, SIZES, TIMES
from hdbkit.contracts import Setting

_NUMBER = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))\s*([A-Za-z]*)\s*")
_ON = frozenset({"on", "true", "yes", "1", "t", "tr", "tru", "y", "ye"})
_OFF = frozenset({"off", "of", "false", "no", "0", "f", "fa", "fal", "fals", "n"})
_AUTOMATIC = -1.0
_MULTIPLES = {"": Fraction(1), **MULTIPLES}
_UNBOUNDED = 2.0**63
"""Limits from this value on are those of the server's number type, not of the setting."""
_HUGE = 1 << 1000
"""Beyond every limit, and still a float."""
_NUMBERS = ("integer", "real", "size")


def problem_in(setting: Setting, text: str) -> str | None:
    """The error in ``text`` as a value of ``setting``; None if it is valid."""
    if setting.kind == "bool":
        known = text.strip().lower() in _ON | _OFF
        return None if known else f"{setting.name} must be on or off, not {text!r}"
    if setting.kind == "enum":
        if _choice(setting, text) is not None:
            return None
        listed = ", ".join(setting.choices)
        return f"{setting.name} must be one of {listed}, not {text!r}.{did_you_mean(text, setting.choices)}"
    if setting.kind in _NUMBERS:
        return _problem_in_number(setting, text)
    return None


def is_switch(text: str) -> bool:
    """Whether a text is a word of servers for on or off."""
    return text.strip().lower() in ("on", "off", "yes", "no", "true", "false")


def number_of_value(setting: Setting, text: str) -> float | None:
    """A number with or without a unit, converted to the setting's unit; None if number or unit are invalid."""
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    digits, unit = found.groups()
    number = float(min(int(digits, 16), _HUGE)) if "x" in digits.lower() else float(digits)
    if not math.isfinite(number):
        return number
    if unit:
        factor = _MULTIPLES.get(_bare(unit)) if setting.kind == "size" else _factor(unit, setting.unit)
        if factor is None:
            return None
        number *= float(factor)
    return number if setting.kind == "real" else float(round(number))


def plain_value(setting: Setting, text: str) -> str:
    """``text`` in the form that the server's commands accept: switches as on or off, sizes as digits."""
    if setting.kind == "bool":
        return "on" if text.strip().lower() in _ON else "off"
    number = number_of_value(setting, text) if setting.kind == "size" and not text.strip().isdigit() else None
    return text if number is None else str(int(number))


def same_value(setting: Setting, wanted: str, got: str) -> bool:
    """Whether ``got``, read back in the setting's unit, equals ``wanted``."""
    if setting.kind == "bool":
        return (wanted.strip().lower() in _ON) == (got.strip().lower() in _ON)
    if setting.kind == "enum":
        return _choice(setting, wanted) == _choice(setting, got)
    if setting.kind in _NUMBERS:
        number, read = number_of_value(setting, wanted), number_of_value(setting, got)
        if number is None or read is None:
            return wanted == got
        return math.isclose(number, read, rel_tol=1e-9)
    return _items(wanted) == _items(got) if setting.kind == "list" else wanted == got


def is_rounded(setting: Setting, wanted: str, got: str) -> bool:
    """Whether ``got`` may be what the server made of a size by its own steps: both differ by at most a half."""
    of_memory = setting.unit is not None and setting.unit.lstrip("0123456789") in SIZES
    if setting.kind != "size" and not of_memory:
        return False
    number, read = number_of_value(setting, wanted), number_of_value(setting, got)
    if number is None or read is None or min(number, read) <= 0:
        return False
    return abs(read - number) <= max(number, read) / 2


def repeated(setting: Setting, values: Sequence[str]) -> list[str]:
    """A sentence for each value that is another of the values in other words: ``4096kB`` after ``4MB``."""
    return [
        f"{setting.name} has the same value twice: {value} and {values[at]}; remove one of them"
        for at in range(len(values))
        for value in values[:at]
        if same_value(setting, value, values[at])
    ]


def with_unit(setting: Setting, number: str) -> str:
    """A value or limit with its usual unit: 16384 of ``8kB`` is ``128MB``; other values are unchanged.

    A size is written with M, G or T if it is a multiple of these; smaller values are usually counts.
    """
    if setting.kind == "size" and number.isdecimal() and number != "0":
        return next(
            (f"{int(number) // MULTIPLES[one]}{one}" for one in "TGM" if not int(number) % MULTIPLES[one]), number
        )
    if not setting.unit or setting.kind not in ("integer", "real") or not number.isdecimal() or number == "0":
        return number
    for unit in reversed(_family(setting.unit)):
        factor = _factor(unit, setting.unit)
        if factor and (int(number) / factor).denominator == 1:
            return f"{int(number) / factor}{unit}"
    return number


def allowed(setting: Setting) -> str:
    """The range or choices of a setting as text; empty if any text is valid."""
    if setting.kind == "bool":
        return "on or off"
    if setting.choices:
        return ", ".join(setting.choices)
    if setting.minimum is None or setting.maximum is None:
        return ""
    if setting.kind == "size" and setting.maximum >= _UNBOUNDED:
        return f"{with_unit(setting, f'{setting.minimum:.15g}')} or more"
    return " to ".join(with_unit(setting, f"{bound:.15g}") for bound in (setting.minimum, setting.maximum))


def may_read_back_otherwise(setting: Setting, wanted: str) -> bool:
    """Whether a server may report ``wanted`` differently: it may rewrite texts, and -1 often means automatic.

    In a list of choices, ``on`` may select one of them (the first compression method), but never ``off``.
    """
    if setting.kind == "enum":
        return wanted.strip().lower() in _ON and setting.value.strip().lower() not in _OFF
    return setting.kind == "string" or number_of_value(setting, wanted) == _AUTOMATIC


def _items(text: str) -> list[str]:
    """The items of a list such as ``a, "b"``; an empty text has one empty item."""
    return [item.strip().strip('"') for item in text.split(",")]


def _problem_in_number(setting: Setting, text: str) -> str | None:
    number = number_of_value(setting, text)
    if number is None:
        kinds = _family(setting.unit) if setting.unit else {}
        units = f" (in {setting.unit}, or with one of {', '.join(kinds)})" if kinds else " (it has no unit)"
        if setting.kind == "size":
            units = " (alone, or with one of K, M, G, T)"
        return f"{setting.name} must be a number{units}, not {text!r}"
    low, high = setting.minimum, setting.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        unit = f" (in {setting.unit})" if setting.unit else ""
        meant = f", which is {number:.15g}" if _NUMBER.fullmatch(text)[2] else ""  # type: ignore[index]
        return f"{setting.name} must be between {low:.15g} and {high:.15g}{unit}, not {text}{meant}"
    return None


def _choice(setting: Setting, text: str) -> str | None:
    """The choice that ``text`` names; switches accept their usual synonyms."""
    word = text.strip().lower()
    if word in (choice.lower() for choice in setting.choices):
        return word
    for name, others in (("on", _ON), ("off", _OFF)):
        if word in others and len(word) != 2 and name in setting.choices:
            return name
    return None


def _bare(unit: str) -> str:
    """``GB``, ``GiB`` and ``g`` as ``G``."""
    return unit.upper().removesuffix("B").removesuffix("I")


def _family(unit: str) -> dict[str, Fraction]:
    return SIZES if unit.lstrip("0123456789") in SIZES else TIMES


def _factor(unit: str, base: str | None) -> Fraction | None:
    """How many ``base`` (such as ``8kB``) make one ``unit``; None if they measure different things."""
    if base is None:
        return None
    count, bare = re.fullmatch(r"(\d*)(\w+)", base).groups()  # type: ignore[union-attr]
    family = _family(base)
    if unit not in family or bare not in family:
        return None
    return family[unit] / (int(count or 1) * family[bare])
