"""The end of every run, even if its supervisor died: spools and samples become the run folder's tables.

It reads files alone, so that the supervisor and ``hdbkit recover`` do the very same. What it has not turned into
Parquet completely stays where it was.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.faults import effects, lost_commits
from hdbkit.analysis.run.records import operations_of
from hdbkit.analysis.run.schedule import schedule_of
from hdbkit.analysis.run.slices import slice_table, slices_result
from hdbkit.analysis.run.steps import steps_result
from hdbkit.analysis.run.summary import summarize
from hdbkit.execution import client_notes, failures, load_hosts, profiler, sampler, switching, usage, waits
from hdbkit.execution.folder_setup import FAULTS, SERIALS
from hdbkit.execution.host import DEVICES
from hdbkit.execution.load_hosts import ClientFiles
from hdbkit.files import read_bytes
from hdbkit.readings import STATEMENT_TOTALS
from hdbkit.results import columns
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import CheckLine, Clock, FaultLine, Manifest
from hdbkit.results.run_result import ScheduleResult, SlicesResult
from hdbkit.results.writer import read_lines, write_operations, write_rows, write_table

_SAME_US = 1_500_000
"""How far apart two reports of one event are at most, as some servers keep whole seconds."""
MAX_EDGE_MS = 500.0
"""The maximum duration of the count at an edge of the window."""


def complete(folder: RunFolder, manifest: Manifest) -> Manifest:
    """Write all tables, the result and its checks; the manifest with both (not yet written).

    Safe to call again after a failure in the middle. Raises ``OSError`` when the disk is full; the spools then stay.
    """
    if manifest.clock is None:  # no operation has begun
        return manifest
    samples = _with_edges(read_lines(folder.spools / "counters.ndjson"))
    start_ns = manifest.clock.start_monotonic_ns
    files = load_hosts.client_files(folder.spools)
    seconds, counts = write_operations(
        [(one.folder, one.clock) for one in files],
        folder.operations,
        start_ns,
        len(manifest.operations),
        manifest.details,
    )
    clock = _with_window(manifest.clock, samples)
    manifest = _with_load_hosts(folder, manifest, start_ns)
    if manifest.one_by_one and manifest.phases[0].measured:
        clock = _with_all_operations(clock, folder)
    manifest = manifest.model_copy(update={"clock": clock})
    write_table(folder.table("seconds"), columns.SECONDS, seconds.columns())
    write_rows(folder.table("counters"), columns.COUNTERS, [_counter(row, start_ns) for row in samples])
    _write_hosts(folder, manifest, start_ns)
    clients = [
        *read_lines(folder.spools / "clients.ndjson"),
        *(row for one in files for row in (*usage.saved(one.folder), *load_hosts.ends(one.folder))),
    ]
    write_rows(folder.table("clients"), columns.CLIENTS, _clients(manifest, clients, counts))
    write_rows(folder.table("errors"), columns.ERRORS, _errors(files, start_ns))
    _write_sampled(folder, files, start_ns)
    if stacks := profiler.rows(folder.spools, {row["pid"] for row in clients if row.get("pid")}, start_ns):
        write_rows(folder.table("profile"), columns.PROFILE, stacks)
    if manifest.plan.slices:
        write_rows(folder.table("switches"), columns.SWITCHES, _switches(files, start_ns))
    manifest = manifest.model_copy(update={"faults": _faults(folder.spools, start_ns)})
    folder.write(manifest)
    return _with_result(folder, manifest, samples) if clock.window_end_us is not None else manifest


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


def _write_hosts(folder: RunFolder, manifest: Manifest, start_ns: int) -> None:
    """Write what the load hosts and the database's host reported of themselves."""
    host = read_lines(folder.spools / load_hosts.HOST_SAMPLES)
    if manifest.load_hosts:
        of_hosts = load_hosts.host_rows(folder.spools)
        host = load_hosts.together(of_hosts, host, folder.spools, manifest.host.boot_id or "")
        rows = [{**row, "t_us": _us(row["t_ns"], start_ns)} for row in of_hosts]
        write_rows(folder.table("load_hosts"), columns.LOAD_HOSTS, rows)
    host = [{**row, "t_us": _us(row["t_ns"], start_ns)} for row in host]
    write_rows(folder.table("host"), columns.HOST, host)
    of_devices = [
        {"t_us": row["t_us"], "name": name, "device": device, "value": value}
        for row in host
        for name, device, value in row.get(DEVICES, ())
    ]
    if of_devices:
        write_rows(folder.table("host_devices"), columns.HOST_DEVICES, of_devices)
    if found := sampler.sample_rows(read_lines(folder.spools / sampler.FILE), start_ns):
        write_rows(folder.table("server_host"), columns.SERVER_HOST, found)


