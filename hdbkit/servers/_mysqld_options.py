"""The option files of MySQL and MariaDB: their text, and what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping

LOOSE = "loose-"
"""Prefix of an option that may exist only as a variable and not as a startup option."""


def option_lines(values: Mapping[str, str], prefix: str = "") -> str:
    """The text of an option file that sets these values on the server."""
    return "[mysqld]\n" + "".join(f'{prefix}{name} = "{_escaped(value)}"\n' for name, value in values.items())


def option_values(text: str) -> dict[str, str]:
    """Parse the text that :func:`option_lines` wrote."""
    pairs = (line.partition("=") for line in text.split("\n") if "=" in line)
    return {name.strip().removeprefix(LOOSE): _bare(value.strip()) for name, _, value in pairs}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _bare(value: str) -> str:
    inside = value[1:-1] if value[:1] == value[-1:] == '"' else value
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], inside)
