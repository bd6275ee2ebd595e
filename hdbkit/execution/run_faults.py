"""What a run does about the faults that it causes: their process, the end of the window, undoing, lost commits.

A fault is caused and undone by a process of its own (``faults.injector``). When that process has died, its supervisor
undoes what it left, and the run ends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from hdbkit.config import Target
from hdbkit.contracts import Serial, Session
from hdbkit.execution.folder_setup import FAULTS, SERIALS
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder

if TYPE_CHECKING:
    from hdbkit.faults.injector import Injector


class RunFaults:
    """The faults of one run; most runs cause none. Their process inherits the descriptors ``kept``."""

    def __init__(self, folder: RunFolder, plan: RunPlan, kept: Sequence[int] = ()) -> None:
        self._folder, self._plan, self._kept = folder, plan, kept
        self._injector: Injector | None = None

    def prepare(self) -> Target:
        """Start the process that causes the faults; the target to which the clients are to connect."""
        load = self._plan.load
        if not load.faults:
            return self._plan.target
        from hdbkit.faults.injector import Injector  # heavy

        notes = self._folder.spools / FAULTS
        self._injector = Injector(self._plan.target, load.faults, load.seed, self._folder.path, notes, self._kept)
        return self._injector.target

    def begin(self, start_ns: int, clients: Sequence[int]) -> None:
        """Count the faults' times from ``start_ns`` of the monotonic clock; ``clients`` are process ids."""
        if self._injector:
            self._injector.begin(start_ns, clients)

    @property
    def over(self) -> bool:
        """Whether all faults are over, or should have been for long."""
        return self._injector is None or self._injector.over()

    @property
    def ended(self) -> str:
        """How the process that causes them has ended, which it should not; empty while it runs."""
        return self._injector.ended if self._injector else ""

    def undo(self) -> list[str]:
        """Undo at once what has not ended; its process does that, or this one if that process has ended.

        Return a sentence for each fault that could not be undone.
        """
        if self._injector is None:
            return []
        from hdbkit.faults.undo import undo_all

        self._injector.undo()
        return undo_all(self._folder, self._plan.target)

    def close(self) -> list[str]:
        """End the process, whose proxy the clients may have used until now; return what it reports, in sentences."""
        return self._injector.close() if self._injector else []

    def keep_serials(self, serial: Serial, session: Session) -> None:
        """Keep the last numbers that the schema gave, by which lost commits are found. Raises ``HdbkitError``."""
        last = [[int(value) for value in row] for row in session.ask(serial.last)]
        if last:
            text = json.dumps({**asdict(serial), "last": last})
            (self._folder.spools / SERIALS).write_text(text, encoding="utf-8")
