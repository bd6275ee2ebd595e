"""What pgbench, sysbench and BenchBase wrote about a run of theirs, read as figures of hdbkit.

A figure that a file does not state is None. A file may come from anybody: its size is limited, and of the logs of
pgbench's threads only regular files of the same folder are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pandas as pd

from hdbkit.errors import InputError
from hdbkit.results.run_result import ClientUse, Latencies, OperationResult, RunResult

MAX_BYTES = 64 << 20
_MAX_OPERATIONS = 128
_MAX_NAME = 80
_MAX_SECONDS = 1e9
_LOGGED = re.compile(rb"\d+ \d+ (\d+|failed|skipped|serialization|deadlock) \d+ \d{9,} \d{1,6}( \d+){0,2}\s")
_COLUMNS = ["client", "number", "time_us", "script", "second", "microsecond", "lag_or_retries", "retries"]
_QUANTILES = {"p50_us": 0.5, "p90_us": 0.9, "p95_us": 0.95, "p99_us": 0.99, "p999_us": 0.999, "max_us": 1.0}
_LATENCIES = {
    "mean_us": "Average Latency",
    "p50_us": "Median Latency",
    "max_us": "Maximum Latency",
    **{f"p{level}_us": f"{level}th Percentile Latency" for level in (90, 95, 99)},
}


@dataclass(frozen=True)
class Measured:
    """One run of another tool. A text that the file does not state is empty."""

    tool: str
    version: str
    database: str
    """As the tool names it."""
    server_version: str
    started: datetime | None
    users: int
    result: RunResult
    scale: str
    unit: str = "TPS"
    is_paced: bool = False
    """Its times begin at a scheduled start."""


class Unreadable(Exception):
    """Why a part of a file is not a run."""


Reader = Callable[[], Measured]


def content_of(path: Path) -> bytes:
    """The content of a regular file. Raises ``InputError`` if there is none, or it is larger than the maximum."""
    try:
        if not path.is_file():  # reading a pipe or a device may never end
            raise InputError(f"{path} is not a regular file, or there is none")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{path} is larger than {MAX_BYTES >> 20} MB, the maximum")
    return content


def measured_in(path: Path, content: bytes) -> list[tuple[bytes, Reader]]:
    """Each run in a file: its own bytes, and what reads it; none if the file is of none of the three tools.

    A reader raises :class:`Unreadable` for a run that lacks what every result needs.
    """
    if _LOGGED.match(content):
        logged = _logs_of_threads(path, content)
        return [(logged, lambda: _of_client_logs(logged))]
    text = content.decode(errors="replace")
    if text.lstrip().startswith("{") and '"Latency Distribution"' in text:
        return [(content, lambda: _of_benchbase(text))]
    for head, read in (
        (r"^pgbench \(", _of_pgbench),
        (r"^transaction type: ", _of_pgbench),
        (r"^sysbench \d", _of_sysbench),
    ):
        starts = [one.start() for one in re.finditer(head, text, re.MULTILINE)]
        if starts:
            parts = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
            return [(part.encode(), _reader(read, part)) for part in parts]
    return []


def _reader(read: Callable[[str], Measured], part: str) -> Reader:
    return lambda: read(part)


def _of_pgbench(text: str) -> Measured:
    """What pgbench prints at its end."""
    head, *scripts = re.split(r"^SQL script \d+: ", text, flags=re.MULTILINE)
    rate, users = _number(head, r"^tps = ([\d.]+)"), _number(head, r"^number of clients: (\d+)")
    done, lag = _number(head, r"actually processed: (\d+)"), _number(head, r"^rate limit schedule lag: avg ([\d.]+)")
    if not rate or not users or not done:
        raise Unreadable("it lacks the clients, transactions or TPS of pgbench")
    name = _text(head, r"^transaction type: (.+)$")
    parts = [(one.partition("\n")[0], one) for one in scripts] if len(scripts) > 1 else [(name, head)]
    operations: dict[str, OperationResult] = {}
    for title, part in parts[:_MAX_OPERATIONS]:
        count = _number(part, r"^ - (\d+) transactions") if len(parts) > 1 else done
        mean_ms = _number(part, r"latency average = ([\d.]+)")
        times = {} if mean_ms is None else {"mean_us": 1000 * mean_ms}
        operations[_unused(title, operations)] = _operation(count or 0, times, lag is not None)
    return Measured(
        tool="pgbench",
        version=(version := _text(head, r"^pgbench \(([\w.]+)")),
        database="pgbench",
        server_version=_text(head, r"^pgbench .*, server ([\w.]+)") or version,
        started=None,
        users=int(users),
        result=_result(
            rate,
            done / rate,
            done,
            failed=_number(head, r"^number of failed transactions: (\d+)"),
            retries=_number(head, r"^total number of retries: (\d+)"),
            operations=operations,
        ),
        scale=_text(head, r"^(scaling factor: \w+)$"),
        is_paced=lag is not None,
    )


def _logs_of_threads(path: Path, content: bytes) -> bytes:
    """The log of a thread of pgbench with those of the other threads: regular files beside it, of the same name."""
    first = re.sub(r"(\.\d+)\.\d+$", r"\1", path.name)
    beside = [path.with_name(first), *(path.with_name(f"{first}.{number}") for number in range(1, 1025))]
    found = [content]
    for one in beside:
        if one.name != path.name and not one.is_symlink() and one.is_file():
            found.append(content_of(one))
    if sum(map(len, found)) > MAX_BYTES:
        raise InputError(f"the logs of {first} are larger than {MAX_BYTES >> 20} MB together, the maximum")
    return b"".join(sorted(found))


def _of_client_logs(content: bytes) -> Measured:
    """pgbench's log of each transaction (``--log``): exact times."""
    try:
        rows = pd.read_csv(
            BytesIO(content), sep=" ", header=None, names=_COLUMNS, dtype={"time_us": str}, low_memory=False
        )
        took_us = pd.to_numeric(rows["time_us"], errors="coerce")
        ended_us = 1_000_000 * rows["second"].astype("int64") + rows["microsecond"].astype("int64")
    except (ValueError, OverflowError):
        raise Unreadable("it is not a log of pgbench's transactions") from None
    paced, done = bool(rows["retries"].notna().all()), took_us >= 0
    if rows["lag_or_retries"].notna().any() and not paced:
        raise Unreadable("its last column may be a lag or a number of retries; import what pgbench printed instead")
    started_us = (ended_us[done] - took_us[done]).min() if done.any() else 0
    window_s = float(ended_us[done].max() - started_us) / 1e6 if done.any() else 0.0
    if not 0 < window_s < _MAX_SECONDS:
        raise Unreadable("it has no completed transaction, or its times are not possible")
    operations = {}
    for script, times in list(took_us[done].groupby(rows["script"][done]))[:_MAX_OPERATIONS]:
        quantiles = {name: float(times.quantile(level)) for name, level in _QUANTILES.items()}
        operations[f"script {str(script)[:_MAX_NAME]}"] = _operation(
            len(times), {"mean_us": float(times.mean()), **quantiles}, paced
        )
    return Measured(
        tool="pgbench",
        version="",
        database="pgbench",
        server_version="",
        started=datetime.fromtimestamp(float(started_us) / 1e6, UTC),
        users=int(rows["client"].nunique()),
        result=_result(
            float(done.sum()) / window_s,
            window_s,
            float(done.sum()),
            failed=float((~done & (rows["time_us"] != "skipped")).sum()),
            retries=float(rows["retries"].sum()) if paced else None,
            operations=operations,
        ),
        scale="",
        is_paced=paced,
    )


