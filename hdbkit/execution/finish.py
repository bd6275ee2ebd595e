"""The end of every run, even if its supervisor died: spools and samples become the run folder's tables.

It reads files alone, so that the supervisor and ``hdbkit recover`` do the very same. What it has not turned into
Parquet completely stays where it was.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.faults import effects, lost_commits
from hdbkit.analysis.run.records import operations_of
from hdbkit.analysis.run.schedule import schedule_of
from hdbkit.analysis.run.slices import slice_table, slices_result
from hdbkit.analysis.run.steps import steps_result
from hdbkit.analysis.run.summary import summarize
from hdbkit.execution import load_hosts, profiler
from hdbkit.execution.folder_setup import FAULTS, SERIALS
from hdbkit.execution.table_rows import Noted
from hdbkit.files import read_bytes, read_lines
from hdbkit.results import columns
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import CheckLine, Clock, FaultLine, Manifest
from hdbkit.results.run_result import ScheduleResult, SlicesResult
from hdbkit.results.writer import write_operations, write_rows, write_table

MAX_EDGE_MS = 500.0
"""The maximum duration of the count at an edge of the window."""


def complete(folder: RunFolder, manifest: Manifest) -> Manifest:
    """Write all tables, the result and its checks; the manifest with both (not yet written).

    Safe to call again after a failure in the middle. Raises ``OSError`` when the disk is full; the spools then stay.
    """
    clock = manifest.clock
    if clock is None:  # no operation has begun
        return manifest
    start_ns = clock.start_monotonic_ns
    files = load_hosts.client_files(folder.spools)
    seconds, counts = write_operations(
        [(one.folder, one.clock) for one in files],
        folder.operations,
        start_ns,
        len(manifest.operations),
        manifest.details,
    )
    manifest = _with_load_hosts(folder, manifest, start_ns)
    noted = Noted(manifest, folder.spools, files, counts)
    clock = _with_window(clock, noted.samples)
    if manifest.one_by_one and manifest.phases[0].measured:
        clock = _with_all_operations(clock, folder)
    manifest = manifest.model_copy(update={"clock": clock})
    write_table(folder.table("seconds"), columns.SECONDS, seconds.columns())
    for name, table in columns.TABLES.items():
        rows = noted.rows(name)
        if rows or not table.optional:
            write_rows(folder.table(name), table.columns, rows)
    pids = {row["pid"] for row in noted.lines(columns.CLIENT_LINES) if row.get("pid")}
    if stacks := profiler.rows(folder.spools, pids, start_ns):
        write_rows(folder.table("profile"), columns.PROFILE, stacks)
    manifest = manifest.model_copy(update={"faults": _faults(folder.spools, start_ns)})
    folder.write(manifest)
    return _with_result(folder, manifest, noted.samples) if clock.window_end_us is not None else manifest


def nothing_completed(manifest: Manifest) -> str:
    """Why a run with a window has failed, as nothing was completed in it; empty if something was.

    A few iterations may be over before the server has been asked at the window's beginning.
    """
    result = manifest.result
    if result is None or result.completed or (manifest.plan.load.iterations and not result.failed):
        return ""
    checked = f"no {manifest.noun} failed"
    errors = next((one.detail for one in manifest.checks if one.passed is False and one.name == checked), "")
    waited = result.standstill.waited_for if result.standstill else ""
    how = errors or waited or "give a longer duration_s, or find out what the server waits for"
    return f"no {manifest.noun} was completed in the window of {result.window_s:.3g} s; {how}"


def _with_result(folder: RunFolder, manifest: Manifest, samples: list[dict[str, Any]]) -> Manifest:
    """The manifest with the result and its checks, in place of those of an earlier completion."""
    result = summarize(folder, manifest)
    more = {
        **_of_faults(folder, manifest, result.clients_lost or 0),
        "slices": _of_slices(folder, manifest),
        "schedule": _of_schedule(folder, manifest),
        "steps": steps_result(folder, manifest),
    }
    manifest = manifest.model_copy(update={"result": result.model_copy(update=more)})
    edges = [] if manifest.metric.counter is None else [_edges_read(samples)]
    checks = [*check_run(folder, manifest), *edges]
    made = {one.name for one in checks}
    checks += [one for one in manifest.checks if one.name not in made]
    return manifest.model_copy(update={"checks": checks})


def remove_spools(folder: RunFolder) -> None:
    """Remove the files that only a running run needs, unless files of load hosts are still missing."""
    if load_hosts.missing(folder.spools):
        return
    shutil.rmtree(folder.spools, ignore_errors=True)
    folder.control.unlink(missing_ok=True)
    if folder.supervisor_errors.is_file() and not folder.supervisor_errors.stat().st_size:
        folder.supervisor_errors.unlink()


def _with_load_hosts(folder: RunFolder, manifest: Manifest, start_ns: int) -> Manifest:
    """The manifest with its load hosts, and with a warning about those that are missing now."""
    before = load_hosts.lost(manifest.load_hosts, manifest.run_id)
    found = load_hosts.described(folder.spools, start_ns)
    warnings = [one for one in manifest.warnings if one not in before]
    warnings += load_hosts.lost(found, manifest.run_id)
    return manifest.model_copy(update={"load_hosts": found, "warnings": warnings})


def _us(t_ns: float, start_ns: int) -> int:
    return round((t_ns - start_ns) / 1000)


def _faults(spools: Path, start_ns: int) -> list[FaultLine]:
    """The faults that began, in the order of their beginnings; one without an end was not undone by its process."""
    found: dict[int, FaultLine] = {}
    for line in read_lines(spools / FAULTS):
        at_us, number = _us(line["t_ns"], start_ns), line["number"]
        known = found.setdefault(number, FaultLine(fault=line["fault"], start_us=at_us))
        time = "start_us" if line["event"] == "begin" else f"{line['event']}_us"
        found[number] = known.model_copy(update={time: at_us, "error": line["error"]})
    return list(found.values())


def _of_faults(folder: RunFolder, manifest: Manifest, clients_lost: int) -> dict[str, Any]:
    """What the faults did, as fields of the result; none if there was no fault."""
    if not manifest.faults:
        return {}
    path = folder.spools / SERIALS
    serials = json.loads(read_bytes(path)) if path.is_file() else None
    lost, unknown = lost_commits(folder, manifest, serials, clients_lost)
    return {"faults": effects(folder, manifest), "lost_commits": lost, "lost_commits_unknown": unknown}


def _of_slices(folder: RunFolder, manifest: Manifest) -> SlicesResult | None:
    """Write the table of slices; its part of the result. None if the configurations do not alternate."""
    found = slice_table(folder, manifest)
    if found is None:
        return None
    write_table(folder.table("slices"), columns.SLICES, {str(name): values for name, values in found.rows.items()})
    return slices_result(found, manifest)


def _of_schedule(folder: RunFolder, manifest: Manifest) -> ScheduleResult | None:
    """Write the table of an open loop's schedule; its part of the result. None in a closed loop."""
    if manifest.rate_per_s is None:
        return None
    found = schedule_of(folder, manifest)
    write_table(
        folder.table("schedule"), columns.SCHEDULE, {str(name): values for name, values in found.rows.items()}
    )
    return found.result


