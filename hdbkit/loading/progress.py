"""The progress of a build: its stages, and the callbacks that report it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Stage(StrEnum):
    """The stages of a build, in order."""

    TABLES = "tables"
    LOAD = "load"
    INDEXES = "indexes and statistics"
    ROUTINES = "routines"
    CHECKS = "checks"
    DONE = "done"


class BuildProgress(Protocol):
    """Callbacks, called in the process of the build; must return quickly."""

    def stage(self, stage: Stage) -> None:
        """A stage starts."""

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        """Rows loaded so far, of an expected total; ``size_bytes`` is the text that this build has sent.

        ``rows`` includes rows of earlier builds, ``size_bytes`` does not.
        """

    def checking(self, what: str) -> None:
        """A statement of a check is sent: the name of the check and the statement. Several threads call it."""


class Silent:
    """Ignores progress."""

    def stage(self, stage: Stage) -> None:
        """Does nothing."""

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        """Does nothing."""

    def checking(self, what: str) -> None:
        """Does nothing."""
