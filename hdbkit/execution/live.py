"""The live view of a run, read from the spools, so that watching costs the clients nothing."""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hdbkit.analysis.run.waits import CLASSES
from hdbkit.config import Load
from hdbkit.config.metric import Metric
from hdbkit.execution.control import ClientState, Control
from hdbkit.execution.host import process_cpu_s
from hdbkit.execution.live_schedule import LiveSchedule, ScheduleTick
from hdbkit.execution.live_sums import LiveTail, Sums
from hdbkit.files import opened_file, read_bytes, read_lines
from hdbkit.later import numpy as np
from hdbkit.results.columns import ERROR_LINES, HOST_LINES, SESSION_LINES, WAIT_LINES, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.spool import Records, SpoolTails
from hdbkit.text import plural

_SHOWN = 4
"""So many of the operations that are running are named."""


@dataclass(frozen=True)
class InLists:
    """What is finished of all lists, and what is running: operation and seconds so far, the longest first."""

    finished: int
    failed: int
    planned: int
    running: tuple[tuple[str, float], ...]

    def text(self, noun: str) -> str:
        """For example ``9 of 22 queries finished, 1 of them failed; running: q21 (3.1 s)``."""
        named = ", ".join(f"{name} ({seconds:.1f} s)" for name, seconds in self.running[:_SHOWN])
        others = len(self.running) - _SHOWN
        more = f" and {others} more" if others > 0 else ""
        failed = f", {self.failed} of them failed" if self.failed else ""
        running = f"; running: {named}{more}" if named else ""
        return f"{self.finished} of {self.planned} {plural(noun)} finished{failed}{running}"


class ListProgress:
    """Counts the records of each virtual user of a run, from its first record on."""

    def __init__(self, manifest: Manifest) -> None:
        most = manifest.plan.load.iterations
        self._lists = manifest.lists
        self._planned = [min(len(names) * times, most or len(names) * times) for names, times in manifest.lists]
        self._finished: Counter[int] = Counter()
        self._failed = 0
        self._ended_ns: dict[int, int] = {}

    def add(self, pieces: Iterable[Records]) -> None:
        """Count new records; those of a user are in order."""
        for records in pieces:
            users = records["virtual_user"].tolist()
            self._finished.update(users)
            self._failed += int((records["outcome"] == Outcome.FAILED).sum())
            self._ended_ns |= zip(users, records["end_ns"].tolist(), strict=True)

    def at(self, start_ns: int, now_ns: int) -> InLists:
        """The state at ``now_ns`` of a run that began at ``start_ns``."""
        running = [
            (names[self._finished[user] % len(names)], max(0, now_ns - self._ended_ns.get(user, start_ns)) / 1e9)
            for user, (names, _) in enumerate(self._lists)
            if self._finished[user] < self._planned[user]
        ]
        longest_first = tuple(sorted(running, key=lambda one: -one[1]))
        return InLists(self._finished.total(), self._failed, sum(self._planned), longest_first)


class LiveWaits:
    """What the sessions of the load work on and wait for, from the samples since the last look."""

    def __init__(self, spools: Path) -> None:
        self._spools = spools
        self._offset: int | None = None
        self._own: set[int] = set()

    def new(self, sessions: int) -> dict[str, float] | None:
        """The mean number of the load's ``sessions`` by class; None without a new sample, or if clients note none."""
        lines = self._lines()
        if lines and len(self._own) < sessions:  # one that connects again later is missing: this is a view, no result
            noted = (row for path in self._spools.glob(SESSION_LINES.name) for row in read_lines(path))
            self._own = {int(row["number"]) for row in noted}
        if not lines or not self._own:
            return None
        found = Counter(row[1] for line in lines for row in line["rows"] if row[0] in self._own)
        return {name: found[name] / len(lines) for name in CLASSES}

    def _lines(self) -> list[dict[str, Any]]:
        """The samples that were added since the last call; the first one only finds the end of the file."""
        with suppress(OSError, ValueError), os.fdopen(opened_file(self._spools / WAIT_LINES.name), "rb") as file:
            file.seek(0, os.SEEK_END) if self._offset is None else file.seek(self._offset)
            whole = file.read().rpartition(b"\n")[0]
            self._offset = file.tell() if self._offset is None else self._offset + len(whole)
            return [json.loads(line) for line in whole.splitlines() if line]
        return []


