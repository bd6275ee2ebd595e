"""The plans of slow executions, as the server reports them to the client that waits: the slowest per statement."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hdbkit.files import JsonLines

PATTERN = "*.slow_plans"
MAX_STATEMENTS = 100
"""Statements that are kept: a routine that writes values into its statements makes a new one each time."""


class SlowPlans:
    """Notes the slowest plans of the slowest statements in this client.

    Args:
        spools: the folder of the clients' files.
        client: the number of this client.
    """

    def __init__(self, spools: Path, client: int) -> None:
        self._lines = JsonLines(spools / PATTERN.replace("*", f"{client:05d}"))
        self._slowest: dict[str, float] = {}

    def note(self, index: int, ms: float, statement: str, plan: str) -> None:
        """Note the plan of an execution that a virtual user waited for."""
        if ms <= self._slowest.get(statement, 0.0):
            return
        self._slowest[statement] = ms
        if len(self._slowest) > MAX_STATEMENTS:
            quickest = min(self._slowest, key=self._slowest.__getitem__)
            del self._slowest[quickest]
            if quickest == statement:
                return
        at = {"t_ns": time.monotonic_ns(), "virtual_user": index}
        self._lines.try_to_add({**at, "ms": ms, "statement": statement, "plan": plan})


def slowest(lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The slowest of each statement in all clients, the slowest statement first."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in sorted(lines, key=lambda line: -float(line["ms"])):
        found.setdefault(one["statement"], one)
    return [*found.values()][:MAX_STATEMENTS]
