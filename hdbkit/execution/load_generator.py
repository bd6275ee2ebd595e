"""The load generator of a run: clients are prepared, begin together, stop, and their files are collected.

The supervisor knows no more than this protocol: not on which host the clients run, nor that they are processes.
:class:`hdbkit.execution.local_pool.LocalPool` is the implementation for this host,
:class:`hdbkit.cluster.coordinator.ClusterLoad` that for many.
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
    KILLED = "killed"  # it vanished without reporting an end
    FAILED = "failed"  # it reported why it could not continue


@dataclass(frozen=True)
class ClientReading:
    """A reading of a client: its CPU time, and how long it waited for a core; NaN if the process has ended."""

    client: int
    pid: int
    cpu_s: float
    waited_s: float


class LoadGenerator(Protocol):
    """Prepares, starts, stops and collects a set of virtual users. Clients are numbered from 0."""

    @property
    def head_start_s(self) -> float:
        """How long ahead the start must be published, so that all begin together."""

    def prepare(self, users: Sequence[UserPlan]) -> int:
        """Start the clients of these users, which then connect; return the number of clients. Call it once."""

    def ready(self) -> int:
        """The number of clients that are ready to begin."""

    def start_at(self, start_ns: int) -> None:
        """Publish the start time of all clients, on the monotonic clock of the supervisor."""

    def stop(self) -> None:
        """Let no further operation begin; those in flight are finished."""

    def wait(self, seconds: float) -> None:
        """Wait until the time has passed or a client ends."""

    def endings(self) -> dict[int, Ending]:
        """The end of each client that has ended."""

    def all_ended(self) -> bool:
        """Whether no client is running."""

    def reasons(self) -> str:
        """Why clients failed, were killed or cannot be reached, as sentences; empty if unknown."""

    def readings(self) -> list[ClientReading]:
        """A present reading of each client."""

    def kill(self) -> list[int]:
        """Kill every client that is still running; return their numbers."""

    def collect(self) -> dict[int, Ending]:
        """Move the clients' files to the run's spool folder; return how each client ended."""