def _write_sampled(folder: RunFolder, files: Sequence[ClientFiles], start_ns: int) -> None:
    """Write what the server was asked for beside the load, and which operations carried a comment."""
    if (folder.spools / waits.WAITS_FILE).is_file():
        write_rows(folder.table("waits"), columns.WAITS, list(_wait_rows(files, folder.spools, start_ns)))
    if traced := [*load_hosts.lines_of(files, client_notes.TRACE_FILES, ["t_ns"])]:
        rows = [{**one, "t_us": _us(one["t_ns"], start_ns)} for one in traced]
        write_rows(folder.table("traces"), columns.TRACES, rows)
    if reported := [*load_hosts.lines_of(files, client_notes.SLOW_PLAN_FILES, ["t_ns"])]:
        rows = [{**one, "t_us": _us(one["t_ns"], start_ns)} for one in client_notes.slowest_plans(reported)]
        write_rows(folder.table("slow_plans"), columns.SLOW_PLANS, rows)
    if totals := read_lines(folder.spools / sampler.STATEMENTS_FILE):
        write_rows(folder.table("statements"), columns.STATEMENTS, statement_growth(totals))
        if not all(one["edge"] for one in totals):
            courses = statement_courses(totals, start_ns)
            write_rows(folder.table("statement_courses"), columns.STATEMENT_COURSES, courses)
    if seen := read_lines(folder.spools / waits.EVENTS_FILE):
        write_rows(folder.table("events"), columns.EVENTS, _events(seen, start_ns))


def _events(seen: Sequence[Mapping[str, Any]], start_ns: int) -> list[dict[str, Any]]:
    """The events of the server, each once: it names one again while it is recent, at a time that may vary."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in seen:
        at_us, times = _us(one["t_ns"], start_ns), found.setdefault((one["kind"], one["text"]), [])
        if all(abs(at_us - known) > _SAME_US for known in times):
            times.append(at_us)
    return [{"t_us": at, "kind": kind, "text": text} for (kind, text), times in found.items() for at in times]


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


def _with_edges(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Close an open window at its last complete sample: the window is shorter but equally exact."""
    edges = {row["edge"] for row in samples}
    starts = [row["returned_ns"] for row in samples if row["edge"] == "start"]
    if "end" in edges or not starts:
        return samples
    between = [row for row in samples if not row["edge"] and row["sent_ns"] > max(starts)]
    last = max((row["sent_ns"] for row in between if row["name"] == columns.COUNTED), default=None)
    if last is None:
        return samples
    closing = {"edge": "end", "closed_late": True}
    return [{**row, **closing} if not row["edge"] and row["sent_ns"] >= last else row for row in samples]


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


def _counter(row: dict[str, Any], start_ns: int) -> dict[str, Any]:
    sent, returned = _us(row["sent_ns"], start_ns), _us(row["returned_ns"], start_ns)
    return {"t_sent_us": sent, "t_returned_us": returned} | {name: row[name] for name in ("edge", "name", "value")}


