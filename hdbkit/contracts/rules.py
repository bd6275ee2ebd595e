"""What every engine must do with the operations of a workload, and how that is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hdbkit.contracts.sessions import Capability, SessionOptions, SqlSession


class Violation(AssertionError):
    """An engine does something else than a rule demands."""


class Bench(Protocol):
    """Where rules are tried: the tables of a workload with indexes and routines, in a schema of their own."""

    capabilities: frozenset[Capability]
    """Those of the engine."""

    def emptied(self) -> SqlSession:
        """A session on the tables, with nothing in them; closed after the rule."""
        ...

    def connect(self, options: SessionOptions | None = None) -> SqlSession:
        """Another session; closed after the rule."""
        ...


@dataclass(frozen=True)
class Rule:
    """A rule for engines with the capabilities ``needs``: ``hold`` raises ``Violation`` where it is broken.

    Any other error that it raises breaks the rule, too.
    """

    name: str
    hold: Callable[[Bench], None]
    needs: frozenset[Capability] = frozenset()