def _of_sysbench(text: str) -> Measured:
    """What sysbench prints at the end of a test of a database."""
    users, window_s = _number(text, r"^Number of threads: (\d+)"), _number(text, r"total time: +([\d.]+)s")
    done, rate = _number(text, r"transactions: +(\d+) "), _number(text, r"transactions: +\d+ +\(([\d.]+) per sec")
    if not users or not window_s or not done or not rate:
        raise Unreadable("it lacks the threads, transactions or time of a test of a database")
    named = {"mean_us": "avg", "max_us": "max", **{f"p{level}_us": f"{level}th percentile" for level in (90, 95, 99)}}
    found = {name: _number(text, rf"^ +{words}: +([\d.]+)$") for name, words in named.items()}
    times = {name: 1000 * value for name, value in found.items() if value}  # a percentile that was not asked for is 0
    return Measured(
        tool="sysbench",
        version=_text(text, r"^sysbench ([\w.]+)"),
        database="",
        server_version="",
        started=None,
        users=int(users),
        result=_result(
            rate,
            window_s,
            done,
            failed=None,
            retries=None,
            operations={"transaction": _operation(done, times, False)},
        ),
        scale="",
    )


def _of_benchbase(text: str) -> Measured:
    """The file ``*.summary.json`` of BenchBase."""
    try:
        found = json.loads(text)
        times = found["Latency Distribution"]
        rate, users = float(found["Throughput (requests/second)"]), int(found["terminals"])
        window_s, ended_s = (
            found["Elapsed Time (nanoseconds)"] / 1e9,
            found["Current Timestamp (milliseconds)"] / 1000,
        )
        latencies = {
            name: float(times[key])
            for name, words in _LATENCIES.items()
            if (key := f"{words} (microseconds)") in times
        }
        done = float(found["Measured Requests"])
        started = datetime.fromtimestamp(ended_s - window_s, UTC)
        json.dumps(found, ensure_ascii=False).encode()  # half a pair of surrogates can be written nowhere
        if min(rate, window_s, done, *latencies.values()) < 0:
            raise ValueError
    except (ValueError, KeyError, TypeError, OverflowError, OSError, RecursionError):
        raise Unreadable("it is not a summary of BenchBase, or lacks its throughput, terminals or times") from None
    return Measured(
        tool="BenchBase",
        version="",
        database=str(found.get("DBMS Type", ""))[:_MAX_NAME].lower(),
        server_version=str(found.get("DBMS Version", ""))[:_MAX_NAME],
        started=started,
        users=users,
        result=_result(
            rate,
            window_s,
            done,
            None,
            None,
            {_unused(str(found.get("Benchmark Type", "")), {}): _operation(done, latencies, False)},
        ),
        scale=f"scalefactor {found['scalefactor']}"[:_MAX_NAME] if "scalefactor" in found else "",
        unit="requests/s",
    )


