"""Busy sessions along a run: those with an operation that is due, or begun, and has not ended."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hdbkit.analysis.run.records import operations_of
from hdbkit.analysis.run.windows import Window
from hdbkit.results.folder import RunFolder

_SECOND_US = 1_000_000


def busy_sessions(folder: RunFolder, window: Window, step_s: int = 1) -> pd.DataFrame:
    """Columns second, busy: the mean number of busy sessions in each step, until the window's end.

    A session is busy from the scheduled start of an operation, or from its start without one, to its end. An
    operation that was due while its session performed another one counts from the end of that one on. A last,
    incomplete step is left out.
    """
    step_us = step_s * _SECOND_US
    steps = window.end_us // step_us
    edges_us = np.arange(steps + 1) * step_us
    with operations_of(folder) as rows:
        times = rows.project(
            "greatest(t_start_us - wait_us, lag(t_end_us, 1, 0) OVER (PARTITION BY virtual_user ORDER BY t_start_us))"
            " AS begun_us, t_end_us AS ended_us"
        )
        begun, ended = (_time_since(times, f"{name}_us", edges_us, step_us) for name in ("begun", "ended"))
    busy = np.diff(begun - ended) / step_us
    return pd.DataFrame({"second": np.arange(steps) * step_s, "busy": busy})


def _time_since(
    times: duckdb.DuckDBPyRelation, column: str, edges_us: NDArray[np.int64], step_us: int
) -> NDArray[np.float64]:
    """At each edge, the sum over the operations of how long ago ``column`` was, of those before the edge."""
    step = f"greatest({column} // {step_us}, 0)"
    found = times.aggregate(f"({step})::BIGINT AS step, count(*)::BIGINT AS n, sum({column})::DOUBLE AS us", step)
    known = found.filter(f"step < {len(edges_us) - 1}").fetchnumpy()
    counts, sums = np.zeros((2, len(edges_us)))
    counts[known["step"] + 1], sums[known["step"] + 1] = known["n"], known["us"]
    since: NDArray[np.float64] = counts.cumsum() * edges_us - sums.cumsum()
    return since
