"""How wide the columns of a table on the screen are, and where the texts in them are broken.

Numbers and run ids stay whole. Where a table is too wide, heads are broken first, then the widest texts: at spaces,
and within a long name, such as a setting and its value, behind ``_``, ``=`` or a dot.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 12
"""Characters that a column of texts keeps."""
_PARTS = re.compile(r"[^_=.]*[_=.]?")


@dataclass(frozen=True)
class Column:
    """A column: its head and cells, and whether these are numbers, and stay whole."""

    head: str
    cells: Sequence[str]
    numeric: bool
    whole: bool

    @property
    def longest(self) -> int:
        """Characters of its longest cell."""
        return max(map(len, self.cells), default=0)

    @property
    def natural(self) -> int:
        """Characters that it has where nothing is broken."""
        return max(len(self.head), self.longest)


def widths(columns: Sequence[Column], room: int) -> list[int]:
    """How many characters each column has, so that all take at most ``room`` if they can."""
    if sum(one.natural for one in columns) <= room:
        return [one.natural for one in columns]
    found = [max(one.longest, *map(len, one.head.split())) for one in columns]
    while sum(found) > room:
        wide = [i for i, one in enumerate(columns) if not one.whole and found[i] > LEAST]
        if not wide:
            break
        found[max(wide, key=lambda i: found[i])] -= 1
    return found


def broken(text: str, width: int) -> str:
    """A text in lines of at most so many characters."""
    if len(text) <= width:
        return text
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(part for line in lines for part in _within_names(line, width))


def _within_names(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    made = [""]
    for part in filter(None, _PARTS.findall(line)):
        if made[-1] and len(made[-1]) + len(part) > width:
            made.append("")
        made[-1] += part
    return made
