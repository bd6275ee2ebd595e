"""Exact quantiles of latencies.

Latencies are whole microseconds. Those of a whole window are first counted by value, and the quantiles read off the
counts: exact, and as lean as there are different values. Those of each second are selected, since in one second
nearly every value is a different one. A quantile here is a latency that was seen: the smallest that at
least that share of the operations did not exceed. Failed operations are left out: they did no work, and a timeout
is no latency.

A quantile is left out where fewer than ``BEYOND`` operations lie beyond it: the 95 % quantile needs 200 operations,
the 99 % quantile 1,000. With fewer it is one of the largest values, and the same one for several quantiles.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from hdbkit.analysis.run.records import Window, operations_of, row_count
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder

if TYPE_CHECKING:
    import numpy.typing as npt

QUANTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
SECOND_QUANTILES: Mapping[str, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_ROUNDING = 1e-9
SERVICE_US = "latency_us"
RESPONSE_US = "latency_us + wait_us"
TIME_COLUMNS: Mapping[str, str] = {"service": SERVICE_US, "response": RESPONSE_US}
"""Each kind of time, from the start and from the scheduled start of an operation to its end."""
BEYOND = 10
"""The least number of operations beyond a quantile."""
ROWS_AT_A_TIME = 12_500_000
"""A long run is read in slices of about this many rows, so that memory does not grow with its length."""


def counts(folder: RunFolder, window: Window, latency: str = SERVICE_US, ends_us: Sequence[int] = ()) -> pd.DataFrame:
    """How often each latency was seen: part, operation, outcome, error_class, latency_us, n, retries; sorted.

    ``ends_us`` divides the window at times since the run's start, in order: ``part`` counts from 0, and a part ends
    before its time.
    """
    part = " + ".join(f"(t_end_us >= {end_us})::INTEGER" for end_us in ends_us) or "0"
    with operations_of(folder, window) as rows:
        seen = rows.aggregate(
            f"{part} AS part, operation, outcome, error_class, {latency} AS latency_us, "
            "count(*)::BIGINT AS n, sum(retries)::BIGINT AS retries",
            f"part, operation, outcome, error_class, {latency}",
        ).fetchnumpy()
    keys = ("part", "operation", "outcome", "error_class", "latency_us")
    order = np.lexsort([seen[key] for key in reversed(keys)])
    return pd.DataFrame({name: values[order] for name, values in seen.items()})


def by_second(folder: RunFolder, window: Window, step_s: int = 1, latency: str = SERVICE_US) -> pd.DataFrame:
    """Each second of the window and operation: second, operation, n, p50_us, p95_us, p99_us, max_us.

    ``second`` counts from the window's start. With ``step_s`` each row covers this many seconds and ``second`` is
    their first; a last, incomplete step is left out.
    """
    whole = int(window.duration_s) // step_s
    step = max(1, min(whole, whole * ROWS_AT_A_TIME // max(1, row_count(folder))))
    parts = [
        _slice(folder, window, step_s, range(at, min(at + step, whole)), latency) for at in range(0, whole, step)
    ]
    columns = ["second", "operation", "n", *(f"{name}_us" for name in SECOND_QUANTILES), "max_us"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _slice(folder: RunFolder, window: Window, step_s: int, steps: range, latency: str) -> pd.DataFrame:
    step_us = step_s * 1_000_000
    part = Window(window.start_us + steps.start * step_us, window.start_us + steps.stop * step_us)
    second = f"((t_end_us - {window.start_us}) // {step_us} * {step_s})::INTEGER"
    selected = f"quantile_disc({latency}, {list(SECOND_QUANTILES.values())})"
    with operations_of(folder, part) as rows:
        found: pd.DataFrame = (
            rows.filter(f"outcome <> {Outcome.FAILED.value}")
            .aggregate(
                f"{second} AS second, operation, count(*)::BIGINT AS n, {selected} AS q, max({latency}) AS max_us",
                f"{second}, operation",
            )
            .project(
                "second, operation, n, "
                + ", ".join(f"q[{at}] AS {name}_us" for at, name in enumerate(SECOND_QUANTILES, 1))
                + ", max_us"
            )
            .order("second, operation")
            .df()
        )
    return _supported(found)


def by_user(folder: RunFolder, window: Window) -> pd.DataFrame:
    """Each virtual user and operation of the window: virtual_user, operation, n, mean_us, quantiles and max_us."""
    with operations_of(folder, window) as rows:
        found: pd.DataFrame = (
            rows.filter(f"outcome <> {Outcome.FAILED.value}")
            .aggregate(
                "virtual_user, operation, count(*)::BIGINT AS n, avg(latency_us) AS mean_us, "
                + ", ".join(
                    f"quantile_disc(latency_us, {at})::BIGINT AS {name}_us" for name, at in SECOND_QUANTILES.items()
                )
                + ", max(latency_us)::BIGINT AS max_us",
                "virtual_user, operation",
            )
            .order("virtual_user, operation")
            .df()
        )
    return _supported(found)


_Counts = TypeVar("_Counts", int, "npt.NDArray[np.int64]", "pd.Series[int]")


def supported(n: _Counts, share: float) -> Any:
    """Whether at least ``BEYOND`` of ``n`` operations lie beyond the quantile at ``share``, of each of many."""
    return n * (1 - share) >= BEYOND - _ROUNDING


def _supported(found: pd.DataFrame) -> pd.DataFrame:
    """A frame whose quantiles of a second or user are NaN where ``n`` operations do not support them."""
    known = {
        f"{name}_us": found[f"{name}_us"].where(supported(found["n"], share))
        for name, share in SECOND_QUANTILES.items()
    }
    return found.assign(**known)


def quantiles_of(
    histogram: pd.DataFrame, by: list[str], quantiles: Mapping[str, float], *, every: bool = False
) -> pd.DataFrame:
    """Quantiles of a histogram of latencies (``by``, latency_us, n): one row a group, with n and max_us.

    A quantile without support is NaN, unless ``every`` one is asked for.
    """
    ordered = histogram.sort_values([*by, "latency_us"], ignore_index=True)
    if ordered.empty:
        return pd.DataFrame(columns=[*by, "n", *(f"{name}_us" for name in quantiles), "max_us"])
    keys = ordered[by].to_numpy()
    first = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)])
    last = np.r_[first[1:], len(ordered)] - 1
    seen = ordered["n"].to_numpy().cumsum()
    before = np.r_[0, seen[last[:-1]]]
    total = seen[last] - before
    latency = ordered["latency_us"].to_numpy()
    groups = ordered.loc[first, by].reset_index(drop=True)
    groups["n"] = total
    for name, share in quantiles.items():
        at = latency[np.searchsorted(seen, before + rank(total, share))]
        groups[f"{name}_us"] = at if every else np.where(supported(total, share), at, np.nan)
    groups["max_us"] = latency[last]
    return groups


def as_figures(row: Mapping[Hashable, Any], names: Sequence[str]) -> dict[str, int | None]:
    """A row's quantiles by the names of their fields (``p95_us``); None without support."""
    return {f"{name}_us": None if np.isnan(row[f"{name}_us"]) else int(row[f"{name}_us"]) for name in names}


