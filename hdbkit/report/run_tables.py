"""The tables of one run's report: latencies, steps, waits and traffic per operation.

Two of them have the course of the run, from which the page shows a range that is chosen in a chart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hdbkit.analysis.run.records import window_of
from hdbkit.analysis.run.tail_intervals import Tail
from hdbkit.analysis.run.timeline import work_by_step
from hdbkit.analysis.run.waits import waits_by_step
from hdbkit.report.tables import CourseCell, Table, cell, course_step_s, milliseconds, text_table
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Latencies, OperationResult, RunResult, Wait
from hdbkit.text import number, plural

MAX_WAITS = 20


@dataclass(frozen=True)
class RunCourses:
    """The work of each operation and its waits by step of a run, so that tables can show a chosen range of it."""

    step_s: int
    work: Mapping[str, Sequence[Sequence[float]]]
    """Of each operation, by step: how many ended, failed, and the sum of their microseconds."""
    waits: Mapping[tuple[str, str], Sequence[float]]
    """Of each operation and wait, by step: the mean of the sessions."""

    @classmethod
    def read(cls, folder: RunFolder, manifest: Manifest) -> RunCourses:
        """The courses of a run that hdbkit measured."""
        step_s = course_step_s(window_of(manifest).end_us)
        return cls(step_s, work_by_step(folder, manifest, step_s), waits_by_step(folder, manifest, step_s))

    def of_operations(self, head: Sequence[str], names: Sequence[str]) -> CourseCell | None:
        """The course of a table with a row for each of these operations; None if one of them has none."""
        if not all(name in self.work for name in names):
            return None
        columns = {
            "count": (0, None, 1.0),
            "per second": (0, -1, 1.0),
            "mean": (2, 0, 0.001),
            "failed": (1, None, 1.0),
        }
        return CourseCell(self.step_s, [self.work[name] for name in names], _numbered(head, columns))

    def of_waits(self, head: Sequence[str], waits: Sequence[Wait]) -> CourseCell:
        """The course of a table with a row for each of these waits, whose last two columns are sessions and time."""
        ended = {name: series[0] for name, series in self.work.items()}
        series = [[self.waits.get((one.operation, one.what), []), ended.get(one.operation, [])] for one in waits]
        sessions, ms = head[-2:]
        return CourseCell(self.step_s, series, _numbered(head, {sessions: (0, -1, 1.0), ms: (0, 1, 1000.0)}))


def _numbered(
    head: Sequence[str], columns: Mapping[str, tuple[int, int | None, float]]
) -> list[tuple[int, int, int | None, float]]:
    """The columns of a course, which are given by their headings."""
    return [(head.index(name), *column) for name, column in columns.items()]


def run_tables(manifest: Manifest, courses: RunCourses | None = None) -> list[Table]:
    """The latencies of a run with a result, and its traffic per operation; with ``courses`` of ranges, too."""
    result, noun = manifest.measured, manifest.noun
    window_s = result.window_s or math.nan
    lines = [(name, line) for name, line in result.operations.items() if line.count]
    if manifest.one_by_one:
        return [_times(lines, noun), *_traffic(result, noun)]
    response = _response_times(lines, noun) if manifest.paced else []
    head = [noun, "count", "per second", "mean", "p50", "p90", "p95", "p99", "p99.9", "max", "failed", "retries"]
    rows = [
        [name, f"{line.count:,}", cell(None) if manifest.measured_by else number(line.count / window_s)]
        + [milliseconds(value_us) for value_us in (line.mean_us, *_quantiles(line))]
        + [cell(line.failed), cell(line.retries)]
        for name, line in lines
    ]
    of = f"as {manifest.measured_by} timed them" if manifest.measured_by else "of the window"
    title = f"{plural(noun).capitalize()} {of} (service time in ms)"
    course = courses.of_operations(head, [name for name, _ in lines]) if courses else None
    service = Table(title, head, rows, [False, *[True] * (len(head) - 1)], course=course)
    return [*_steps(manifest), *response, service, *_waits(manifest, courses), *_traffic(result, noun)]


def tail_table(tails: Mapping[str, Mapping[str, Tail]], noun: str) -> list[Table]:
    """The quantiles of a run with their intervals; none where too few operations are beyond."""
    rows = [
        [f"{operation} {quantile}", *map(milliseconds, (tail.us, tail.low_us, tail.high_us)), f"{tail.beyond:,}"]
        for operation, quantiles in tails.items()
        for quantile, tail in quantiles.items()
    ]
    if not rows:
        return []
    note = (
        "95 % intervals, by how the share of slower ones varies along this run. They hold for what varies several "
        "times within it; of a level that walks or changes once, another run may have another."
    )
    head = ["latency (ms)", "quantile", "from", "to", f"{plural(noun)} beyond"]
    return [Table("How exact are the tails?", head, rows, [False, *[True] * 4], note=note)]


def _waits(manifest: Manifest, courses: RunCourses | None) -> list[Table]:
    """What the sessions of each operation worked on and waited for, the most first; none where it was not sampled."""
    found = manifest.measured.waits
    if found is None or not found.waits:
        return []
    head = [manifest.noun, "wait", "sessions (mean)", f"ms per {manifest.noun}"]
    waits = found.waits[:MAX_WAITS]
    rows = [[one.operation, one.what, cell(one.sessions), cell(one.ms)] for one in waits]
    title = f"What sessions worked on and waited for in {found.samples:,} samples"
    course = courses.of_waits(head, waits) if courses else None
    return [Table(title, head, rows, [False, False, True, True], course=course)]


def _steps(manifest: Manifest) -> list[Table]:
    """What each step offered and reached; nothing for a window without steps."""
    steps = manifest.measured.steps
    if not steps:
        return []
    time = "response" if manifest.paced else "service"
    level, heading = ("users", "users") if steps[0].offered_per_s is None else ("offered_per_s", "offered per second")
    head = ["step", heading, "completed per second", "failed", "p50 (ms)", "p95 (ms)", "p99 (ms)"]
    rows = [
        [str(one.step), number(getattr(one, level)), number(one.completed_per_s), f"{one.failed:,}"]
        + [milliseconds(one.times(time).at(name)) for name in ("p50", "p95", "p99")]
        for one in steps
    ]
    title = f"Steps, with the {time} time of {manifest.headline}"
    return [Table(title, head, rows, [False, *[True] * (len(head) - 1)])]


def _response_times(lines: list[tuple[str, OperationResult]], noun: str) -> list[Table]:
    """The times from the scheduled start of each operation to its end."""
    head = [noun, "count", "p50", "p90", "p95", "p99", "p99.9", "max"]
    rows = [
        [name, f"{line.count:,}", *map(milliseconds, _quantiles(line.response))]
        for name, line in lines
        if line.response
    ]
    title = f"{plural(noun).capitalize()} of the window (response time in ms, from the scheduled start)"
    return [Table(title, head, rows, [False, *[True] * (len(head) - 1)])]


def _times(lines: list[tuple[str, OperationResult]], noun: str) -> Table:
    """How long each operation took that few executions were made of."""
    rows = [[name, line.count, _seconds(line.mean_us), _seconds(line.max_us), line.failed] for name, line in lines]
    return text_table(plural(noun).capitalize(), [noun, "count", "mean (s)", "longest (s)", "failed"], rows)


def _quantiles(line: Latencies) -> list[float | None]:
    return [line.p50_us, line.p90_us, line.p95_us, line.p99_us, line.p999_us, line.max_us]


def _seconds(time_us: float | None) -> float | None:
    return None if time_us is None else time_us / 1e6


def _traffic(result: RunResult, noun: str) -> list[Table]:
    """Round trips, bytes and context switches per operation; no table where none of them is known."""
    known = {name: value for name, value in result.per_operation if value is not None}
    if not known:
        return []
    title = f"Client side per {noun}, on average over the whole run"
    return [text_table(title, [name.replace("_", " ") for name in known], [list(known.values())])]
