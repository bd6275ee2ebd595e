"""What pgbench prints at its end (versions 9.0 to 18), and its log of each transaction (``--log``).

What it prints is read by its form, not by its words, which may be in another language: behind the line whose value is
the query mode follow clients, threads, and the number of processed transactions.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from hdbkit.errors import InputError
from hdbkit.later import pandas as pd
from hdbkit.other_tools.figures import (
    MAX_NAME,
    MAX_OPERATIONS,
    MAX_SECONDS,
    Measured,
    Unreadable,
    figures_of,
    number_in_output,
    operation_of,
    quantiles_in,
    text_in,
    unused_name,
)
from hdbkit.other_tools.files import MAX_BYTES, beside
from hdbkit.results.run_result import OperationResult

_COLON = "[:\uff1a]"
"""Also as Chinese and Japanese write it."""
_MODE = rf"{_COLON}[ \t]*(?:simple|extended|prepared)[ \t]*$"
PGBENCH_HEADS = (
    r"^pgbench \(",
    r"^transaction type: ",
    rf"^(?:[^\n:\uff1a]++{_COLON}[^\n]*+\n){{2,4}}[^\n:\uff1a]++{_MODE}",
)
"""How a run begins: with its version (14 and later), with its first line, or with that in another language."""
PGBENCH_LOGGED = re.compile(
    rb"\d+ \d+ (\d+(\.\d+)?|failed|skipped|serialization|deadlock|other) \d+ \d{9,} \d{1,6}( \d+){0,2}\s"
)
AGGREGATED = re.compile(rb"\d{9,11}( \d+){5,16}\s")
"""A line of a log of aggregates (``aggregate-interval``): the start of an interval, and at least count and sums."""
_COLUMNS = ["client", "number", "time_us", "script", "second", "microsecond", "lag_or_retries", "retries"]
_VALUE = r"([\d.,]+)"
_PROCESSED = re.compile(
    rf"{_COLON}[ \t]*(\d+)/\d+[ \t]*$|{_COLON}[ \t]*\d+ s[ \t]*\n[^\n]*{_COLON}[ \t]*(\d+)[ \t]*$"
    r"|actually processed: (\d+)$",
    re.MULTILINE,
)
_MIN_LAG_US = 10
"""More than nearly all retries of a transaction, and less than nearly all lags."""
_MAX_THREADS = 1024


def pgbench_result(text: str) -> Measured:
    """What pgbench prints at its end."""
    head, *scripts = re.split(r"^SQL script \d+: ", text, flags=re.MULTILINE)
    mode = re.search(_MODE, head, re.MULTILINE)
    body = head[mode.end() :] if mode else head
    processed = _PROCESSED.search(body)
    users = number_in_output(body, rf"{_COLON}[ \t]*(\d+)[ \t]*$")
    rates = re.findall(rf"^tps = {_VALUE}", body, re.MULTILINE)
    done = float(next(filter(None, processed.groups()))) if processed else None
    rate = number_in_output(f"{rates[-1]}\n", rf"^{_VALUE}$") if rates else None  # of two, the one without connecting
    if not rate or not users or not done or processed is None:
        raise Unreadable("it lacks the clients, transactions or TPS of pgbench")
    rest = body[processed.end() :]
    paced = re.search(rf"{_COLON} \S+ {_VALUE} \(\S+ {_VALUE}\) ms$", rest, re.MULTILINE) is not None
    name = text_in(text, r"^transaction type: (.+)$") or text_in(head, r"(<builtin: [^>\n]+>)")
    parts = [(one.partition("\n")[0], one) for one in scripts] if len(scripts) > 1 else [(name, rest)]
    operations: dict[str, OperationResult] = {}
    for title, part in parts[:MAX_OPERATIONS]:
        count = number_in_output(part, r"^ - (\d+) transactions") if len(parts) > 1 else done
        mean_ms = number_in_output(part, rf"(?:=|{_COLON}) {_VALUE} ms\b")
        times = {} if mean_ms is None else {"mean_us": 1000 * mean_ms}
        operations[unused_name(title, operations)] = operation_of(count or 0, times, paced)
    with_failed = "(including failures)" in rest
    return Measured(
        tool="pgbench",
        version=(version := text_in(text, r"^pgbench \(([\w.]+)")),
        database="pgbench",
        server_version=text_in(text, r"^pgbench .*, server ([\w.]+)") or version,
        started=None,
        users=int(users),
        result=figures_of(
            rate,
            done / rate,
            done,
            failed=number_in_output(rest, rf"\A\n[^\n]*{_COLON}[ \t]*(\d+) \([\d.,]+"),
            retries=number_in_output(rest, r"^total number of retries: (\d+)"),
            operations=operations,
        ),
        scale=text_in(text, r"^(scaling factor: \w+)$"),
        is_paced=paced,
        remarks=("the mean latency includes failed transactions",) if with_failed else (),
    )


def of_aggregates() -> Measured:
    """No run: a log of aggregates has neither clients nor single times."""
    raise Unreadable(
        "a log of aggregates (aggregate-interval) states no clients and no single times; import what pgbench "
        "printed, or a log without them"
    )


def logs_of_threads(path: Path, content: bytes) -> bytes:
    """The log of a thread with those of the other threads: regular files beside it, of the same name."""
    first = re.sub(r"(\.\d+)\.\d+$", r"\1", path.name)
    names = [first, *(f"{first}.{number}" for number in range(1, _MAX_THREADS + 1))]
    others = [beside(path, name) for name in names if name != path.name]
    contents = [content, *(one for one in others if one is not None)]
    if sum(map(len, contents)) > MAX_BYTES:
        raise InputError(f"the logs of {first} are larger than {MAX_BYTES >> 20} MB together, the maximum")
    return b"".join(sorted(contents))


def of_client_logs(content: bytes) -> Measured:
    """The log of each transaction: exact times; a sample of the transactions is scaled."""
    try:
        rows = pd.read_csv(
            BytesIO(content), sep=" ", header=None, names=_COLUMNS, dtype={"time_us": str}, low_memory=False
        )
        took_us = pd.to_numeric(rows["time_us"], errors="coerce")
        ended_us = 1_000_000 * rows["second"].astype("int64") + rows["microsecond"].astype("int64")
        share = _share_logged(rows)
    except (ValueError, OverflowError, TypeError):
        raise Unreadable("it is not a log of pgbench's transactions") from None
    lags, retries = _last_columns(rows)
    done = took_us >= 0
    started_us = (ended_us[done] - took_us[done]).min() if done.any() else 0
    window_s = float(ended_us[done].max() - started_us) / 1e6 if done.any() else 0.0
    if not 0 < window_s < MAX_SECONDS:
        raise Unreadable("it has no completed transaction, or its times are not possible")
    operations = {}
    for script, times in list(took_us[done].groupby(rows["script"][done]))[:MAX_OPERATIONS]:
        quantiles = quantiles_in(times)
        operations[f"script {str(script)[:MAX_NAME]}"] = operation_of(
            round(len(times) / share), {"mean_us": float(times.mean()), **quantiles}, lags
        )
    completed = float(done.sum()) / share
    return Measured(
        tool="pgbench",
        version="",
        database="pgbench",
        server_version="",
        started=datetime.fromtimestamp(float(started_us) / 1e6, UTC),
        users=int(rows["client"].nunique()),
        result=figures_of(
            completed / window_s,
            window_s,
            round(completed),
            failed=round(float((~done & (rows["time_us"] != "skipped")).sum()) / share),
            retries=None if retries is None else round(retries / share),
            operations=operations,
        ),
        scale="",
        is_paced=lags,
        remarks=() if share == 1 else (_sampled(len(rows), share),),
    )


def _share_logged(rows: pd.DataFrame) -> float:
    """The share of the transactions that the log has: pgbench numbers those of each client, and logs some."""
    numbers = rows.groupby("client")["number"]
    there = int((numbers.max() - numbers.min() + 1).sum())
    return min(1.0, len(rows) / there)


def _sampled(logged: int, share: float) -> str:
    return (
        f"the log has {logged:,} of about {round(logged / share):,} transactions (sampling-rate of pgbench): counts "
        "and TPS are scaled, times are those of the sample"
    )


def _last_columns(rows: pd.DataFrame) -> tuple[bool, float | None]:
    """Whether the log has the lag of a rate, and the number of retries, if it has that.

    A single column is either, which its values show. Raises :class:`Unreadable` if they do not.
    """
    if rows["retries"].notna().all():
        return True, float(rows["retries"].sum())
    if rows["lag_or_retries"].isna().all():
        return False, None
    values = pd.to_numeric(rows["lag_or_retries"], errors="coerce")
    if values.max() < _MIN_LAG_US:
        return False, float(values.sum())
    if values.median() >= _MIN_LAG_US:
        return True, None
    raise Unreadable("its last column may be a lag or a number of retries; import what pgbench printed instead")
