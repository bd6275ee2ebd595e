"""The jobs that HammerDB stores in a SQLite file (``hammer.DB``): settings, results and time profiles.

A result is a line of a job's output (``keys.yaml``), which only timed jobs have.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdbkit.errors import InputError
from hdbkit.hammerdb.reading import Given
from hdbkit.hammerdb.tcl import Unclosed, commands
from hdbkit.hammerdb.translating import keys_of, table

_MAGIC = b"SQLite format 3\0"
_TIMES = ("min", "avg", "max", "p99", "p95", "p50")


@dataclass(frozen=True)
class Profiled:
    """The time profile of one operation over all virtual users: calls, and times in microseconds.

    They include the ramp-up, and quantiles are of a sample of the calls.
    """

    calls: int
    times_us: dict[str, float]
    """Of ``min``, ``avg``, ``max``, ``p50``, ``p95`` and ``p99`` those that are known."""


@dataclass(frozen=True)
class Job:
    """One timed job with its result."""

    job_id: str
    started: datetime
    benchmark: str
    settings: tuple[Given, ...]
    """As a script would give them; settings that this version of hdbkit does not know are left out."""
    virtual_users: int
    value: int
    """Of the workload's metric."""
    tpm: int
    profile_id: int
    host: dict[str, Any] = field(default_factory=dict)
    """``name``, ``processor`` and ``cores`` of the host of its clients, as far as they are known."""
    profiled: dict[str, Profiled] = field(default_factory=dict)


@dataclass(frozen=True)
class Jobs:
    """What a file of jobs holds."""

    timed: list[Job]
    left_out: list[tuple[str, str]]
    """The id of each other job, and why it cannot be imported."""


def is_job_file(path: Path) -> bool:
    """Whether a file is an SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read_jobs(path: Path) -> Jobs:
    """The jobs of a file, oldest first; the file is not changed.

    Raises:
        InputError: it cannot be read, or has no table of jobs.
    """
    found = Jobs([], [])
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.text_factory = lambda text: text.decode(errors="replace")
            for row in database.execute("SELECT * FROM jobmain ORDER BY timestamp, jobid").fetchall():
                try:
                    found.timed.append(_job(database, row))
                except _LeftOut as error:
                    found.left_out.append((str(row["jobid"]), str(error)))
    except (sqlite3.Error, IndexError) as error:
        raise InputError(f"{path} cannot be read as a database of jobs: {error}") from None
    return found


class _LeftOut(Exception):
    """Why a job cannot be imported."""


def _job(database: sqlite3.Connection, row: sqlite3.Row) -> Job:
    job_id = str(row["jobid"])
    wanted = table()["jobs"]
    users, result = (_found(database, job_id, wanted[name]) for name in ("users", "results"))
    if not users or not result:
        raise _LeftOut("it has no timed result of TPC-C")
    value, tpm = int(result["value"]), int(result["tpm"])
    if not value:
        raise _LeftOut("its result is 0")
    return Job(
        job_id=job_id,
        started=_time(row["timestamp"]),
        benchmark=str(row["bm"]),
        settings=tuple(_settings(str(row["db"]), str(row["jobdict"]))),
        virtual_users=int(users["users"]),
        value=value,
        tpm=tpm,
        profile_id=_profile(row),
        host=_host(database, job_id),
        profiled=_profiled(database, job_id),
    )


def _found(database: sqlite3.Connection, job_id: str, patterns: list[str]) -> re.Match[str] | None:
    """The first line of a job's output with one of the patterns; there may be millions that only report errors."""
    lines = database.execute("SELECT output FROM joboutput WHERE jobid = ?", (job_id,))
    found = (re.search(one, str(line["output"])) for line in lines for one in patterns)
    return next(filter(None, found), None)


def _time(text: object) -> datetime:
    """The time of a job's start, stored as the local time of the host that ran it."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise _LeftOut(f"its time '{str(text)[:30]}' is not a time") from None


def _profile(row: sqlite3.Row) -> int:
    value = row["profile_id"] if "profile_id" in row.keys() else 0  # noqa: SIM118  (a row is no mapping)
    return value if isinstance(value, int) else 0


def _settings(title: str, content: str) -> Iterator[Given]:
    """The settings of a job as a script would give them."""
    databases = table()["databases"]
    named = next((name for name, one in databases.items() if one["title"].lower() == title.lower()), None)
    if named is None:
        raise _LeftOut(f"its database '{title[:30]}' is not known")
    yield Given(0, "dbset", ("db", named))
    for dictionary, inner in _pairs(content):
        if dictionary not in table()["dictionaries"]:
            continue
        known = keys_of(named, dictionary)
        for key, value in _pairs(inner):
            if key in known:
                yield Given(0, "diset", (dictionary, key, value))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """The keys and values of a Tcl dictionary, which is a list of words."""
    try:
        words = [word for one in commands(text) for word in one.words]
    except Unclosed:
        raise _LeftOut("its settings cannot be read") from None
    for key, value in zip(words[::2], words[1::2], strict=False):
        if key is not None and value is not None:
            yield key, value


def _host(database: sqlite3.Connection, job_id: str) -> dict[str, Any]:
    for row in _rows(database, "SELECT * FROM jobsystem WHERE jobid = ?", job_id):
        known = {"name": row["hostname"], "processor": row["cpumodel"], "cores": row["cpucount"]}
        return {name: value for name, value in known.items() if value}
    return {}


def _profiled(database: sqlite3.Connection, job_id: str) -> dict[str, Profiled]:
    """The time profile over all virtual users, by operation."""
    found = {}
    for row in _rows(database, "SELECT * FROM jobtiming WHERE jobid = ? AND summary = 1", job_id):
        name = table()["jobs"]["profiled"].get(str(row["procname"]).upper())
        if name and isinstance(row["calls"], int):
            times = {time: row[f"{time}_ms"] for time in _TIMES}
            known = {time: 1000 * float(ms) for time, ms in times.items() if _is_time(ms)}
            found[name] = Profiled(row["calls"], known)
    return found


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def _rows(database: sqlite3.Connection, query: str, job_id: str) -> list[sqlite3.Row]:
    """The rows of a query, none where the file is older than its table."""
    try:
        return database.execute(query, (job_id,)).fetchall()
    except sqlite3.OperationalError:
        return []
