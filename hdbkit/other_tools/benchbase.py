"""What BenchBase writes: its summary (``*.summary.json``), and its list of all requests (``*.raw.csv``).

The summaries of 2022 state neither the length nor the number of requests; the samples that BenchBase writes beside
one (``*.samples.csv``) do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from hdbkit.later import pandas as pd
from hdbkit.other_tools.figures import (
    MAX_NAME,
    MAX_OPERATIONS,
    MAX_SECONDS,
    Measured,
    Unreadable,
    figures_of,
    operation_of,
    quantiles_in,
    unused_name,
)
from hdbkit.other_tools.files import beside
from hdbkit.results.run_result import OperationResult

RAW = b"Transaction Type Index,"
SAMPLES = b"Time (seconds),"
_SUMMARY = ".summary.json"
_LATENCIES = {
    "mean_us": "Average Latency",
    "p50_us": "Median Latency",
    "max_us": "Maximum Latency",
    **{f"p{level}_us": f"{level}th Percentile Latency" for level in (90, 95, 99)},
}
_NAME, _START_S, _LATENCY_US, _WORKER = (
    *("Transaction Name", "Start Time (microseconds)"),
    *("Latency (microseconds)", "Worker Id (start number)"),
)
"""Columns of the list of requests; the start is in seconds, whatever its name says."""


def of_summary(text: str, path: Path) -> Measured:
    """The file ``*.summary.json`` at ``path``; a field that is null is unknown."""
    try:
        known = {name: value for name, value in json.loads(text).items() if value is not None}
        times = known["Latency Distribution"]
        rate, users = float(known["Throughput (requests/second)"]), int(known["terminals"])
        ended_s = known["Current Timestamp (milliseconds)"] / 1000
        latencies = {
            name: float(times[key])
            for name, words in _LATENCIES.items()
            if times.get(key := f"{words} (microseconds)") is not None
        }
        window_s, done = _extent(known, path)
        started = datetime.fromtimestamp(ended_s - window_s, UTC)
        json.dumps(known, ensure_ascii=False).encode()  # half a pair of surrogates can be written nowhere
        if min(rate, window_s, done, *latencies.values()) < 0:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError, RecursionError):
        raise Unreadable("it is not a summary of BenchBase, or lacks its throughput, terminals or times") from None
    return Measured(
        tool="BenchBase",
        version="",
        database=str(known.get("DBMS Type", ""))[:MAX_NAME].lower(),
        server_version=str(known.get("DBMS Version", ""))[:MAX_NAME],
        started=started,
        users=users,
        result=figures_of(
            rate,
            window_s,
            done,
            None,
            None,
            {unused_name(str(known.get("Benchmark Type", "")), {}): operation_of(done, latencies, False)},
        ),
        scale=f"scalefactor {known['scalefactor']}"[:MAX_NAME] if "scalefactor" in known else "",
        unit="requests/s",
    )


def _extent(known: Mapping[str, Any], path: Path) -> tuple[float, float]:
    """The length in seconds and the number of requests. Raises :class:`Unreadable` if they are stated nowhere."""
    if "Elapsed Time (nanoseconds)" in known and "Measured Requests" in known:
        return known["Elapsed Time (nanoseconds)"] / 1e9, float(known["Measured Requests"])
    stem = path.name.removesuffix(_SUMMARY)
    samples = beside(path, f"{stem}.samples.csv") if path.name.endswith(_SUMMARY) else None
    if samples is None or not samples.startswith(SAMPLES):
        raise Unreadable(
            "it states no length, as BenchBase wrote it in 2022; put its *.samples.csv beside it under the same "
            "name, or import its *.raw.csv"
        )
    rows = pd.read_csv(BytesIO(samples))
    seconds = rows["Time (seconds)"]
    step_s = float(seconds.iloc[1] - seconds.iloc[0]) if len(rows) > 1 else 1.0
    return len(rows) * step_s, float(rows["Requests"].sum())


def of_requests(content: bytes) -> Measured:
    """The file ``*.raw.csv``: exact times of each request of the measured phases."""
    try:
        rows = pd.read_csv(BytesIO(content), usecols=[_NAME, _START_S, _LATENCY_US, _WORKER])
        starts_s, took_us = rows[_START_S].astype(float), rows[_LATENCY_US].astype(float)
        window_s = float((starts_s + took_us / 1e6).max() - starts_s.min())
        started = datetime.fromtimestamp(float(starts_s.min()), UTC)
        if not 0 < window_s < MAX_SECONDS or took_us.min() < 0:
            raise ValueError
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        raise Unreadable("it is not a list of BenchBase's requests, or its times are not possible") from None
    operations: dict[str, OperationResult] = {}
    for name, times in list(took_us.groupby(rows[_NAME]))[:MAX_OPERATIONS]:
        quantiles = quantiles_in(times)
        operations[unused_name(str(name), operations)] = operation_of(
            len(times), {"mean_us": float(times.mean()), **quantiles}, False
        )
    return Measured(
        tool="BenchBase",
        version="",
        database="",
        server_version="",
        started=started,
        users=int(rows[_WORKER].nunique()),
        result=figures_of(len(rows) / window_s, window_s, len(rows), None, None, operations),
        scale="",
        unit="requests/s",
        remarks=("the list of requests states neither the database nor failed requests",),
    )


def of_samples() -> Measured:
    """No run: samples have a line per second."""
    raise Unreadable(
        "it has a line per second; import the *.summary.json or the *.raw.csv that BenchBase wrote with it"
    )
