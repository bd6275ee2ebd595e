"""Load hosts as the coordinator sees them: which users each has, its clock, and the files that it collects.

The files are moved in pieces: resumable, compared by size and SHA-256.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from hdbkit.cluster.connection import CONNECT_S, Connection
from hdbkit.cluster.host import LoadHost, digest_of
from hdbkit.execution.control import ClientState
from hdbkit.execution.load_generator import Ending
from hdbkit.execution.load_hosts import NotedHost, folder_of
from hdbkit.results.host_clock import ClockEstimate, Exchange, estimate_clock

_EXCHANGES: Final = 24
_ANSWER_S: Final = 3.0


def read_clocks(connection: Connection, actors: Mapping[int, Any]) -> dict[int, ClockEstimate]:
    """An estimate of the clock of each host that answers. They are asked in turn, so that none delays another."""
    found: dict[int, ClockEstimate] = {}
    for number, actor in actors.items():
        answers = connection.all({number: partial(_burst, actor)}, _ANSWER_S)
        if exchanges := answers.get(number):
            found[number] = estimate_clock(exchanges)
    return found


def noted(one: ClockEstimate) -> tuple[int, float, float]:
    """An estimate as it is kept beside the spools."""
    return one.at_ns, one.offset_ns, one.uncertainty_ns


async def _burst(actor: Any) -> list[Exchange]:
    found = []
    for _ in range(_EXCHANGES):
        sent_ns = time.monotonic_ns()
        received_ns, answered_ns = await actor.clock()
        found.append(Exchange(sent_ns, received_ns, answered_ns, time.monotonic_ns()))
    return found


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


_CHUNK: Final = 4 << 20
_AT_ONCE: Final = 4
"""Hosts that send at the same time; each has one piece in memory."""


class Collector:
    """Collects the parts of a run that are handed to it; what it has is not sent again."""

    def __init__(self, spools: Path, connection: Connection) -> None:
        self._spools, self._connection = spools, connection

    def collect(self, actors: Mapping[int, Any]) -> list[int]:
        """Collect the parts of these actors whose users have ended; return the numbers of those that are complete."""
        done, numbers = list[int](), sorted(actors)
        for first in range(0, len(numbers), _AT_ONCE):
            some = numbers[first : first + _AT_ONCE]
            answers = self._connection.all({one: partial(self._part, one, actors[one]) for one in some}, 3600)
            done += [one for one in some if answers.get(one)]
        return done

    async def _part(self, number: int, actor: Any) -> bool:
        """Collect one part; whether it is complete."""
        if not await actor.ended():
            return False
        folder = folder_of(self._spools, number)
        folder.mkdir(parents=True, exist_ok=True)
        for name, size, digest in await actor.files():
            for _ in range(2):
                if await self._file(actor, folder / Path(name).name, size, digest):
                    break
            else:
                return False
        await actor.forget()
        return True

    async def _file(self, actor: Any, path: Path, size: int, digest: str) -> bool:
        """Collect one file, from where an earlier attempt ended; whether it is the same as on the host."""
        if path.is_file() and path.stat().st_size == size and digest_of(path) == digest:
            return True
        draft = path.with_name(f"{path.name}.part")
        with draft.open("ab") as file:
            if file.tell() > size:
                file.truncate(0)
            while (at := file.tell()) < size:
                piece = await actor.chunk(path.name, at, min(_CHUNK, size - at))
                if not piece:
                    break
                file.write(piece)
        if digest_of(draft) != digest:
            draft.unlink()
            return False
        draft.replace(path)
        return True
