"""A run along its time, from its first second on: throughput, gauges, failures, outages; and courses of many runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from hdbkit.analysis.run.quantiles import QUANTILES
from hdbkit.analysis.run.records import Window, metric_codes, operations_of, table, window_of
from hdbkit.errors import DamagedResult, ErrorClass
from hdbkit.readings import ENDS
from hdbkit.results.columns import COUNTED, ERROR_CLASSES, Outcome
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Outage, TimedOperation
from hdbkit.text import many

MIN_US: Final = 100_000
"""A shorter time without a completed operation is no outage."""
_LOST: Final = ERROR_CLASSES.index(ErrorClass.CONNECTION_LOST.value)
MAX_STEPS = 120
"""Points of a course; longer runs have steps of more than a second."""
OUTLINE = 30
"""Points of a course that is drawn as wide as a word."""
COURSE_COLUMNS = ("run_id", "second", "rate", "inside")


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


# The outages of a run: when connections were lost, and nothing was completed for a while.
#
# An outage lasts from the last operation completed before to the first completed after it. A connection that is lost
# while other sessions go on is no outage; it is among the failures.


def outages(folder: RunFolder, window: Window) -> list[Outage]:
    """The outages that began before the window's end."""
    failed = f"outcome = {Outcome.FAILED.value}"
    with operations_of(folder) as rows:
        lost = rows.filter(f"{failed} AND error_class = {_LOST}").project("t_end_us").fetchnumpy()["t_end_us"]
        if not len(lost):
            return []
        bins = rows.filter(f"NOT ({failed})").aggregate(
            "min(t_end_us)::BIGINT AS first_us, max(t_end_us)::BIGINT AS last_us", f"t_end_us // {MIN_US // 2}"
        )
        done = bins.order("first_us").fetchnumpy()
    never_us = max(window.end_us, int(lost.max())) + MIN_US
    begins_us = np.concatenate([[0], done["last_us"]])
    ends_us = np.concatenate([done["first_us"], [never_us]])
    of_gap = np.bincount(np.searchsorted(ends_us, lost), minlength=len(ends_us))
    chosen = (of_gap > 0) & (ends_us - begins_us >= MIN_US) & (begins_us < window.end_us)
    found = zip(begins_us[chosen].tolist(), ends_us[chosen].tolist(), of_gap[chosen].tolist(), strict=True)
    return [
        Outage(start_s=start_us / 1e6, end_s=None if end_us == never_us else end_us / 1e6, lost=count)
        for start_us, end_us, count in found
    ]


def outages_text(found: Sequence[Outage], noun: str) -> str:
    """The outages in sentences; empty if there is none."""
    sentences = []
    for one in found:
        until = "on" if one.end_s is None else f"to {one.end_s:.2f} s"
        lost = f"{many(one.lost, noun)} lost {'its' if one.lost == 1 else 'their'} connection"
        sentences.append(f"No {noun} was completed from {one.start_s:.2f} s {until}, when {lost} (outage).")
    return " ".join(sentences)


RETRIED = "retried"
"""Stands among the classes for errors after which the operation was retried."""
CLASS_NAMES = dict(enumerate(ERROR_CLASSES)) | {0: "other"}
"""The name of each class of failures, by its code in the records."""


def failures(folder: RunFolder, step_s: int = 1) -> pd.DataFrame:
    """Columns second (the first of a step), error_class, count: what failed, by the end of its operation.

    ``RETRIED`` counts the retries. The whole run is covered, its ramp-up too.
    """
    step = f"(t_end_us // {step_s * 1_000_000} * {step_s})::INTEGER"
    failed = f"CASE WHEN outcome = {Outcome.FAILED.value} THEN error_class::INTEGER ELSE -1 END"
    with operations_of(folder) as rows:
        found = rows.filter(f"outcome = {Outcome.FAILED.value} OR retries > 0").aggregate(
            f"{step} AS second, {failed} AS code, count(*)::BIGINT AS count, sum(retries)::BIGINT AS retries",
            f"{step}, {failed}",
        )
        counted: pd.DataFrame = found.df()
    retried = counted.groupby("second")["retries"].sum().rename("count").reset_index()
    classified = counted.assign(error_class=counted["code"].map(CLASS_NAMES))
    lost = classified.loc[classified["code"] >= 0, ["second", "error_class", "count"]]
    both = pd.concat([lost, retried.assign(error_class=RETRIED)])
    kept = both.loc[both["count"] > 0, ["second", "error_class", "count"]].astype({"second": int, "count": int})
    return kept.sort_values(["second", "error_class"], ignore_index=True)


