"""A run along its time, from its first second on: throughput, work by step, gauges."""

from __future__ import annotations

from collections.abc import Sequence

from hdbkit.analysis.run.records import metric_codes, operations_of, table
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.readings import ENDS
from hdbkit.results.columns import COUNTED, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest


def throughput(folder: RunFolder, manifest: Manifest, step_s: int = 1) -> pd.DataFrame:
    """Columns second, rate, failed: ``metric.rate`` and failures per second, over the whole run.

    Each row stands for ``step_s`` seconds from ``second`` on; a last, incomplete step is left out. These are
    the clients' counts, whatever the result was counted by. Of the load of another program they are those of the
    schema or server, a row per sample.
    """
    if not manifest.operations:
        return _counted(table(folder, "counters"), manifest)
    step_us = step_s * 1_000_000
    step = f"(t_end_us // {step_us})::INTEGER"
    committed = f"operation IN {metric_codes(manifest)} AND outcome = {Outcome.COMMITTED.value}"
    with operations_of(folder) as rows:
        found = rows.aggregate(
            f"{step} AS step, max(t_end_us)::BIGINT AS last_us, "
            f"count(*) FILTER ({committed})::BIGINT AS committed, "
            f"count(*) FILTER (outcome = {Outcome.FAILED.value})::BIGINT AS failed",
            step,
        ).fetchnumpy()
    steps = int(found["last_us"].max()) // step_us if len(found["step"]) else 0
    done, failed = np.zeros(steps + 1), np.zeros(steps + 1)
    done[found["step"]], failed[found["step"]] = found["committed"], found["failed"]
    seconds, per_s = np.arange(steps) * step_s, manifest.metric.rate.per_s
    return pd.DataFrame({"second": seconds, "rate": done[:steps] * per_s / step_s, "failed": failed[:steps] / step_s})


def _counted(counters: pd.DataFrame | None, manifest: Manifest) -> pd.DataFrame:
    """What the schema counted between samples, or the transactions that the server ended; columns as throughput."""
    if counters is None:
        return pd.DataFrame(columns=["second", "rate", "failed"], dtype=float)
    rows = counters[counters["name"].isin([COUNTED] if manifest.metric.counter else ENDS)]
    totals = rows.groupby("t_sent_us")["value"].sum()
    seconds = totals.index.to_numpy() / 1e6
    rates = manifest.metric.per_s * np.diff(totals.to_numpy()) / np.diff(seconds)
    return pd.DataFrame({"second": seconds[:-1], "rate": rates, "failed": 0.0})


def committed_by_second(folder: RunFolder, manifest: Manifest) -> pd.Series[int] | None:
    """What the metric's rate counts by second of the run, from the small table of seconds; None without one."""
    seconds = table(folder, "seconds")
    if seconds is None:
        return None
    counted = seconds[seconds["operation"].isin([manifest.operations.index(name) for name in manifest.of_metric])]
    return counted.groupby("second")["committed"].sum()


def work_by_step(folder: RunFolder, manifest: Manifest, step_s: int) -> dict[str, list[list[int]]]:
    """Of each operation, by step from the run's start on: how many ended, failed, and the sum of their us."""
    seconds = table(folder, "seconds")
    if seconds is None or seconds.empty:
        return {}
    ended = seconds[["committed", "rolled_back", "failed"]].sum(axis=1)
    columns = seconds.assign(ended=ended, step=seconds["second"] // step_s)
    steps = range(int(columns["step"].max()) + 1)
    sums = columns.groupby(["operation", "step"])[["ended", "failed", "latency_us_sum"]].sum()
    return {
        name: sums.loc[code].reindex(steps, fill_value=0).T.to_numpy().tolist()
        for code, name in enumerate(manifest.operations)
        if code in set(columns["operation"])
    }


def statements_by_step(
    folder: RunFolder, manifest: Manifest, step_s: int, totals: Sequence[str]
) -> dict[str, list[list[float]]]:
    """Of each statement, by step from the run's start on: growth of its totals, and how many operations completed.

    Between two readings each operation adds the same. Steps that are not whole in the window have none of both.
    """
    rows = table(folder, "statement_courses")
    work = [*work_by_step(folder, manifest, 1).values()]
    if rows is None or rows.empty or not work:
        return {}
    by_second = np.sum([np.subtract(*np.array(one[:2])) for one in work], axis=0)
    edges_s = step_s * np.arange(-(-len(by_second) // step_s) + 1)
    at_s, cumulative = np.arange(len(by_second) + 1), np.concatenate([[0], np.cumsum(by_second)])
    first_s, last_s = rows["t_us"].min() / 1e6, rows["t_us"].max() / 1e6
    whole = (edges_s[:-1] >= first_s - step_s / 20) & (edges_s[1:] <= last_s + step_s / 20)
    done_to = np.interp(edges_s, at_s, cumulative)
    found = {}
    for statement, one in rows.fillna(0.0).sort_values("t_us").groupby("statement"):
        done = np.interp([first_s, *(one["t_us"] / 1e6)], at_s, cumulative)
        series = [done_to, *(np.interp(done_to, done, [0.0, *one[name]]) for name in totals)]
        found[str(statement)] = [np.where(whole, np.diff(each), 0.0).tolist() for each in series]
    return found


def gauge(folder: RunFolder, name: str) -> pd.DataFrame:
    """The samples of a gauge of the server over the whole run: second and value."""
    counters = table(folder, "counters")
    known = counters[counters["name"] == name].sort_values("t_returned_us") if counters is not None else None
    if known is None:
        return pd.DataFrame({"second": [], "value": []})
    return pd.DataFrame({"second": (known["t_returned_us"] / 1e6).tolist(), "value": known["value"].tolist()})


def halved_s(samples: pd.DataFrame, least: float) -> list[float]:
    """When a gauge was first seen at half or less of its highest since the last time, if that was at least this."""
    found, highest = [], 0.0
    for second, value in samples.itertuples(index=False):
        highest = max(highest, value)
        if highest >= least and value <= highest / 2:
            if second > 0:
                found.append(float(second))
            highest = value
    return found
