"""The report of one run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.analysis.run.bottleneck import bottleneck
from hdbkit.analysis.run.events import events
from hdbkit.analysis.run.faults import RECOVERED, lost_text
from hdbkit.analysis.run.records import executions, window_of
from hdbkit.analysis.run.tail_intervals import tail_intervals
from hdbkit.analysis.run.waits import slow_plans
from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.charts.chart import Chart
from hdbkit.charts.flame import Flame, flame_differences, flames
from hdbkit.charts.run_charts import run_charts
from hdbkit.config.metric import Better, Measure, Metric
from hdbkit.errors import DamagedResult
from hdbkit.files import replace_file
from hdbkit.report.card import Card, measured_by
from hdbkit.report.environment import environment
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.plan_tables import plan_tables, slow_plan_tables
from hdbkit.report.run_tables import RunCourses, run_tables, tail_table
from hdbkit.report.server_work import hosts_work, server_work, statements_work
from hdbkit.report.tables import UNKNOWN, Table, cell, frame_table, milliseconds, text_table
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import known_settings, read_plans
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.run_result import RunResult
from hdbkit.text import all_per_s, many, number, plural

_ANNOTATIONS = "grafana-annotations.json"


def run_report(folder: RunFolder) -> Path:
    """Write the report of a run into its folder and give its path; a run without a result has one too.

    Raises:
        DamagedResult: the manifest cannot be read.
    """
    manifest = folder.read()
    page = run_page(folder, manifest)
    with suppress(DamagedResult):
        replace_file(folder.path / _ANNOTATIONS, json.dumps(_annotations(folder, manifest), indent=1).encode())
    return write_page(folder.report, page)


def run_page(folder: RunFolder, manifest: Manifest) -> Page:
    """The report of a run."""
    (charts, each), errors = _from_records(folder, manifest)
    result = manifest.result
    courses = RunCourses.read(folder, manifest) if result and not manifest.measured_by else None
    return Page(
        kicker=f"{manifest.run_id}{_place(manifest)}",
        card=_card(manifest, errors),
        notice=manifest.notice,
        command=manifest.command,
        figures=figures(manifest) if result else [],
        notes=_notes(manifest),
        tables=run_tables(manifest, courses) if result else [],
        charts=charts,
        flames=_flames(folder, manifest),
        evidence=[*each, *_tails(folder, manifest), *_faults(manifest), *server_work(manifest), *hosts_work(result)]
        if result
        else [],
        plans=_plans(folder, manifest),
        environment=environment(manifest, known_settings(folder)),
        journal=[_course(manifest)],
    )


def _tails(folder: RunFolder, manifest: Manifest) -> list[Table]:
    """The intervals of tail latencies; none of lists of operations, or without records."""
    if manifest.one_by_one or not manifest.operations:
        return []
    with suppress(DamagedResult):
        return tail_table(tail_intervals(folder, window_of(manifest), list(manifest.operations)), manifest.noun)
    return []


def _annotations(folder: RunFolder, manifest: Manifest) -> list[dict[str, Any]]:
    """The window of a run and its events, each as Grafana's HTTP API takes an annotation; none without a window."""
    if manifest.clock is None or manifest.result is None:
        return []
    start_ms, window = manifest.clock.start_wall.timestamp() * 1000, window_of(manifest)
    of_run = ["hdbkit", manifest.run_id]
    ends = {"time": round(start_ms + window.start_us / 1000), "timeEnd": round(start_ms + window.end_us / 1000)}
    of_events = [
        {
            "time": round(start_ms + 1000 * float(str(one.time_s))),
            "tags": [*of_run, one.kind],
            "text": one.text or one.kind,
        }
        for one in events(folder, manifest).itertuples()
    ]
    return [{**ends, "tags": of_run, "text": answer(manifest)}, *of_events]


def _from_records(folder: RunFolder, manifest: Manifest) -> tuple[tuple[list[Chart], list[Table]], list[str]]:
    """What needs the records: charts, and the table of executions; and why there are none."""
    try:
        of_result = [*_events(folder, manifest), *statements_work(folder, manifest)] if manifest.result else []
        each = [*_executions(folder, manifest), *of_result]
        return (run_charts(folder, manifest), each), []
    except DamagedResult as error:
        return ([], []), [str(error)]


def _events(folder: RunFolder, manifest: Manifest) -> list[Table]:
    """What happened in the run, by time; none where nothing is known."""
    seen = events(folder, manifest)
    rows = [[number(at, 3), *words] for at, *words in seen.itertuples(index=False)]
    head, numeric = ["second", "event", "what", "source"], [True, False, False, False]
    return [Table("Events", head, rows, numeric, by_second=True)] if rows else []


