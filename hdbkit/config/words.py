"""Options of a command line, and numbers as users write them."""

from __future__ import annotations

import json
from typing import Any

_MAX_WHOLE = 1e15
"""From here on, a number with a point is written with its exponent."""


def option_words(name: str, value: Any) -> list[str]:
    """An option and its value as arguments of a command line."""
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, dict):
        value = ",".join(f"{key}={number_text(one)}" for key, one in value.items())
    return [flag, str(value)]


def number_text(value: float) -> str:
    """A number with all its digits; ``1`` for 1.0.

    Example:
        >>> number_text(1234567.0), number_text(0.1)
        ('1234567', '0.1')
    """
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _MAX_WHOLE
    return json.dumps(int(value) if is_whole else value)
