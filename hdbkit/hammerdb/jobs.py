"""The jobs that HammerDB stores in a SQLite file (``hammer.DB``): settings, results and time profiles; and its logs.

A result is a line of a job's output (``keys.yaml``), which only timed jobs have. A log (``hammerdb.log``), and a job
as JSON, hold these lines alone: users, minutes and the result.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdbkit.errors import InputError
from hdbkit.hammerdb.reading import ReadCommand, Unclosed, commands
from hdbkit.hammerdb.translating import keys_of, translation
from hdbkit.results.run_result import OperationResult

_MAGIC = b"SQLite format 3\0"
_LOG_HEAD = re.compile(r"Hammerdb Log @ \w{3} (\w{3} +\d{1,2} \d\d:\d\d:\d\d) \S+ (\d{4})", re.IGNORECASE)
_LINES = ("users", "rampup", "duration", "results")
_TIMES = {"mean_us": "avg_ms", "p50_us": "p50_ms", "p95_us": "p95_ms", "p99_us": "p99_ms", "max_us": "max_ms"}


@dataclass(frozen=True)
class HammerJob:
    """One timed job with its result."""

    job_id: str
    started: datetime | None
    """None: a log does not state it."""
    benchmark: str
    settings: tuple[ReadCommand, ...]
    """As a script would give them; settings that this version of hdbkit does not know are left out."""
    virtual_users: int
    value: int
    """Of the workload's metric."""
    tpm: int
    profile_id: int
    host: dict[str, Any] = field(default_factory=dict)
    """``name``, ``processor`` and ``cores`` of the host of its clients, as far as they are known."""
    profiled: dict[str, OperationResult] = field(default_factory=dict)
    """By operation; times include the ramp-up, and quantiles are of a sample of the calls."""
    server_version: str = ""
    version: str = ""
    """Of HammerDB; empty: not stated."""


@dataclass(frozen=True)
class HammerJobs:
    """What a file of jobs holds."""

    timed: list[HammerJob]
    left_out: list[tuple[str, str]]
    """The id of each other job, and why it cannot be imported."""


def is_job_file(path: Path) -> bool:
    """Whether a file is an SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read_jobs(path: Path) -> HammerJobs:
    """The jobs of a file, oldest first; the file is not changed.

    Raises:
        InputError: it cannot be read, or has no table of jobs.
    """
    found = HammerJobs([], [])
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.text_factory = lambda text: text.decode(errors="replace")
            if database.execute("SELECT 1 FROM sqlite_master WHERE type = 'view' AND name LIKE 'job%'").fetchone():
                raise InputError(f"{path} has views in place of tables; their rows may never end")
            for row in database.execute("SELECT * FROM jobmain ORDER BY timestamp, jobid").fetchall():
                try:
                    found.timed.append(_job(database, row))
                except LeftOut as error:
                    found.left_out.append((str(row["jobid"]), str(error)))
    except (sqlite3.Error, IndexError) as error:
        raise InputError(f"{path} cannot be read as a database of jobs: {error}") from None
    return found


def read_log(text: str, name: str) -> HammerJobs:
    """The results in a log of HammerDB, or in a job as JSON, in order; their ids are digests of their lines.

    Raises:
        InputError: it has no result.
    """
    found = HammerJobs([], [])
    lines = _texts(text, name)
    wanted, seen, taken, started = translation()["jobs"], dict[str, str](), list[str](), None
    for line in lines:
        taken.append(line)
        if head := _LOG_HEAD.search(line):
            with suppress(ValueError):  # no day of the calendar
                started = datetime.strptime(f"{head[1]} {head[2]}", "%b %d %H:%M:%S %Y").astimezone(UTC)
        result = None
        for kind in _LINES:
            matched = next(filter(None, (re.search(one, line) for one in wanted[kind])), None)
            seen |= matched.groupdict() if matched else {}
            result = matched if kind == "results" else None
        if result is None:
            continue
        job_id = hashlib.sha256("\n".join(taken).encode(errors="replace")).hexdigest()[:16]
        try:
            found.timed.append(_logged(job_id, started, seen))
        except LeftOut as error:
            found.left_out.append((job_id, str(error)))
        seen, taken = {}, []
    if not found.timed and not found.left_out:
        raise InputError(f"{name} has no result of a timed run of HammerDB, pgbench, sysbench or BenchBase")
    return found


def _texts(text: str, name: str) -> list[str]:
    """The lines of a log; of JSON the texts in it."""
    if not text.lstrip().startswith(("{", "[")):
        return text.splitlines()
    try:
        found, left = [], [json.loads(text)]
    except (ValueError, RecursionError):
        raise InputError(f"{name} is not valid JSON, or nested too deep") from None
    while left:
        one = left.pop()
        if isinstance(one, str):
            found += one.splitlines()
        elif isinstance(one, dict | list):
            left += reversed([*one.values()] if isinstance(one, dict) else one)
    return found


def _logged(job_id: str, started: datetime | None, seen: dict[str, str]) -> HammerJob:
    if "users" not in seen or "duration" not in seen:
        raise LeftOut("the file does not state its virtual users and minutes before its result")
    if not int(seen["value"]):
        raise LeftOut("its result is 0")
    database = database_named(seen["database"])
    prefix = translation()["databases"][database]["prefix"]
    given = {"duration": seen["duration"], "rampup": seen.get("rampup", "0")}
    if "sessions" in seen:
        given |= {"async_scale": "true", "async_client": seen["sessions"]}
    return HammerJob(
        job_id=job_id,
        started=started,
        benchmark="TPC-C",
        settings=(
            ReadCommand(0, "dbset", ("db", database)),
            *(ReadCommand(0, "diset", ("tpcc", f"{prefix}{name}", value)) for name, value in given.items()),
        ),
        virtual_users=int(seen["users"]),
        value=int(seen["value"]),
        tpm=int(seen["tpm"]),
        profile_id=0,
    )


class LeftOut(Exception):
    """Why a job cannot be imported."""


def database_named(title: str) -> str:
    """HammerDB's word for a database, by any of the names that its files have. Raises :class:`LeftOut`."""
    named, databases = title.replace(" ", "").lower(), translation()["databases"]
    if named in databases:
        return named
    found = next((name for name, one in databases.items() if named and one["title"].lower().startswith(named)), "")
    if not (found := found or str(translation()["others"].get(named, ""))):
        raise LeftOut(f"its database '{title[:30]}' is not known")
    return found


