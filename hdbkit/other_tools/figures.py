"""What is common to the files of other tools: the figures of a run, and how numbers are found in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from hdbkit.analysis.run.quantiles import supported
from hdbkit.later import pandas as pd
from hdbkit.results.run_result import ClientUse, Latencies, OperationResult, RunResult

MAX_OPERATIONS = 128
MAX_NAME = 80
MAX_SECONDS = 1e9
_QUANTILES = {"p50_us": 0.5, "p90_us": 0.9, "p95_us": 0.95, "p99_us": 0.99, "p999_us": 0.999, "max_us": 1.0}


def quantiles_in(times_us: pd.Series[float]) -> dict[str, float]:
    """The maximum, and the quantiles beyond which enough operations lie, as in runs of our own."""
    known = {name: share for name, share in _QUANTILES.items() if share == 1 or supported(len(times_us), share)}
    return {name: float(times_us.quantile(share)) for name, share in known.items()}


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
    remarks: tuple[str, ...] = ()
    """What a reader of the figures must know of how the file states them."""


class Unreadable(Exception):
    """Why a part of a file is not a run."""


Reader = Callable[[], Measured]
"""Reads one run. Raises :class:`Unreadable`."""


def unused_name(title: str, taken: Collection[str]) -> str:
    """A name for an operation."""
    name = " ".join(title.strip("<>").split())[:MAX_NAME] or "transaction"
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def text_in(text: str, pattern: str) -> str:
    """The first group of a pattern; empty if it is not there."""
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


def number_in_output(text: str, pattern: str) -> float | None:
    """A number that is not negative, with a point or a comma before its decimals; None: there is none."""
    try:
        return float(text_in(text, pattern).replace(",", "."))
    except ValueError:
        return None


def operation_of(count: float, times_us: dict[str, float], is_paced: bool) -> OperationResult:
    """An operation; of a paced one the times are response times."""
    unknown = {"count": int(count), **dict.fromkeys(("committed", "rolled_back", "failed", "retries"))}
    times = {"response": Latencies(**times_us)} if is_paced else times_us
    return OperationResult.model_validate({**unknown, **times})


def figures_result(
    value: float, window_s: float, operations: dict[str, OperationResult], **known: float | None
) -> RunResult:
    """The result of a run of another tool; what its file does not state is None."""
    names = ("engine_tpm", "completed", "failed", "retries", "operations_per_s", "host_cpu_pct", "littles_law")
    costs = ("client_cpu_us_per_operation", "server_cpu_us_per_operation")
    unknown = dict.fromkeys((*names, *costs))
    figures = {"metric_value": value, "window_s": window_s, "operations": operations, "errors": {}, "counters": {}}
    return RunResult.model_validate({**unknown, **figures, "per_operation": ClientUse(), **known})


def figures_of(
    rate: float,
    window_s: float,
    done: float,
    failed: float | None,
    retries: float | None,
    operations: dict[str, OperationResult],
) -> RunResult:
    """The result of a run whose metric is its rate."""
    counts = {"completed": done, "failed": failed, "retries": retries}
    known = {name: None if count is None else int(count) for name, count in counts.items()}
    return figures_result(rate, window_s, operations, operations_per_s=rate, **known)
