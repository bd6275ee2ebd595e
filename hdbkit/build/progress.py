"""What a build tells whoever watches it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Stage(StrEnum):
    """The steps of a build, in their order."""

    TABLES = "tables"
    LOAD = "load"
    INDEXES = "indexes"
    ROUTINES = "routines"
    STATISTICS = "statistics"
    CHECKS = "checks"
    DONE = "done"


class BuildProgress(Protocol):
    """Called from the process and thread that builds; must return soon."""

    def stage(self, stage: Stage) -> None:
        """A step begins."""
        ...

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        """So many rows are sent, of an expected total; ``size_bytes`` is what this build has sent as text.

        Rows that an earlier build loaded count in ``rows`` and not in ``size_bytes``.
        """
        ...


class Silent:
    """Nobody watches."""

    def stage(self, stage: Stage) -> None:
        """Nothing."""

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        """Nothing."""