def _flames(folder: RunFolder, manifest: Manifest) -> list[Flame]:
    """The flame graphs of a profiled run, also as files; with slices, what each configuration changes, too."""
    runs, slices = [(folder, manifest)], manifest.plan.slices
    found: list[Flame] = []
    with suppress(DamagedResult):
        found = flames(runs)
        for position, settings in enumerate(slices.settings if slices and found else ()):
            label = ", ".join(f"{name}={value}" for name, value in settings.items())
            found += flame_differences(runs, runs, ("the baseline", label), (0, position)) if position else []
    for one in found:
        replace_file(folder.path / f"{one.key}.svg", one.svg.encode())
    return found


def _plans(folder: RunFolder, manifest: Manifest) -> list[Table]:
    """The plans of slow executions and of its queries; those of a damaged file are left out."""
    found: list[Table] = []
    with suppress(DamagedResult):
        found += slow_plan_tables(slow_plans(folder, manifest))
        found += plan_tables(read_plans(folder.plans))
    return found


def _place(manifest: Manifest) -> str:
    """The sweep that the run belongs to, and its settings; empty for a run of its own."""
    planned, slices = manifest.plan.experiment, manifest.plan.slices
    if not planned:
        return ""
    settings = ", ".join(f"{name}={value}" for name, value in planned.settings.items())
    tried = slices.described if slices else settings
    if of_side := manifest.plan.side_slices:
        tried = f"the load alternates with the other side's in slices of {of_side.slice_s:g} s"
    where = ", ".join(filter(None, [f"block {planned.block}", tried]))
    return f", run {planned.number} of {planned.experiment_id} ({where})"


def _faults(manifest: Manifest) -> list[Table]:
    """What each fault did; nothing for a run without."""
    result, rate = manifest.measured, manifest.metric.rate
    if not result.faults:
        return []
    head = ["fault", "at (s)", "first success after (s)", "longest time without a commit (s)"]
    head += [
        "hdbkit took to cause it (s)",
        "hdbkit took to undo it (s)",
        f"{rate.name} before",
        "lowest second",
        f"back to {RECOVERED:.0%} after (s)".replace("%", " %"),
        "failures",
    ]
    rows = [
        [
            one.fault,
            number(one.start_s),
            _in_window(one.first_success_after_s),
            number(one.outage_s),
            *("" if taken_s is None else number(taken_s) for taken_s in (one.cause_s, one.undo_s)),
            *("" if reached is None else rate.number(reached) for reached in (one.rate_before, one.lowest_rate)),
            _in_window(one.recovered_after_s),
            one.error or ", ".join(f"{name} {count:,}" for name, count in one.errors.items()) or "none",
        ]
        for one in result.faults
    ]
    lost = lost_text(result)
    return [text_table(f"What each fault did; {lost}", head, rows)]


def _in_window(seconds: float | None) -> str:
    return "not in the window" if seconds is None else number(seconds)


def _course(manifest: Manifest) -> Table:
    rows = [[event.status.value, f"{event.at:%Y-%m-%d %H:%M:%S} UTC", event.note] for event in manifest.history]
    return text_table("Course of the run", ["status", "at", "note"], rows)


def _question(manifest: Manifest) -> str:
    load, server = manifest.plan.load, manifest.server.version or "the server"
    title, under = manifest.metric.title, f"with {many(load.virtual_users, 'virtual user')}"
    if (each := load.sessions_per_user) > 1:
        under += f" of {each:,} sessions each"
    if manifest.metric.measure is Measure.RATE:
        return f"How many {title} does {server} sustain {under}?"
    return f"What is the {title} of {server} {under}?"


def _card(manifest: Manifest, errors: Sequence[str] = ()) -> Card:
    """The result of a run; ``errors`` are why parts of its report are missing."""
    result, metric = manifest.result, manifest.metric
    value = result.metric_value if result else None
    return Card(
        question=_question(manifest),
        answer=f"{answer(manifest)} {bottleneck(manifest) or ''}".strip(),
        verdict="measured" if manifest.status is Status.DONE else str(manifest.status),
        value="" if value is None else metric.text(value),
        of=f"{metric.title}, {_basis(metric)}" if value is not None else "",
        facts=[*measured_by([manifest])[1:], *([f"{result.window_s:,.0f} s"] if result else [])],
        checks=manifest.checks,
        warnings=[*errors, *run_warnings(manifest)],
    )


