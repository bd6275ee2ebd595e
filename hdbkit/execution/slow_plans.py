"""The plans of slow executions, as the server reports them to who waits: the slowest of each statement."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hdbkit.files import JsonLines

PATTERN = "*.slow_plans"
_REPORTED = re.compile(
    r"duration: ([\d.]+) ms  plan:\nQuery Text: (.*?)\n(?:Query Parameters: [^\n]*\n)?(?=[^\n]*\(cost=)", re.DOTALL
)
"""Time and statement in what PostgreSQL's auto_explain reports; the plan follows."""


class SlowPlans:
    """Notes each plan that is slower than all before it of its statement, in this client.

    Args:
        spools: the folder of the clients' files.
        client: the number of this client.
    """

    def __init__(self, spools: Path, client: int) -> None:
        self._lines = JsonLines(spools / PATTERN.replace("*", f"{client:05d}"))
        self._slowest: dict[str, float] = {}

    def note(self, index: int, text: str) -> None:
        """Note what a session of a virtual user received, if it is a plan."""
        if (found := _REPORTED.match(text)) is None:
            return
        ms, statement = float(found[1]), found[2]
        if ms > self._slowest.get(statement, 0.0):
            self._slowest[statement] = ms
            at = {"t_ns": time.monotonic_ns(), "virtual_user": index}
            self._lines.try_to_add({**at, "ms": ms, "statement": statement, "plan": text[found.end() :]})


def slowest(lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The slowest of each statement in all clients, the slowest statement first."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in sorted(lines, key=lambda line: -float(line["ms"])):
        found.setdefault(one["statement"], one)
    return [*found.values()]