def _unused(title: str, taken: Collection[str]) -> str:
    """A name for an operation."""
    name = " ".join(title.strip("<>").split())[:_MAX_NAME] or "transaction"
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def _text(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


def _number(text: str, pattern: str) -> float | None:
    """A number that is not negative; None: there is none."""
    try:
        return float(_text(text, pattern))
    except ValueError:
        return None


def _operation(count: float, times_us: dict[str, float], is_paced: bool) -> OperationResult:
    unknown = {"count": int(count), **dict.fromkeys(("committed", "rolled_back", "failed", "retries"))}
    times = {"response": Latencies(**times_us)} if is_paced else times_us
    return OperationResult.model_validate({**unknown, **times})


def result_of(
    value: float, window_s: float, operations: dict[str, OperationResult], **known: float | None
) -> RunResult:
    """The result of a run of another tool; what its file does not state is None."""
    names = ("engine_tpm", "completed", "failed", "retries", "operations_per_s", "host_cpu_pct", "littles_law")
    costs = ("client_cpu_us_per_operation", "server_cpu_us_per_operation")
    unknown = dict.fromkeys((*names, *costs))
    figures = {"metric_value": value, "window_s": window_s, "operations": operations, "errors": {}, "counters": {}}
    return RunResult.model_validate({**unknown, **figures, "per_operation": ClientUse(), **known})


def _result(
    rate: float,
    window_s: float,
    done: float,
    failed: float | None,
    retries: float | None,
    operations: dict[str, OperationResult],
) -> RunResult:
    counts = {"completed": done, "failed": failed, "retries": retries}
    known = {name: None if count is None else int(count) for name, count in counts.items()}
    return result_of(rate, window_s, operations, operations_per_s=rate, **known)
