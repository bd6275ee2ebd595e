"""The files of a run's load hosts, collected into the folder of spools: their clocks, tables and facts.

A host's files are in a folder of their own and keep the times of its clock; they are converted when the tables are
written, so that doing it again is harmless. A run of this host alone has one folder of files and no such folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from hdbkit.errors import DamagedResult
from hdbkit.files import read_bytes, read_lines, replace_file
from hdbkit.later import numpy as np
from hdbkit.results import columns
from hdbkit.results.columns import Source
from hdbkit.results.host_clock import ClockEstimate, HostClock, reliable
from hdbkit.results.manifest import LoadHostLine
from hdbkit.results.spool import SpoolReader
from hdbkit.text import many

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FILE = "load_hosts.json"
_FOLDER = "hosts"
_MAX_ESTIMATES = 500
"""Estimates of a clock that are kept: an hour and a half of a run; of longer runs they are further apart."""


class NotedHost(BaseModel):
    """What the coordinator knows of a load host; written beside the spools while the run lasts."""

    number: int
    name: str
    cores: int
    machine: str = Field(description="identity of the machine: several hosts of a run may share one")
    has_own_clock: bool = Field(default=True, description="False: its clock is that of the coordinator")
    clients: tuple[int, int] = Field(description="numbers of its clients: the first, and the one after the last")
    users: int
    estimates: list[tuple[int, float, float]] = Field(default_factory=list)
    cut_offs: list[tuple[int, int | None]] = Field(
        default_factory=list,
        description="when it was not reached, in ns of the coordinator's clock; None: to the end",
    )
    messages: int = 0
    message_bytes: int = 0
    worker: str = ""
    is_complete: bool = False

    def add(self, found: tuple[int, float, float]) -> None:
        """Add an estimate of its clock. Of too many, the more certain one of each two is kept, and the ends."""
        self.estimates.append(found)
        if len(self.estimates) > _MAX_ESTIMATES:
            first, *inner, last = self.estimates
            kept = [min(inner[at : at + 2], key=lambda one: one[2]) for at in range(0, len(inner), 2)]
            self.estimates = [first, *kept, last]

    @property
    def clock(self) -> HostClock:
        """Its clock, as far as it is known."""
        if not self.has_own_clock:
            return HostClock()
        return HostClock(reliable([ClockEstimate(*one) for one in self.estimates]))


@dataclass(frozen=True)
class ClientFiles:
    """A folder with files of clients, and the clock of their times."""

    folder: Path
    clock: HostClock = field(default_factory=HostClock)
    load_host: int | None = None
    """The number of the load host that wrote them; None: this host."""


def folder_of(spools: Path, number: int) -> Path:
    """The folder for the collected files of a load host."""
    return spools / _FOLDER / f"{number:03d}"


def write_hosts(spools: Path, hosts: Sequence[NotedHost]) -> None:
    """Write what is known of the load hosts."""
    replace_file(spools / _FILE, json.dumps([one.model_dump(mode="json") for one in hosts]).encode())


def noted_hosts(spools: Path) -> list[NotedHost]:
    """What is known of the load hosts; none in a run of this host alone."""
    path = spools / _FILE
    if not path.is_file():
        return []
    return [NotedHost.model_validate(one) for one in json.loads(read_bytes(path))]


def missing(spools: Path) -> list[NotedHost]:
    """The load hosts whose files are not collected."""
    return [one for one in noted_hosts(spools) if not one.is_complete]


def lost(hosts: Sequence[LoadHostLine], run_id: str) -> list[str]:
    """A warning about load hosts whose files were not collected; none if there are none."""
    left = [one for one in hosts if not one.is_complete]
    if not left:
        return []
    users, names = sum(one.users for one in left), ", ".join(dict.fromkeys(one.name for one in left))
    return [
        f"{many(len(left), 'load host')} ({names}) with {many(users, 'virtual user')} did not deliver their records, "
        f"which are missing here; once they are back, run: hdbkit recover {run_id}"
    ]


def client_files(spools: Path) -> list[ClientFiles]:
    """Where files of clients are: the folder of spools, and those of load hosts that are complete."""
    hosts = [host for host in noted_hosts(spools) if host.is_complete]
    of_hosts = (ClientFiles(folder_of(spools, host.number), host.clock, host.number) for host in hosts)
    return [ClientFiles(spools), *of_hosts]


def ends(folder: Path) -> list[dict[str, Any]]:
    """How the clients of a load host ended, as fields of the table ``clients``."""
    return read_lines(folder / columns.ENDING_LINES.name)


def lines_of(files: Iterable[ClientFiles], source: Source, start_ns: int) -> Iterator[dict[str, Any]]:
    """The lines of a source in these folders, with the columns that are times, and the number of their load host."""
    for each in files:
        more = {} if each.load_host is None else {"load_host": each.load_host}
        for path in sorted(each.folder.glob(source.name)):
            for line in read_lines(path):
                at_ns = {column: each.clock.one_here(line[name]) for column, name in source.times.items()}
                yield line | more | {column: round((t_ns - start_ns) / 1000) for column, t_ns in at_ns.items()}


def described(spools: Path, start_ns: int) -> list[LoadHostLine]:
    """The load hosts for the manifest."""
    found = []
    for one in noted_hosts(spools):
        clock, first_ns = one.clock, _first_ns(spools, one)
        cut_off_s = [((until_ns or from_ns) - from_ns) / 1e9 for from_ns, until_ns in one.cut_offs]
        found.append(
            LoadHostLine(
                number=one.number,
                name=one.name,
                cores=one.cores,
                machine=one.machine,
                first_client=one.clients[0],
                clients=one.clients[1] - one.clients[0],
                users=one.users,
                offset_ms=clock.estimates[0].offset_ns / 1e6 if clock.estimates else 0.0,
                uncertainty_ms=clock.uncertainty_ns / 1e6,
                drift_ppm=clock.drift_ppm,
                first_operation_ms=None if first_ns is None else (first_ns - start_ns) / 1e6,
                cut_offs=len(one.cut_offs),
                cut_off_s=sum(cut_off_s),
                is_cut_off=any(until_ns is None for _, until_ns in one.cut_offs),
                is_complete=one.is_complete,
                messages=one.messages,
                message_bytes=one.message_bytes,
            )
        )
    return found


def _first_ns(spools: Path, one: NotedHost) -> int | None:
    """When the first operation of a host began; None if none did."""
    times = []
    for path in folder_of(spools, one.number).glob("*.spool"):
        with suppress(DamagedResult):
            reader = SpoolReader(path)
            if (records := reader.read(1)).size:
                times.append(int(records["start_ns"][0]))
            reader.close()
    return one.clock.one_here(min(times)) if times else None


def together(rows: Sequence[dict[str, Any]], own: Sequence[dict[str, Any]], spools: Path, here: str) -> list[Any]:
    """The table ``host`` of a run on load hosts: their totals added up, each machine once, second by second.

    ``own`` are the samples of the coordinator, whose server and supervisor count only where it is one of the machines
    (``here``).
    """
    machines = {one.machine: one.number for one in reversed(noted_hosts(spools))}
    series = [
        found for number in machines.values() if len(found := [r for r in rows if r["load_host"] == number]) > 1
    ]
    if not series:
        return list(own)
    first = max(one[0]["t_us"] for one in series)
    last = min(one[-1]["t_us"] for one in series)
    at = np.append(np.arange(first, last, 1_000_000), last)
    added: dict[str, Any] = {"t_us": at}
    for name, kind in columns.HOST.items():
        if name == "t_us":
            continue
        if kind.startswith("list"):  # one machine's after the other's
            added[name] = [[*chain(*each)] for each in zip(*(_lists(at, one, name) for one in series), strict=True)]
            continue
        total = sum(np.interp(at, [r["t_us"] for r in one], [r.get(name, np.nan) for r in one]) for one in series)
        added[name] = total / len(series) if name == "cpu_pressure_s" else total
    known = own if here in machines and len(own) > 1 else []
    for name in ("server_cpu_s", "sessions_cpu_s", "sessions_waited_s", "supervisor_cpu_s"):
        values = np.interp(at, [r["t_us"] for r in known], [r[name] for r in known]) if known else None
        added[name] = np.full(at.size, 0.0 if name.startswith("supervisor") else np.nan) if values is None else values
    return [{name: values[i] for name, values in added.items()} for i in range(at.size)]


def _lists(at: NDArray[Any], samples: Sequence[dict[str, Any]], name: str) -> list[list[float]]:
    """The values of each core, or node, at these times; of a host whose number of them changed none."""
    rows = [one.get(name, []) for one in samples]
    if len({len(row) for row in rows}) > 1:
        return [[] for _ in at]
    times = [one["t_us"] for one in samples]
    values = [np.interp(at, times, of_one) for of_one in zip(*rows, strict=True)]
    return [[float(one[i]) for one in values] for i in range(at.size)]