_FIRST_LOOK_NS = 2_000_000_000
_SAMPLES_BYTES = 4096
_SILENT_S = 1.0
"""If no operation completes for this long, the clients' error files are read."""
_CLIENTS_ASKED = 16


@dataclass(frozen=True)
class Tick:
    """The course of a run since the last tick. 1.0 core is one busy core."""

    status: Status
    elapsed_s: float
    metric_value: float
    operations_per_s: float
    metric: Metric
    """The metric of ``metric_value``: the run's metric if it is a rate, else operations per second."""
    headline: str
    """The operation whose latency is shown in headlines."""
    noun: str = "operation"
    """The workload's term for an operation."""
    time: str = "service"
    """The time of the quantiles: ``response``, from the scheduled start, where there is one; else ``service``."""
    p50_us: dict[str, float] = field(default_factory=dict)
    p95_us: dict[str, float] = field(default_factory=dict)
    p99_us: dict[str, float] = field(default_factory=dict)
    failed: int = 0
    retries: int = 0
    seconds: float = 0.0
    """The seconds since the last tick, which the figures cover."""
    connected: int = 0
    """The number of virtual users that are connected and ready to begin, or have begun."""
    client_cpu_cores: float = math.nan
    """CPU of all clients; NaN until there are two readings."""
    server_cpu_cores: float = math.nan
    """CPU of the server between its last two samples; NaN if it runs on another host."""
    silent_s: float = 0.0
    """The seconds without a completed operation, counted at the earliest from the first tick."""
    doing: str = ""
    """What is being done after the window, such as the statement of a check."""
    error: str = ""
    """The newest database error in that time, if there was one."""
    in_lists: InLists | None = None
    """How far the users are in their lists of operations, once they have begun; None if operations are drawn."""
    waits: dict[str, float] | None = None
    """The mean number of the load's sessions that work or wait in the server, by class; None: it was not sampled."""
    schedule: ScheduleTick | None = None
    """Rates, lateness and backlog; None before the start, and where sessions have no schedule and a process each."""