def _edges_read(samples: list[dict[str, Any]]) -> CheckLine:
    """Check the duration of the counts at the window's edges: a slow count makes the edge inexact."""
    name = "window's edges read at once"
    counted = {
        row["edge"]: row for row in samples if row["name"] == columns.COUNTED and row["edge"] in ("start", "end")
    }
    took_ms = {edge: (row["returned_ns"] - row["sent_ns"]) / 1e6 for edge, row in counted.items()}
    detail = " and ".join(f"{ms:,.1f} ms at the {edge}" for edge, ms in took_ms.items())
    if counted["end"].get("closed_late"):
        return CheckLine(name=name, passed=None, detail=f"the last count before the run was interrupted: {detail}")
    passed = max(took_ms.values()) <= MAX_EDGE_MS
    return CheckLine(name=name, passed=passed, detail=f"the schema's count took {detail}")


def _with_window(clock: Clock, samples: list[dict[str, Any]]) -> Clock:
    """The clock with the window between the counts."""
    found = {}
    for row in samples:
        if row["name"] == columns.COUNTED and row["edge"] in ("start", "end"):
            middle = (row["sent_ns"] + row["returned_ns"]) / 2
            found[f"window_{row['edge']}_us"] = _us(middle, clock.start_monotonic_ns)
    return clock.model_copy(update=found) if len(found) == 2 else clock


def _with_all_operations(clock: Clock, folder: RunFolder) -> Clock:
    """The clock with the window from the users' start until the last operation is over, also where it was killed."""
    with operations_of(folder) as rows:
        ((last_us,),) = rows.aggregate("max(t_start_us + latency_us)").fetchall()
    ends = [one for one in (clock.window_end_us, None if last_us is None else int(last_us) + 1) if one is not None]
    return clock.model_copy(update={"window_start_us": 0, "window_end_us": max(ends)} if ends else {})
