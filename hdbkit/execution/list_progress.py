"""How far the virtual users are in their lists of operations, where a workload executes lists one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hdbkit.results.columns import Outcome
from hdbkit.results.manifest import Manifest
from hdbkit.results.records import Records
from hdbkit.text import plural

_SHOWN = 4
"""So many of the operations that are running are named."""


@dataclass(frozen=True)
class InLists:
    """What is finished of all lists, and what is running: operation and seconds so far, the longest first."""

    finished: int
    failed: int
    planned: int
    running: tuple[tuple[str, float], ...]

    def text(self, noun: str) -> str:
        """For example ``9 of 22 queries finished, 1 of them failed; running: q21 (3.1 s)``."""
        named = ", ".join(f"{name} ({seconds:.1f} s)" for name, seconds in self.running[:_SHOWN])
        others = len(self.running) - _SHOWN
        more = f" and {others} more" if others > 0 else ""
        failed = f", {self.failed} of them failed" if self.failed else ""
        running = f"; running: {named}{more}" if named else ""
        return f"{self.finished} of {self.planned} {plural(noun)} finished{failed}{running}"


class ListProgress:
    """Counts the records of each virtual user of a run, from its first record on."""

    def __init__(self, manifest: Manifest) -> None:
        most = manifest.plan.load.iterations
        self._lists = manifest.lists
        self._planned = [min(len(names) * times, most or len(names) * times) for names, times in manifest.lists]
        self._finished: Counter[int] = Counter()
        self._failed = 0
        self._ended_ns: dict[int, int] = {}

    def add(self, pieces: Iterable[Records]) -> None:
        """Count new records; those of a user are in order."""
        for records in pieces:
            users = records["virtual_user"].tolist()
            self._finished.update(users)
            self._failed += int((records["outcome"] == Outcome.FAILED).sum())
            self._ended_ns |= zip(users, records["end_ns"].tolist(), strict=True)

    def at(self, start_ns: int, now_ns: int) -> InLists:
        """The state at ``now_ns`` of a run that began at ``start_ns``."""
        running = [
            (names[self._finished[user] % len(names)], max(0, now_ns - self._ended_ns.get(user, start_ns)) / 1e9)
            for user, (names, _) in enumerate(self._lists)
            if self._finished[user] < self._planned[user]
        ]
        longest_first = tuple(sorted(running, key=lambda one: -one[1]))
        return InLists(self._finished.total(), self._failed, sum(self._planned), longest_first)
