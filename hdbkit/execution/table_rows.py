"""The rows of a run's tables, made of what its processes noted while it ran.

Lines are read by their :class:`~hdbkit.results.columns.Source`; their times are microseconds of the run, whichever
host's clock measured them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from hdbkit.execution import load_hosts, sampler
from hdbkit.execution.client_notes import slowest_plans
from hdbkit.execution.host import DEVICES
from hdbkit.execution.load_hosts import ClientFiles
from hdbkit.readings import STATEMENT_TOTALS
from hdbkit.results import columns
from hdbkit.results.columns import Source
from hdbkit.results.manifest import Manifest

SourceLines = list[dict[str, Any]]
Rows = Sequence[Mapping[str, Any]]
_SAME_US = 1_500_000
"""How far apart two reports of one event are at most, as some servers keep whole seconds."""


@dataclass(frozen=True)
class Noted:
    """What was noted in a run; ``operations`` is the number of recorded operations by client."""

    manifest: Manifest
    spools: Path
    files: Sequence[ClientFiles]
    operations: Mapping[int, int]

    def lines(self, source: Source) -> list[dict[str, Any]]:
        """The lines of a source in all folders, with their times in the run."""
        assert self.manifest.clock is not None
        return [*load_hosts.lines_of(self.files, source, self.manifest.clock.start_monotonic_ns)]

    def rows(self, name: str) -> Rows:
        """The rows of a table of :data:`hdbkit.results.columns.TABLES`."""
        lines = [line for source in columns.TABLES[name].sources for line in self.lines(source)]
        return _ROWS[name](self, lines) if name in _ROWS else lines

    @cached_property
    def samples(self) -> list[dict[str, Any]]:
        """The samples of counters, with both edges of the window."""
        return _with_edges(self.lines(columns.COUNTER_LINES))

    @cached_property
    def host(self) -> Rows:
        """The samples of the load host, or of all together."""
        lines = self.lines(columns.HOST_LINES)
        own, of_hosts = ([line for line in lines if ("load_host" in line) is there] for there in (False, True))
        known = self.manifest.host.boot_id or ""
        return load_hosts.together(of_hosts, own, self.spools, known) if self.manifest.load_hosts else own


def _with_edges(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Close an open window at its last complete sample: the window is shorter but equally exact."""
    edges = {row["edge"] for row in samples}
    starts = [row["returned_ns"] for row in samples if row["edge"] == "start"]
    if "end" in edges or not starts:
        return samples
    between = [row for row in samples if not row["edge"] and row["sent_ns"] > max(starts)]
    last = max((row["sent_ns"] for row in between if row["name"] == columns.COUNTED), default=None)
    if last is None:
        return samples
    closing = {"edge": "end", "closed_late": True}
    return [{**row, **closing} if not row["edge"] and row["sent_ns"] >= last else row for row in samples]


def _devices(noted: Noted, _: SourceLines) -> Rows:
    return [
        {"t_us": row["t_us"], "name": name, "device": device, "value": value}
        for row in noted.host
        for name, device, value in row.get(DEVICES, ())
    ]