def rank(total: npt.NDArray[np.int64], share: float) -> npt.NDArray[np.int64]:
    """Which of ``total`` sorted values, counted from 1, is the quantile: the smallest rank that holds ``share``."""
    return np.maximum(1, np.ceil(np.round(total * share, 9))).astype(np.int64)


MARGINS = {"": 1.0, "p50": 1.0, "p95": 2.5, "p99": 5.0}
"""How many times the smallest effect of the metric matters of a quantile of latencies, whose noise is larger."""
BANDS_PER_DECADE = 10


def latency_bands(
    folder: RunFolder, window: Window, operation: int, step_s: int = 1, latency: str = SERVICE_US
) -> pd.DataFrame:
    """Columns second, band, low_ms, n, share: the operations of each step in each band, as a share of the step's.

    ``second`` is the first of ``step_s`` seconds, from the window's start; ``low_ms`` the lower end of the band. A
    last, incomplete step is left out.

    A band is a tenth of a decade: each is 26 % above the one below. Failed operations are left out.
    """
    steps = int(window.duration_s) // step_s
    step = f"((t_end_us - {window.start_us}) // {step_s * 1_000_000})::INTEGER"
    band = f"floor({BANDS_PER_DECADE} * log10(greatest({latency}, 1)) + 1e-9)::INTEGER"
    with operations_of(folder, window) as rows:
        found: pd.DataFrame = (
            rows.filter(f"outcome <> {Outcome.FAILED.value} AND operation = {operation}")
            .aggregate(f"{step} AS step, {band} AS band, count(*)::BIGINT AS n", f"{step}, {band}")
            .filter(f"step < {steps}")
            .order("step, band")
            .df()
        )
    low_ms = np.power(10.0, found["band"] / BANDS_PER_DECADE) / 1000
    share = found["n"] / found.groupby("step")["n"].transform("sum")
    table = found.assign(second=found["step"] * step_s, low_ms=low_ms, share=share)
    return table[["second", "band", "low_ms", "n", "share"]]