def statement_growth(totals: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What grew in the window, by statement; none where the server was not read at both edges."""
    if not set(sampler.WINDOW_EDGES) <= {one["edge"] for one in totals}:
        return []
    started = _started(totals)
    (end,) = (one for one in totals if one["edge"] == sampler.WINDOW_EDGES[1])
    found = ({"statement": row[0], "text": row[1], **_grown(row, started)} for row in end["rows"])
    return [one for one in found if one["calls"] > 0]


def statement_courses(totals: Sequence[Mapping[str, Any]], start_ns: int) -> list[dict[str, Any]]:
    """What grew from the window's start to each reading within it, by statement."""
    started = _started(totals)
    return [
        {"t_us": _us(one["t_ns"], start_ns), "statement": row[0], **_grown(row, started)}
        for one in totals
        for row in one["rows"]
    ]


def _started(totals: Sequence[Mapping[str, Any]]) -> dict[str, Sequence[Any]]:
    return {row[0]: row for one in totals if one["edge"] == sampler.WINDOW_EDGES[0] for row in one["rows"]}


def _grown(row: Sequence[Any], started: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """The growth of each total of a statement since the window's start, when a new one had none."""
    before = started.get(row[0], [None] * len(row))
    return {
        name: math.nan if value is None else value - (first or 0.0)
        for name, first, value in zip_longest(STATEMENT_TOTALS, before[2:], row[2:])
    }


def _switches(files: Sequence[ClientFiles], start_ns: int) -> list[dict[str, Any]]:
    """The changes of settings within the run, by clients or the sweep, in the order of their slices."""
    times = {"t_due_us": "due_ns", "t_start_us": "start_ns", "t_end_us": "end_ns"}
    lines = load_hosts.lines_of(files, switching.SWITCH_FILES, [*times.values()])
    rows = [line | {name: _us(line[of], start_ns) for name, of in times.items()} for line in lines]
    plain = [{name: row[name] for name in columns.SWITCHES} for row in rows]
    return sorted(plain, key=lambda row: (row["slice"], row["virtual_user"]))


def _clients(manifest: Manifest, lines: Iterable[dict[str, Any]], counts: dict[int, int]) -> list[dict[str, Any]]:
    """One row per client from the samples at the edges and the end; one without an end was killed."""
    rows = {
        client: {
            "client": client,
            "users": len(users),
            "first_user": users.start,
            "operations": counts.get(client, 0),
            "ended": "killed",
        }
        for client, users in enumerate(manifest.plan.load.clients if manifest.operations else ())
    }
    for line in lines:
        rows[line["client"]].update(line)
    return list(rows.values())


def _errors(files: Sequence[ClientFiles], start_ns: int) -> list[dict[str, Any]]:
    """The clients' errors, added up by class, code, text and operation."""
    total: dict[tuple[str, ...], dict[str, Any]] = {}
    for each, path in ((one, path) for one in files for path in sorted(one.folder.glob(failures.PATTERN))):
        for row in json.loads(read_bytes(path)):
            key = (row["error_class"], row["code"], row["text"], row["operation"])
            first, last = (_us(each.clock.one_here(row[name]), start_ns) for name in ("first_ns", "last_ns"))
            known = total.setdefault(key, {**row, "count": 0, "retried": 0, "first_us": first, "last_us": last})
            known["count"] += row["count"]
            known["retried"] += row["retried"]
            known["first_us"], known["last_us"] = min(known["first_us"], first), max(known["last_us"], last)
    return sorted(total.values(), key=lambda row: -row["count"])


def _wait_rows(files: Sequence[ClientFiles], spools: Path, start_ns: int) -> Iterator[dict[str, Any]]:
    """The rows of the table ``waits``; a sample has at least one row, that of the session that asked."""
    users = _Users(load_hosts.lines_of(files, waits.WAIT_FILES, ["t_ns"]))
    for line in read_lines(spools / waits.WAITS_FILE):
        for number, of_class, event, table, blocker, own, *age_s in line["rows"]:
            t_ns = line["sent_ns"] - round(1e9 * sum(age_s))
            yield {
                "t_us": (t_ns - start_ns) // 1000,
                "session": number,
                "virtual_user": users.of(number, t_ns),
                "class": "sampler" if own else of_class,
                "event": event or "",
                "table": table or "",
                "blocked_by": -1 if blocker is None else blocker,
                "blocked_by_user": -1 if blocker is None else users.of(blocker, t_ns),
            }


class _Users:
    """The virtual user of a session at a time: of all connections with its number, the latest before."""

    def __init__(self, connected: Iterable[Mapping[str, Any]]) -> None:
        self._by_number: dict[int, list[tuple[int, int]]] = {}
        for one in sorted(connected, key=lambda line: line["t_ns"]):
            self._by_number.setdefault(one["number"], []).append((one["t_ns"], one["virtual_user"]))

    def of(self, number: int, t_ns: int) -> int:
        found = [user for since_ns, user in self._by_number.get(number, ()) if since_ns <= t_ns]
        return found[-1] if found else -1