class LiveView:
    """Looks at a running run; every ``tick`` reads what is new.

    The first look at a run in progress reads its last two seconds, not all that is past; all of it where users have
    lists, which are short, or a number of iterations.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._spools = SpoolTails(folder.spools)
        self._hosts = LiveTail(folder.spools)
        self._looked_ns: int | None = None
        self._cpu_s: dict[int, float] = {}
        self._worked_ns = 0
        self._in_lists: ListProgress | None = None
        self._schedule: LiveSchedule | None = None
        self._waits = LiveWaits(folder.spools)

    def tick(self) -> Tick:
        """The course since the last tick."""
        manifest, now = self._folder.read(), time.monotonic_ns()
        start_ns = manifest.clock.start_monotonic_ns if manifest.clock else now
        whole = manifest.lists or manifest.plan.load.iterations
        first_ns = start_ns if whole else now - _FIRST_LOOK_NS
        since_ns = max(start_ns, self._looked_ns or first_ns)
        if manifest.plan.load.cluster:
            return self._tick_of_hosts(manifest, start_ns, since_ns, now)
        pieces = list(self._spools.new(since_ns))
        self._looked_ns = now
        self._worked_ns = max([start_ns, self._worked_ns or since_ns, *map(_last_worked_ns, pieces)])
        seconds, silent_s = max((now - since_ns) / 1e9, 1e-6), max(now - self._worked_ns, 0) / 1e9
        pids, ready = _clients(self._folder)
        sums = Sums()
        if pieces:
            sums.add(np.concatenate(pieces), manifest.paced)
        return Tick(
            **self._shared(manifest, start_ns, now, ready),
            seconds=seconds,
            client_cpu_cores=self._client_cpu_s(pids) / seconds,
            silent_s=silent_s,
            error=_newest_error(self._folder.spools, self._worked_ns) if silent_s > _SILENT_S else "",
            in_lists=self._place_in_lists(manifest, pieces, now),
            schedule=self._schedule_at(manifest, pieces, since_ns, now),
            **sums.figures(manifest, seconds),
        )

    def _tick_of_hosts(self, manifest: Manifest, start_ns: int, since_ns: int, now: int) -> Tick:
        """The course as the load hosts report it each second; without the places in lists and the schedule."""
        self._hosts.read(since_ns)
        self._looked_ns = now
        worked_ns = max(start_ns, self._hosts.worked_ns or since_ns)
        return Tick(
            **self._shared(manifest, start_ns, now, _clients(self._folder)[1]),
            seconds=self._hosts.seconds,
            client_cpu_cores=self._hosts.cpu_s / self._hosts.seconds,
            silent_s=max(now - worked_ns, 0) / 1e9,
            error=self._hosts.error,
            **self._hosts.sums.figures(manifest, self._hosts.seconds),
        )

    def _shared(self, manifest: Manifest, start_ns: int, now: int, ready: Sequence[int]) -> dict[str, Any]:
        """The fields of a tick that do not depend on where the records are."""
        return {
            "status": manifest.status,
            "doing": manifest.doing,
            "elapsed_s": max(now - start_ns, 0) / 1e9,
            "metric": manifest.metric.rate,
            "headline": manifest.headline,
            "noun": manifest.noun,
            "connected": _users_of(ready, manifest.plan.load),
            "server_cpu_cores": _server_cpu_cores(self._folder.spools / HOST_LINES.name),
            "time": "response" if manifest.paced else "service",
            "waits": self._waits.new(manifest.plan.load.sessions),
        }

    def _place_in_lists(self, manifest: Manifest, pieces: Sequence[Records], now_ns: int) -> InLists | None:
        if not manifest.lists or not manifest.clock:
            return None
        self._in_lists = self._in_lists or ListProgress(manifest)
        self._in_lists.add(pieces)
        return self._in_lists.at(manifest.clock.start_monotonic_ns, now_ns)

    def _schedule_at(
        self, manifest: Manifest, pieces: Sequence[Records], since_ns: int, now_ns: int
    ) -> ScheduleTick | None:
        if manifest.lists or not manifest.clock or now_ns <= since_ns:
            return None
        self._schedule = self._schedule or LiveSchedule.of(manifest, manifest.clock.start_monotonic_ns)
        return self._schedule.at(pieces, since_ns, now_ns) if self._schedule else None

    def close(self) -> None:
        """Close the spools."""
        self._spools.close()

    def _client_cpu_s(self, pids: Sequence[int]) -> float:
        """CPU time of the clients since the last reading."""
        before, self._cpu_s = self._cpu_s, {pid: process_cpu_s(pid) for pid in pids}
        grown = [cpu_s - before[pid] for pid, cpu_s in self._cpu_s.items() if pid in before]
        return float(np.nansum(grown)) if grown else math.nan


def _clients(folder: RunFolder) -> tuple[list[int], list[int]]:
    """The clients' process ids, and which are ready; none while there is no control page."""
    try:
        page = Control(folder.control)
    except (FileNotFoundError, ValueError):  # ValueError: just created and still empty
        return [], []
    try:
        return page.pids(), [i for i, state in enumerate(page.states()) if state is not ClientState.STARTING]
    finally:
        page.close()


def _users_of(clients: Sequence[int], load: Load) -> int:
    """The number of virtual users that these clients serve."""
    slices = load.clients
    return sum(len(slices[client]) for client in clients)


def _server_cpu_cores(samples: Path) -> float:
    """CPU of the server from the last two samples of the host."""
    with suppress(OSError, ValueError, KeyError):
        with os.fdopen(opened_file(samples), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _SAMPLES_BYTES))
            before, after = (json.loads(line) for line in file.read().splitlines()[-2:])
        return float((after["server_cpu_s"] - before["server_cpu_s"]) / ((after["t_ns"] - before["t_ns"]) / 1e9))
    return math.nan


def _last_worked_ns(records: Records) -> int:
    """The end of the last operation that did not fail; 0 if there is none."""
    worked = records["end_ns"][records["outcome"] != Outcome.FAILED]
    return int(worked.max()) if worked.size else 0


def _newest_error(spools: Path, since_ns: int) -> str:
    """The text of the newest error of the first clients since then; empty if there is none."""
    newest = (since_ns, "")
    for path in sorted(spools.glob(ERROR_LINES.name))[:_CLIENTS_ASKED]:
        with suppress(OSError, ValueError, KeyError):
            newest = max([newest, *((row["last_ns"], row["text"]) for row in json.loads(read_bytes(path)))])
    return newest[1]