def _job(database: sqlite3.Connection, row: sqlite3.Row) -> HammerJob:
    job_id = str(row["jobid"])
    wanted = translation()["jobs"]
    users, result = (_found(database, job_id, wanted[name]) for name in ("users", "results"))
    if not users or not result:
        raise LeftOut("it has no timed result of TPC-C")
    value, tpm = int(result["value"]), int(result["tpm"])
    if not value:
        raise LeftOut("its result is 0")
    return HammerJob(
        job_id=job_id,
        started=time_of(row["timestamp"]),
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


def time_of(text: object) -> datetime:
    """The time of a job's start, stored as the local time of the host that ran it."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise LeftOut(f"its time '{str(text)[:30]}' is not a time") from None


def _profile(row: sqlite3.Row) -> int:
    value = row["profile_id"] if "profile_id" in row.keys() else 0  # noqa: SIM118  (a row is no mapping)
    return value if isinstance(value, int) else 0


def _settings(title: str, content: str) -> Iterator[ReadCommand]:
    """The settings of a job as a script would give them."""
    named = database_named(title)
    yield ReadCommand(0, "dbset", ("db", named))
    for dictionary, inner in _pairs(content):
        if dictionary not in translation()["dictionaries"]:
            continue
        known = keys_of(named, dictionary)
        for key, value in _pairs(inner):
            if key in known:
                yield ReadCommand(0, "diset", (dictionary, key, value))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """The keys and values of a Tcl dictionary, which is a list of words."""
    try:
        words = [word for one in commands(text) for word in one.words]
    except Unclosed:
        raise LeftOut("its settings cannot be read") from None
    for key, value in zip(words[::2], words[1::2], strict=False):
        if key is not None and value is not None:
            yield key, value


def _host(database: sqlite3.Connection, job_id: str) -> dict[str, Any]:
    for row in _rows(database, "SELECT * FROM jobsystem WHERE jobid = ?", job_id):
        known = {"name": row["hostname"], "processor": row["cpumodel"], "cores": row["cpucount"]}
        return {name: value for name, value in known.items() if value}
    return {}


def _profiled(database: sqlite3.Connection, job_id: str) -> dict[str, OperationResult]:
    """The time profile over all virtual users, by operation."""
    found = {}
    for row in _rows(database, "SELECT * FROM jobtiming WHERE jobid = ? AND summary = 1", job_id):
        name = translation()["jobs"]["profiled"].get(str(row["procname"]).upper())
        if name and isinstance(row["calls"], int):
            found[name] = job_times(row["calls"], dict(row))
    return found


def job_times(calls: int, row: Mapping[str, Any]) -> OperationResult:
    """A line of a time profile, of which only some times may be there."""
    known: dict[str, Any] = {us: 1000 * float(row[ms]) for us, ms in _TIMES.items() if _is_time(row.get(ms))}
    return OperationResult(count=calls, committed=None, rolled_back=None, failed=None, retries=None, **known)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def _rows(database: sqlite3.Connection, query: str, job_id: str) -> list[sqlite3.Row]:
    """The rows of a query, none where the file is older than its table."""
    try:
        return database.execute(query, (job_id,)).fetchall()
    except sqlite3.OperationalError:
        return []
