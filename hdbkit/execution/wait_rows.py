"""The rows of the table ``waits``, from the samples and from what clients noted of their sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hdbkit.execution.load_hosts import ClientFiles, lines_of
from hdbkit.execution.waits import FILE, PATTERN
from hdbkit.results.writer import read_lines


def rows(files: Sequence[ClientFiles], spools: Path, start_ns: int) -> Iterator[dict[str, Any]]:
    """The rows of the table ``waits``; a sample has at least one row, that of the session that asked."""
    users = _Users(lines_of(files, PATTERN, ["t_ns"]))
    for line in read_lines(spools / FILE):
        t_ns = line["sent_ns"]
        for number, of_class, event, table, blocker, own in line["rows"]:
            yield {
                "t_us": (t_ns - start_ns) // 1000,
                "session": number,
                "virtual_user": users.of(number, t_ns),
                "class": "sampler" if own else of_class,
                "event": event or "",
                "table": table or "",
                "blocked_by": -1 if blocker is None else blocker,
                "blocked_by_user": -1 if blocker is None else users.of(blocker, t_ns),
            }


class _Users:
    """The virtual user of a session at a time: of all connections with its number, the latest before."""

    def __init__(self, connected: Iterable[Mapping[str, Any]]) -> None:
        self._by_number: dict[int, list[tuple[int, int]]] = {}
        for one in sorted(connected, key=lambda line: line["t_ns"]):
            self._by_number.setdefault(one["number"], []).append((one["t_ns"], one["virtual_user"]))

    def of(self, number: int, t_ns: int) -> int:
        found = [user for since_ns, user in self._by_number.get(number, ()) if since_ns <= t_ns]
        return found[-1] if found else -1
