"""What a token permits."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A role includes those before it."""

    READ = "read"  # lists, results, comparisons
    RUN = "run"  # loads on a server: runs, builds
    SETTINGS = "settings"  # changes of a server beyond its load: sweeps, faults, dropped schemas

    def permits(self, wanted: Role) -> bool:
        """Whether this role includes another."""
        order = list(Role)
        return order.index(self) >= order.index(wanted)
