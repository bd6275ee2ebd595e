"""Numbers, counts and durations as text, for every table, sentence, file and command line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

_MAX_WHOLE = 1e15
"""From here on, a number with a point is written with its exponent."""
_MAX_DECIMALS = 6
_HUGE = 1000
"""Beyond so many times as much, a change is only a bound."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def number(value: float, digits: int = 4) -> str:
    """So many significant digits, thousands in groups, never an exponent: ``1,234``, ``3.87``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(decimals, _MAX_DECIMALS)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_number(value: float) -> str:
    """A number with all its digits, as users write it; ``1`` for 1.0.

    Example:
        >>> exact_number(1234567.0), exact_number(0.1)
        ('1234567', '0.1')
    """
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _MAX_WHOLE
    return json.dumps(int(value) if is_whole else value)


def share(fraction: float) -> str:
    """``0.021`` as ``2.1 %``, ``0.02`` as ``2 %``, ``0.99983`` as ``99.98 %``."""
    digits = 1
    while fraction < 1 and round(fraction * 100, digits) >= 100:
        digits += 1
    return f"{round(fraction * 100, digits):.10g} %"


def percent_of(change: float) -> str:
    """A relative change: 0.034 as ``+3.4 %``."""
    return f"{100 * change:+z.1f} %" if change <= _HUGE else f"over +{100 * _HUGE:,} %"


def size_text(size_bytes: float) -> str:
    """A measured size, rounded: ``134217728`` is ``128 MiB``."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(size_bytes) < 1024:
            return f"{size_bytes:.3g} {unit}" if size_bytes < 999.5 else f"{size_bytes:.0f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:,.3g} TiB"


def duration_text(duration_s: float) -> str:
    """A duration, rounded: ``20 s``, ``12 minutes``, ``1.5 hours``."""
    if duration_s < 90:
        return f"{max(1, round(duration_s))} s"
    return f"{duration_s / 60:.0f} minutes" if duration_s < 5400 else f"{duration_s / 3600:.1f} hours"


def many(count: int, what: str) -> str:
    """``1 run``, ``1,200 runs``, ``2 queries``."""
    return f"{count:,} {what if count == 1 else plural(what)}"


def virtual_users(count: int) -> str:
    """``1 virtual user``, ``4 virtual users``."""
    return many(count, "virtual user")


def with_article(noun: str) -> str:
    """``a query``, ``an operation``."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def plural(noun: str) -> str:
    """``transactions``, ``queries``."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def all_per_s(rate: float, noun: str) -> str:
    """Completed operations of all types per second: ``1,234 transactions/s``."""
    return f"{number(rate, 3)} {plural(noun)}/s"


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def capital(text: str) -> str:
    """``text`` as the beginning of a sentence; a setting at its beginning (``name=value``) stays as it is."""
    return text if "=" in text.split(" ", 1)[0] else text[:1].upper() + text[1:]


def option_words(name: str, value: Any) -> list[str]:
    """An option and its value as arguments of a command line."""
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, dict):
        value = ",".join(f"{key}={exact_number(one)}" for key, one in value.items())
    return [flag, str(value)]


def without_controls(text: str) -> str:
    """A text with a mark for each control character but line ends and tabs: others are commands of a terminal.

    Example:
        >>> without_controls("red \\x1b[31m")
        'red \ufffd[31m'
    """
    return _CONTROLS.sub("\ufffd", text)