def _server_host(_: Noted, lines: SourceLines) -> Rows:
    """Each figure at the middle of its query."""
    return [
        {"t_us": (line["t_sent_us"] + line["t_returned_us"]) // 2}
        | {"name": name, "device": device, "by_core" if isinstance(value, list) else "value": value}
        for line in lines
        for name, device, value in line.get("metrics", ())
    ]


def _clients(noted: Noted, lines: SourceLines) -> Rows:
    """One row per client from the samples at the edges and the end; one without an end was killed."""
    manifest = noted.manifest
    rows = {
        client: {
            "client": client,
            "users": len(users),
            "first_user": users.start,
            "operations": noted.operations.get(client, 0),
            "ended": "killed",
        }
        for client, users in enumerate(manifest.plan.load.clients if manifest.operations else ())
    }
    for line in lines:
        rows[line["client"]].update(line)
    return list(rows.values())


def _errors(_: Noted, lines: SourceLines) -> Rows:
    """The clients' errors, added up by class, code, text and operation."""
    total: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in lines:
        key = (row["error_class"], row["code"], row["text"], row["operation"])
        sums = total.setdefault(key, {**row, "count": 0, "retried": 0})
        sums["count"] += row["count"]
        sums["retried"] += row["retried"]
        sums["first_us"] = min(sums["first_us"], row["first_us"])
        sums["last_us"] = max(sums["last_us"], row["last_us"])
    return sorted(total.values(), key=lambda row: -row["count"])


def _waits(noted: Noted, lines: SourceLines) -> Rows:
    """A sample has at least one row, that of the session that asked."""
    users, rows = _Users(noted.lines(columns.SESSION_LINES)), []
    for line in lines:
        for number, of_class, event, table, blocker, own, *age_s in line["rows"]:
            age_us = round(1e6 * sum(age_s))
            t_us = line["t_us"] - age_us
            row = {
                "t_us": t_us,
                "t_returned_us": line["t_returned_us"] - age_us,
                "session": number,
                "virtual_user": users.of(number, t_us),
                "class": "sampler" if own else of_class,
                "event": event or "",
                "table": table or "",
                "blocked_by": -1 if blocker is None else blocker,
                "blocked_by_user": -1 if blocker is None else users.of(blocker, t_us),
            }
            rows.append(row)
    return rows


class _Users:
    """The virtual user of a session at a time: of all connections with its number, the latest before."""

    def __init__(self, connected: Iterable[Mapping[str, Any]]) -> None:
        self._by_number: dict[int, list[tuple[int, int]]] = {}
        for one in sorted(connected, key=lambda line: line["t_us"]):
            self._by_number.setdefault(one["number"], []).append((one["t_us"], one["virtual_user"]))

    def of(self, number: int, t_us: int) -> int:
        found = [user for since_us, user in self._by_number.get(number, ()) if since_us <= t_us]
        return found[-1] if found else -1


def statement_growth(totals: Rows) -> list[dict[str, Any]]:
    """What grew in the window, by statement; none where the server was not read at both edges."""
    if not set(sampler.WINDOW_EDGES) <= {one["edge"] for one in totals}:
        return []
    started = _started(totals)
    (end,) = (one for one in totals if one["edge"] == sampler.WINDOW_EDGES[1])
    found = ({"statement": row[0], "text": row[1], **_grown(row, started)} for row in end["rows"])
    return [one for one in found if one["calls"] > 0]


def statement_courses(totals: Rows) -> list[dict[str, Any]]:
    """What grew from the window's start to each reading within it, by statement; none without such readings."""
    if all(one["edge"] for one in totals):
        return []
    started = _started(totals)
    return [
        {"t_us": one["t_us"], "statement": row[0], **_grown(row, started)} for one in totals for row in one["rows"]
    ]


def _started(totals: Rows) -> dict[str, Sequence[Any]]:
    return {row[0]: row for one in totals if one["edge"] == sampler.WINDOW_EDGES[0] for row in one["rows"]}


def _grown(row: Sequence[Any], started: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """The growth of each total of a statement since the window's start, when a new one had none."""
    before = started.get(row[0], [None] * len(row))
    return {
        name: math.nan if value is None else value - (first or 0.0)
        for name, first, value in zip_longest(STATEMENT_TOTALS, before[2:], row[2:])
    }


def events_once(lines: Rows) -> Rows:
    """The events of the server, each once: it names one again while it is recent, at a time that may vary."""
    times: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        known = times.setdefault((line["kind"], line["text"]), [])
        if all(abs(line["t_us"] - at) > _SAME_US for at in known):
            known.append(line["t_us"])
    return [{"t_us": at, "kind": kind, "text": text} for (kind, text), moments in times.items() for at in moments]


_ROWS: Final[Mapping[str, Callable[[Noted, SourceLines], Rows]]] = {
    "counters": lambda noted, _: noted.samples,
    "load_hosts": lambda _, lines: [line for line in lines if "load_host" in line],
    "host": lambda noted, _: noted.host,
    "host_devices": _devices,
    "server_host": _server_host,
    "clients": _clients,
    "errors": _errors,
    "waits": _waits,
    "slow_plans": lambda _, lines: slowest_plans(lines),
    "statements": lambda _, lines: statement_growth(lines),
    "statement_courses": lambda _, lines: statement_courses(lines),
    "events": lambda _, lines: events_once(lines),
    "switches": lambda _, lines: sorted(lines, key=itemgetter("slice", "virtual_user")),
}
"""By table, how its rows follow from the lines of its sources; others are these lines."""
