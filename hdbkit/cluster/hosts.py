"""Load hosts as the coordinator sees them, and which users each has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hdbkit.cluster.connection import CONNECT_S, Connection
from hdbkit.cluster.host import LoadHost
from hdbkit.execution.control import ClientState
from hdbkit.execution.load_generator import Ending
from hdbkit.execution.load_hosts import NotedHost
from hdbkit.results.host_clock import Exchange


@dataclass
class Host:
    """A load host as the coordinator sees it."""

    noted: NotedHost
    worker: str
    actor: Any
    states: dict[int, ClientState] = field(default_factory=dict)
    endings: dict[int, Ending] = field(default_factory=dict)
    exchanges: list[Exchange] = field(default_factory=list)
    looks: int = 0
    is_cut_off: bool = False

    @property
    def clients(self) -> range:
        """The numbers of its clients."""
        return range(*self.noted.clients)

    @property
    def has_ended(self) -> bool:
        """Whether all of its clients have ended."""
        return len(self.endings) == len(self.clients)

    def reached_by(self, worker: str, actor: Any) -> None:
        """Note that the host was cut off and answers again."""
        self.actor, self.worker, self.looks = actor, worker, -1
        from_ns, _ = self.noted.cut_offs.pop()
        self.noted.cut_offs.append((from_ns, time.monotonic_ns()))
        self.is_cut_off = False


def actors_of(
    connection: Connection, run_id: str, workers: Mapping[int, str], seconds: float = CONNECT_S
) -> list[Any]:
    """An actor for each part of a run on its worker. Raises ``HdbkitError`` if a worker cannot be used."""
    wanted = {
        worker: (f"hdbkit-{run_id}-{number}-{time.monotonic_ns()}", (run_id, number))
        for number, worker in workers.items()
    }
    return connection.actors(LoadHost, wanted, seconds)


def shares(clients: int, hosts: int) -> list[range]:
    """The clients of each host: adjoining, and as many on each as on any other, give or take one.

    Example:
        >>> shares(10, 4)
        [range(0, 2), range(2, 5), range(5, 7), range(7, 10)]
    """
    edges = [clients * number // hosts for number in range(hosts + 1)]
    return [range(first, last) for first, last in pairwise(edges) if first < last]