def run_card(manifest: Manifest) -> str:
    """The result of a run as a notebook shows it."""
    shown = run_tables(manifest) if manifest.result else []
    return _card(manifest).in_notebook(f"Run {manifest.run_id}: {manifest.notice}", shown)


def answer(manifest: Manifest, *, below_value: bool = False) -> str:
    """The result in a sentence, or why there is none; ``below_value``: without the value, which is its title."""
    result = manifest.result
    if not result:
        note = manifest.history[-1].note if manifest.history else ""
        return f"The run is {manifest.status.value} and has no result{f': {note}' if note else ''}."
    value, metric = result.metric_value, manifest.metric
    words = _value_words(metric, value) if value is not None else f"{metric.name} is unknown{_why(result)}"
    line = result.operations.get(manifest.headline)
    times = (line and line.response) or line
    p95_us = None if times is None else times.p95_us
    has_quantiles = p95_us is not None and not manifest.one_by_one
    latency = f"; 95 % of {manifest.headline} took at most {milliseconds(p95_us)} ms" if has_quantiles else ""
    latency += " from the scheduled start" if latency and manifest.paced else ""
    per_s = result.operations_per_s
    all_types = "" if per_s is None else f"{all_per_s(per_s, manifest.noun)} of all types"
    if below_value:
        words = all_types or metric.title
    elif all_types:
        words += f" ({all_types})"
    by = f" by {manifest.measured_by}, which states" if manifest.measured_by else " over"
    moved = ""
    if result.server_moves_s:
        at = " and ".join(f"{at_s:.0f} s" for at_s in result.server_moves_s)
        moved = f" From {at} of the run on, another server answered: what follows was measured on that one."
    return f"{words}, measured{by} {result.window_s:.1f} s{latency}.{moved}"


def _why(result: RunResult) -> str:
    """Why the metric is unknown, if that is known: `` (q21: ...)``."""
    return f" ({result.metric_unknown})" if result.metric_unknown else ""


def _value_words(metric: Metric, value: float) -> str:
    """``96,123 TPS``; a time includes its name, since the unit alone is ambiguous."""
    return metric.text(value) if metric.measure is Measure.RATE else f"{metric.name} {metric.text(value)}"


def figures(manifest: Manifest) -> list[Figure]:
    """The key figures of a run with a result beside its metric, those that are known."""
    result, per = manifest.measured, f"per {manifest.noun}"
    shares = result.host_cpu_pct or {}
    cpu = f"{100 - shares['idle']:.0f} %" if "idle" in shares else cell(None)
    figures = [
        Figure(f"{plural(manifest.noun)}/s", cell(result.operations_per_s), "completed, of all types"),
        Figure("engine TPM", _whole(result.engine_tpm), "compare within one engine only"),
        Figure("failed", cell(result.failed), f"{cell(result.retries)} retries"),
        Figure("client CPU", _time(result.client_cpu_us_per_operation), per),
    ]
    with_supervisor = result.client_and_supervisor_cpu_us_per_operation
    if with_supervisor is not None:
        figures.append(Figure("client CPU with hdbkit's supervisor", _time(with_supervisor), per))
    figures.append(Figure("server CPU", _time(result.server_cpu_us_per_operation), per))
    figures.append(Figure("host CPU busy", cpu, f"steal {shares['steal']:.1f} %" if "steal" in shares else ""))
    return [one for one in figures if one.value != UNKNOWN]


def _notes(manifest: Manifest) -> list[str]:
    """Why the server's CPU time is unknown, if that is known."""
    why = manifest.result and manifest.result.server_cpu_unknown
    return [f"The server's CPU time is unknown: {why}."] if why else []


def _basis(metric: Metric) -> str:
    """How the metric's value was made, in a few words."""
    if metric.better is Better.LOWER:
        return "lower is better"
    return "by the schema's count" if metric.counter else "by the clients' count"


def _executions(folder: RunFolder, manifest: Manifest) -> list[Table]:
    """Every execution; no table for a run whose operations are too many for that."""
    if not manifest.one_by_one:
        return []
    return [frame_table(executions(folder, manifest).dropna(axis="columns", how="all"), f"Every {manifest.noun}")]


def _whole(value: float | None) -> str:
    return cell(None) if value is None else f"{value:,.0f}"


def _time(value: float | None) -> str:
    return cell(None) if value is None else f"{milliseconds(value)} ms"
