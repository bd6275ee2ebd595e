"""Options of a command line."""

from __future__ import annotations

from typing import Any


def option_words(name: str, value: Any) -> list[str]:
    """An option and its value as arguments of a command line."""
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, dict):
        value = ",".join(f"{key}={weight:g}" for key, weight in value.items())
    return [flag, str(value)]
