"""What drives the load of a run: clients that are prepared, begin together, stop, and are collected.

The supervisor knows no more than this protocol: not on which host the clients run, nor that they are processes.
:class:`hdbkit.execution.local_pool.LocalPool` is the implementation for this host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from hdbkit.contracts import UserPlan


class Ending(StrEnum):
    """How a client ended."""

    DONE = "done"
    KILLED = "killed"  # it did not report an end itself
    FAILED = "failed"  # it reported why it could not go on


@dataclass(frozen=True)
class ClientReading:
    """What is known of a client at one moment; ``cpu_s`` is NaN when it is gone."""

    client: int
    pid: int
    cpu_s: float


class LoadGenerator(Protocol):
    """Prepares, starts, stops and collects a set of virtual users. Clients are numbered from 0."""

    def prepare(self, users: Sequence[UserPlan]) -> int:
        """Start the clients of these users, each of which connects on its own; their number. Call it once."""
        ...

    def ready(self) -> int:
        """The number of clients that are ready to begin."""
        ...

    def start_at(self, start_ns: int) -> None:
        """Publish when all clients begin, on the monotonic clock of the supervisor."""
        ...

    def stop(self) -> None:
        """No operation begins from now on; those in flight are finished."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait, but no longer than until a client ends."""
        ...

    def endings(self) -> dict[int, Ending]:
        """How each client ended that has ended."""
        ...

    def all_ended(self) -> bool:
        """Whether no client goes on."""
        ...

    def reasons(self) -> str:
        """Why clients failed or were killed, in sentences; empty where nothing is known."""
        ...

    def readings(self) -> list[ClientReading]:
        """A reading of each client now."""
        ...

    def kill(self) -> list[int]:
        """End every client that still goes on, at once; their numbers."""
        ...

    def collect(self) -> dict[int, Ending]:
        """Bring what the clients wrote into the folder of the run's spools; how each client ended."""
        ...
