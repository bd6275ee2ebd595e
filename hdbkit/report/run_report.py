"""The report of one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hdbkit.analysis.run.warnings import run_doubts
from hdbkit.analysis.wording import many
from hdbkit.charts.chart import Chart
from hdbkit.charts.run_charts import run_charts
from hdbkit.errors import DamagedResult
from hdbkit.report.environment import environment, read_settings
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.server_work import server_host_work, server_work
from hdbkit.report.tables import Table, cell, milliseconds, number, text_table
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest

QUANTILES = ("p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us")


def run_report(folder: RunFolder) -> Path:
    """Write the report of a run into its folder and give its path; a run without a result has one too.

    Raises:
        DamagedResult: the manifest cannot be read.
    """
    manifest = folder.read()
    charts, warnings = _charts(folder, manifest)
    result = manifest.result
    page = Page(
        kicker=f"{manifest.run_id}{_place(manifest)}",
        question=_question(manifest),
        answer=answer(manifest),
        notice=manifest.notice,
        command=manifest.command,
        figures=figures(result) if result else [],
        warnings=[*warnings, *minded(manifest)],
        tables=tables(result) if result else [],
        charts=charts,
        evidence=[*server_work(result), *server_host_work(result)] if result else [],
        checks=manifest.checks,
        environment=environment(manifest, read_settings(folder)),
        journal=[_course(manifest)],
    )
    return write_page(folder.report, page)


def _charts(folder: RunFolder, manifest: Manifest) -> tuple[list[Chart], list[str]]:
    try:
        return run_charts(folder, manifest), []
    except DamagedResult as error:
        return [], [str(error)]


def _place(manifest: Manifest) -> str:
    """Of which sweep the run is, and with which settings; empty for a run of its own."""
    place = manifest.plan.get("sweep")
    if not place:
        return ""
    tried = ", ".join(f"{name}={value}" for name, value in place["settings"].items())
    return f", run {place['number']} of the sweep {place['sweep_id']} (block {place['block']}, {tried})"


def _course(manifest: Manifest) -> Table:
    rows = [[event.status.value, f"{event.at:%Y-%m-%d %H:%M:%S} UTC", event.note] for event in manifest.history]
    return text_table("Course of the run", ["status", "at", "note"], rows)


def _question(manifest: Manifest) -> str:
    users, server = manifest.plan["load"]["virtual_users"], manifest.server.get("version", "the server")
    return f"How many new orders a minute does {server} carry with {many(users, 'virtual user')}?"


def answer(manifest: Manifest) -> str:
    """The result in a sentence, or why there is none."""
    result = manifest.result
    metric_value = result.get("metric_value")
    if not result:
        note = manifest.history[-1].note if manifest.history else ""
        return f"The run is {manifest.status.value} and has no result{f': {note}' if note else ''}."
    rate = (
        f"{metric_value:,.0f} NOPM"
        if metric_value is not None
        else "An unknown number of new orders (the schema was not read)"
    )
    p95 = result["operations"][manifest.headline]["p95_us"]
    latency = f"; 95 % of them took at most {milliseconds(p95)} ms" if p95 is not None else ""
    return f"{rate}, measured over {result['window_s']:.1f} s{latency}. {_verdict(manifest)}"


def _verdict(manifest: Manifest) -> str:
    failed = [check.name for check in manifest.checks if check.passed is False]
    if failed:
        return f"Doubt it: {many(len(failed), 'check')} failed ({', '.join(failed)})."
    passed = sum(check.passed is True for check in manifest.checks)
    return f"All {passed} checks that could be decided passed." if passed else ""


def minded(manifest: Manifest) -> list[str]:
    """What a reader should know before believing that the run measured what was meant, a sentence each."""
    return [f"Mind that {doubt}." for doubt in run_doubts(manifest).values()]


def figures(result: dict[str, Any]) -> list[Figure]:
    """The key figures of a result, which must not be empty."""
    shares = result["host_cpu_pct"] or {}
    cpu = f"{100 - shares['idle']:.0f} %" if "idle" in shares else cell(None)
    figures = [
        Figure("NOPM", _whole(result["metric_value"]), "by the schema's count"),
        Figure("engine TPM", _whole(result["engine_tpm"]), "within one engine only"),
        Figure("failed", f"{result['failed']:,}", f"{result['retries']:,} retries"),
        Figure("client CPU", _us(result["client_cpu_us_per_operation"]), "a transaction"),
    ]
    if result["server_cpu_us_per_operation"] is not None:
        figures.append(Figure("server CPU", _us(result["server_cpu_us_per_operation"]), "a transaction"))
    return [*figures, Figure("host CPU busy", cpu, f"steal {shares['steal']:.1f} %" if "steal" in shares else "")]


def tables(result: dict[str, Any]) -> list[Table]:
    """The latencies of a result, which must not be empty, and what went to and fro for a transaction."""
    lines = [(name, line) for name, line in result["operations"].items() if line["count"]]
    head = ["operation", "count", "a second", "p50", "p90", "p95", "p99", "p99.9", "max", "failed", "retries"]
    rows = [
        [name, f"{line['count']:,}", number(line["count"] / result["window_s"])]
        + [milliseconds(line[quantile]) for quantile in QUANTILES]
        + [f"{line['failed']:,}", f"{line['retries']:,}"]
        for name, line in lines
    ]
    title = "Transactions of the window (service time in ms)"
    return [Table(title, head, rows, [False, *[True] * (len(head) - 1)]), *_to_and_fro(result)]


def _to_and_fro(result: dict[str, Any]) -> list[Table]:
    """Round trips, bytes and context switches of a transaction; no table where none of them is known."""
    known = {name: value for name, value in result.get("per_operation", {}).items() if value is not None}
    if not known:
        return []
    title = "A transaction at its client, on average over the whole run"
    return [text_table(title, [name.replace("_", " ") for name in known], [list(known.values())])]


def _whole(value: float | None) -> str:
    return cell(None) if value is None else f"{value:,.0f}"


def _us(value: float | None) -> str:
    return cell(None) if value is None else f"{value:,.0f} us"