def samples(folder: RunFolder) -> pd.DataFrame:
    """A row per kind of error, the most frequent first: class, operation, counts, times and a sample of its text.

    Empty if the run recorded none. ``retried`` is the number of retried ones.
    """
    kinds = table(folder, "errors")
    columns = ["error_class", "operation", "count", "retried", "first_s", "last_s", "code", "text"]
    if kinds is None:
        return pd.DataFrame(columns=columns)
    times = {f"{name}_s": (kinds[f"{name}_us"] / 1e6).round(3) for name in ("first", "last")}
    return kinds.assign(**times).sort_values("count", ascending=False, ignore_index=True)[columns]


# What a sweep's runs keep beside their result: the course of each over its seconds, and its exact latencies.
#
# Read from ``seconds.parquet`` and from the manifests, never from single operations, so that a hundred runs of any
# length take about a second.


def readable(folders: Sequence[RunFolder]) -> list[tuple[RunFolder, Manifest]]:
    """Each folder with its manifest; damaged ones are passed over."""
    found = []
    for folder in folders:
        try:
            found.append((folder, folder.read()))
        except DamagedResult:
            continue
    return found


def courses(runs: Sequence[tuple[RunFolder, Manifest]]) -> pd.DataFrame:
    """``metric.rate`` of each run up to the end of its window: run_id, second, rate, inside (of the window).

    All runs have the same steps; ``second`` is the first of a step, and one that is cut by the window's start is not
    inside. A run that kept no seconds, or has no whole step in its window, is left out.
    """
    known = [(folder, manifest) for folder, manifest in runs if _has_window(manifest)]
    longest_s = max((window_of(manifest).end_us / 1e6 for _, manifest in known), default=0.0)
    step_s = max(1, math.ceil(longest_s / MAX_STEPS))
    parts = [part for folder, manifest in known if (part := _course(folder, manifest, step_s)) is not None]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(COURSE_COLUMNS))


def outline(folder: RunFolder) -> list[float]:
    """The course of a run's window in at most ``OUTLINE`` steps, for a drawing of a few pixels; empty: unknown."""
    course = courses(readable([folder]))
    rates = course.loc[course["inside"].astype(bool), "rate"].to_numpy(dtype=float)
    return [float(part.mean()) for part in np.array_split(rates, min(OUTLINE, len(rates)))] if len(rates) else []


def _has_window(manifest: Manifest) -> bool:
    try:
        window_of(manifest)
    except DamagedResult:
        return False
    return True


def _course(folder: RunFolder, manifest: Manifest, step_s: int) -> pd.DataFrame | None:
    window = window_of(manifest)
    steps = int(window.end_us / 1e6 + 0.05) // step_s  # a window ends some milliseconds early; that second is whole
    try:
        by_second = committed_by_second(folder, manifest)
    except DamagedResult:
        return None
    first = [step * step_s for step in range(steps)]
    inside = [second * 1_000_000 >= window.start_us - 50_000 for second in first]
    if by_second is None or not any(inside):
        return None
    seconds = by_second.reindex(range(steps * step_s), fill_value=0).to_numpy().reshape(steps, step_s)
    rate = seconds.sum(axis=1) * manifest.metric.rate.per_s / step_s
    return pd.DataFrame({"run_id": manifest.run_id, "second": first, "rate": rate, "inside": inside})


def latencies(manifests: Sequence[Manifest]) -> pd.DataFrame:
    """The exact service times of each run and operation: run_id, operation, p50_us ... p999_us (NaN: unknown).

    Where configurations alternate within runs, of each configuration, with ``configuration``.
    """
    names = [f"{name}_us" for name in QUANTILES]
    rows = [
        {"run_id": manifest.run_id, **keys, "operation": operation, **{name: getattr(line, name) for name in names}}
        for manifest in manifests
        for keys, operations in _operations(manifest)
        for operation, line in operations.items()
        if line.p50_us is not None
    ]
    found = pd.DataFrame(rows, columns=["run_id", *_places(manifests), "operation", *names])
    return found.astype(dict.fromkeys(names, float))


def _operations(manifest: Manifest) -> list[tuple[dict[str, int], Mapping[str, TimedOperation]]]:
    """The figures of operations of a run, or of each of its configurations."""
    if manifest.result is None:
        return []
    if slices := manifest.result.slices:
        return [({"configuration": one.configuration}, one.operations) for one in slices.configurations]
    return [({}, manifest.result.operations)]


def _places(manifests: Sequence[Manifest]) -> list[str]:
    return ["configuration"] if any(one.result and one.result.slices for one in manifests) else []
