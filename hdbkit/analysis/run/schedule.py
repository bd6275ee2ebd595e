"""An open loop's schedule against what happened: offered and achieved rate, lateness, skipped operations, backlog.

Every arrival follows from the plan, so those without a record are known: they were skipped, or had not begun when the
window ended. Nothing that was offered disappears, also when a client was killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from hdbkit.analysis.run.quantiles import QUANTILES
from hdbkit.analysis.run.records import Window, operations_of, window_of
from hdbkit.arrivals import Times, due_us
from hdbkit.caution import Caution, Kind
from hdbkit.later import duckdb
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Backlog, Latencies, ScheduleResult

if TYPE_CHECKING:
    import numpy.typing as npt
    from numpy.typing import NDArray

LATE_US: Final = 10_000
"""An operation that begins later than this after its scheduled start is counted as late."""
SATURATED_SHARE: Final = 0.01
"""A schedule is not kept if more than this share of the operations was skipped, or added to the backlog."""
RATE_DECIDES: Final = Caution("the load's rate decides the throughput; compare latencies instead", Kind.RATE)
"""The warning of comparisons and sweeps with runs that kept their rate."""
_ROWS_AT_ONCE: Final = 1_000_000
_SECOND_US: Final = 1_000_000
_Counts: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class ScheduleFound:
    """``rows`` as in ``columns.SCHEDULE``; ``result`` is of the window."""

    rows: pd.DataFrame
    result: ScheduleResult


def schedule_of(folder: RunFolder, manifest: Manifest) -> ScheduleFound:
    """Compare the schedule of an open loop with the records of the run.

    Raises:
        DamagedResult: there is no measured window, or a file cannot be read.
    """
    window = window_of(manifest)
    limit_us = round(1000 * manifest.plan.load.latency_limit_ms)
    cut_us = window.end_us - limit_us
    edges = np.unique([*range(0, window.end_us, _SECOND_US), window.start_us, window.end_us, max(cut_us, 0)])
    due, begun, of_due = np.zeros((3, len(edges) - 1), np.int64)
    for arrivals_us in _arrivals(folder, manifest, window.end_us):
        due += _counted(arrivals_us, edges)
    for start_us, wait_us in _starts(folder):
        begun += _counted(start_us, edges)
        of_due += _counted(start_us - wait_us, edges)
    first_us = edges[:-1]
    skipped = np.where((first_us < cut_us) & (limit_us > 0), due - of_due, 0)
    backlog = (due - skipped - begun).cumsum()
    bins = pd.DataFrame({"due": due, "begun": begun, "skipped": skipped, "backlog": backlog})
    inside = first_us >= window.start_us
    before = 0 if inside.all() else int(backlog[~inside][-1])
    result = _result(folder, window, bins[inside], before, manifest.plan.load.sessions)
    by_second = bins.groupby(first_us // _SECOND_US).agg(
        {"due": "sum", "begun": "sum", "skipped": "sum", "backlog": "last"}
    )
    rows = by_second.rename_axis("second").join(lateness_by_second(folder)).reset_index()
    return ScheduleFound(rows, result)


def kept_its_rate(manifest: Manifest) -> bool:
    """Whether the run is an open loop that was not saturated, so that its throughput is the rate of its plan."""
    schedule = None if manifest.result is None else manifest.result.schedule
    return schedule is not None and not schedule.saturated


def _result(folder: RunFolder, window: Window, bins: pd.DataFrame, before: int, users: int) -> ScheduleResult:
    """The schedule of the window from its bins; ``before`` is the backlog at its start."""
    due, skipped, backlog = int(bins["due"].sum()), int(bins["skipped"].sum()), int(bins["backlog"].iloc[-1])
    with operations_of(folder, window) as rows:
        ended = rows.aggregate("count(*)").fetchall()[0][0]
    late, late_us = lateness(folder, window)
    return ScheduleResult(
        offered_per_s=due / window.duration_s,
        achieved_per_s=ended / window.duration_s,
        due=due,
        begun=int(bins["begun"].sum()),
        late=late,
        skipped=skipped,
        backlog=Backlog(start=before, end=backlog),
        lateness=late_us,
        saturated=skipped + backlog - before > max(SATURATED_SHARE * due, users),
    )


def lateness(folder: RunFolder, window: Window) -> tuple[int, Latencies]:
    """How many of the operations that began in the window were late, and quantiles of the lateness of all."""
    with operations_of(folder) as rows:
        begun = rows.filter(f"t_start_us >= {window.start_us} AND t_start_us < {window.end_us}")
        quantiles = f"quantile_disc(wait_us, {list(QUANTILES.values())})"
        late, found, longest, mean = begun.aggregate(
            f"count(*) FILTER (wait_us > {LATE_US}), {quantiles}, max(wait_us), avg(wait_us)"
        ).fetchall()[0]
    selected = dict(zip((f"{name}_us" for name in QUANTILES), found or [None] * len(QUANTILES), strict=True))
    return late, Latencies(max_us=longest, mean_us=mean, **selected)


def lateness_by_second(folder: RunFolder, step_s: int = 1) -> pd.DataFrame:
    """late_p50_us, late_p99_us and late_max_us of the operations that began in each step of so many seconds."""
    second = f"(t_start_us // {step_s * _SECOND_US} * {step_s})"
    with operations_of(folder) as rows:
        found: pd.DataFrame = (
            rows.aggregate(
                f"{second}::INTEGER AS second, quantile_disc(wait_us, [0.5, 0.99]) AS q, max(wait_us) AS late_max_us",
                second,
            )
            .project("second, q[1] AS late_p50_us, q[2] AS late_p99_us, late_max_us")
            .df()
        )
    return found.set_index("second").astype("float64")


def _arrivals(folder: RunFolder, manifest: Manifest, until_us: int) -> Iterator[Times]:
    """When the operations of all users were due, until this time; a user that reached its limit needs no more."""
    load, rate_per_s = manifest.plan.load, manifest.rate_per_s
    assert rate_per_s is not None
    ended_us = _ended_us(folder, load.iterations) if load.iterations else {}
    for index in range(load.sessions):
        last_us = min(until_us, ended_us.get(index, until_us) + 1)
        for block in due_us(load, rate_per_s, index):
            yield block[block < last_us]
            if block[-1] >= last_us:
                break


def _ended_us(folder: RunFolder, iterations: int) -> dict[int, int]:
    """When the last operation of each user was due that reached its limit."""
    with operations_of(folder) as rows:
        found = rows.aggregate("virtual_user, count(*), max(t_start_us - wait_us)", "virtual_user").fetchall()
    return {user: last_us for user, count, last_us in found if count >= iterations}


def _starts(folder: RunFolder) -> Iterator[tuple[Times, Times]]:
    """The starts of all operations and how late they were, in pieces."""
    with operations_of(folder) as rows:
        for batch in rows.project("t_start_us, wait_us").to_arrow_reader(_ROWS_AT_ONCE):
            start_us, wait_us = (column.to_numpy() for column in batch.columns)
            yield start_us, wait_us


def _counted(times_us: Times, edges: Times) -> _Counts:
    """How many of these times are in each bin between two edges; others are left out."""
    position = np.searchsorted(edges, times_us, "right")
    return np.bincount(position, minlength=len(edges) + 1)[1:-1].astype(np.int64)


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
