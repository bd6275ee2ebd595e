"""Commands that read results: doctor, runs, report. They change nothing but their own output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.exits import Exit
from hdbkit.cli.options import (
    AnyId,
    AsJson,
    RunId,
    Sectioned,
    WorkloadOption,
    Yes,
    add_group,
    run_or_experiment,
    with_schema,
)
from hdbkit.errors import InputError
from hdbkit.later import pandas as pd
from hdbkit.report.run_list import highest
from hdbkit.text import number

_SHORT = ("run_id", "status", "metric_value", "metric", "operations_per_s", "p95_ms", "checks_failed", "label")
_WIDE = ("mean_ms", "cpu_pct", "memory_used_bytes", "disk_read_bytes_per_s", "disk_write_bytes_per_s")
_OMITTED = ("p95_ms", "checks_failed", "metric", "label")
"""The columns that a narrow screen leaves out, the first first."""


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(cls=Sectioned, epilog="Example: hdbkit doctor postgresql://bench@db1/lab")(doctor)
    app.command(epilog="Example: hdbkit report last")(report)
    app.command(epilog="Example: hdbkit chart last throughput --file throughput.png")(chart)
    add_group(
        app,
        "runs",
        "List, show, tag and remove runs.",
        examples={
            "list": "--where 'virtual_users = 8' --csv",
            "show": "last",
            "tag": "last nightly release-2",
            "note": "last 'with the new kernel'",
            "rm": "20261120-2104 --yes",
        },
        list=runs_list,
        show=runs_show,
        tag=runs_tag,
        note=runs_note,
        rm=runs_rm,
    )


@with_schema
def doctor(
    target: Annotated[
        str | None, typer.Argument(help="URL without password, or name in params/targets.yaml", show_default=False)
    ] = None,
    workload: WorkloadOption = None,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
) -> int:
    """Examine a target before it is measured; without one, show the usable drivers and private servers.

    It reads; on another product than the engine's own it also creates and drops a table and a routine
    hdbkit_probe_... The exit code is 1 if runs on the target would fail.
    """
    found = api.doctor(target, workload=workload, **fields)
    if as_json or target is None:
        show.frame(found, as_json)
    else:
        show.findings(found)
    good = found["usable"].any() if target is None else not (found["state"] == "problem").any()
    return Exit.DONE if good else Exit.CHECK_FAILED


def report(run_id: AnyId = "last", as_json: AsJson = False) -> None:
    """Write the one-page report of a run or an experiment; 'last' is the experiment if it measured last."""
    found, _ = _reported(run_id)
    path = str(found.report())
    show.answer(as_json, {"report": path}, path)


def chart(
    run_id: AnyId,
    key: Annotated[str | None, typer.Argument(help="which chart; without it, they are listed")] = None,
    file: Annotated[
        Path | None, typer.Option(help="where it is written: .png, .svg, .pdf or .html [default: KEY.html]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write one chart of a run, a sweep or a comparison to a file; with --json, its question, figure and numbers."""
    found, name = _reported(run_id)
    charts = found.charts()
    if key is None:
        rows = [{"chart": name, "question": one.question} for name, one in charts.items()]
        show.notes.print(f"charts of {name}", markup=False)
        show.frame(pd.DataFrame(rows), as_json)
        return
    if key not in charts:
        raise InputError(f"there is no chart '{key}'; there is {', '.join(charts) or 'none'}")
    if as_json:
        show.print_json(charts[key].spec())
    else:
        show.notes.print(f"{key} of {name}", markup=False)
        show.console.print(str(charts[key].save(file or Path(f"{key}.html"), title=True)), markup=False)


def _reported(wanted: str) -> tuple[api.Result | api.ExperimentResult, str]:
    """The run or the experiment of this name, and its id; the last run stands for the experiment it is a part of."""
    run = run_or_experiment(wanted, api.result, api.experiment_result)
    if not isinstance(run, api.Result):
        return run, wanted
    place = run.manifest.plan.experiment
    if wanted != "last" or place is None:
        return run, run.run_id
    try:
        return api.experiment_result(place.experiment_id), place.experiment_id
    except InputError:  # the run was copied without it, or it has no result yet
        return run, run.run_id


def runs_list(
    where: Annotated[
        str | None,
        typer.Option(
            help="SQL filter over columns, metrics and options, such as \"virtual_users = 8 and label = 'nightly'\""
        ),
    ] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="with a column for each option and setting in which the runs differ")
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="print all columns as CSV")] = False,
    as_json: AsJson = False,
) -> None:
    """List the runs, newest first."""
    found = api.runs(where, wide=wide)
    for sentence in found.attrs["damaged"]:
        show.notes.print(f"skipped: {sentence}", markup=False)
    if as_json:
        show.print_json(documents.of_frame(found))
    elif csv:
        found.to_csv(sys.stdout, index=False)
    else:
        # like all times on the screen in ms; files have microseconds
        shown = found.assign(p95_ms=found["p95_us"] / 1000, mean_ms=found["mean_us"] / 1000)
        columns = [*_SHORT, *(_WIDE if wide else ()), *found.attrs.get("differing", ())]
        if found.empty:
            show.console.print(repr(found), markup=False)
            return
        more = columns[len(_SHORT) :]  # what the runs differ in is left out last
        show.console.print(
            show.table(shown, columns=columns, omit=(*_OMITTED, *(_WIDE if wide else ()), *reversed(more)))
        )
        for _, one in highest(found).iterrows():
            best = f"highest {one['metric']}: {number(one['metric_value'])}, {one['run_id']}"
            show.console.print(best, markup=False, soft_wrap=True)


def runs_show(
    run_id: RunId = "last",
    plans: Annotated[bool, typer.Option("--plans", help="show the optimizer's plan of each query")] = False,
    users: Annotated[bool, typer.Option("--users", help="show the latencies of each virtual user")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a run: result, latencies, checks."""
    result = api.result(run_id)
    of_users = result.users() if users else None
    if as_json:
        limit = result.bottleneck
        content = result.manifest.model_dump(mode="json") | {"bottleneck": limit and limit.model_dump(mode="json")}
        if result.manifest.one_by_one:
            content["executions"] = documents.of_frame(result.executions())
        if plans:
            content["slow_plans"] = documents.of_frame(result.slow_plans)
            content["plans"] = {name: one.model_dump(mode="json") for name, one in result.plans.items()}
        if of_users is not None:
            content["users"] = documents.of_frame(of_users)
        show.print_json(content)
    elif of_users is not None:
        show.console.print(show.table(of_users))
    elif plans:
        show.plans(result)
    else:
        show.run(result)


def runs_tag(
    run_id: RunId,
    tags: Annotated[list[str], typer.Argument(help="tags, one word each")],
    remove: Annotated[bool, typer.Option("--remove", help="remove the tags")] = False,
    as_json: AsJson = False,
) -> None:
    """Add tags to a run, or remove them."""
    result = api.result(run_id)
    result.tag(*tags, remove=remove)
    run, kept = result.run_id, result.manifest.tags
    show.answer(as_json, {"run_id": run, "tags": kept}, f"{run}: {', '.join(kept) or 'no tags'}")


def runs_note(
    run_id: RunId,
    text: Annotated[str, typer.Argument(help="the note; '' removes it")],
    at_s: Annotated[float | None, typer.Option("--at", help="of a time, in seconds since the run's start")] = None,
    as_json: AsJson = False,
) -> None:
    """Attach a note to a run, in place of its earlier note, or to a time of it as an event."""
    result = api.result(run_id)
    result.note(text, at_s)
    run, note = result.run_id, result.manifest.note
    noted = [one.model_dump() for one in result.manifest.annotations]
    show.answer(as_json, {"run_id": run, "note": note, "annotations": noted}, f"{run}: {note or 'no note'}")


def runs_rm(run_id: RunId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a run's folder permanently."""
    result = api.result(run_id)
    result.require_removable()
    if not yes:
        typer.confirm(f"Delete {result.folder.path}?", abort=True, err=True)
    result.remove()
    show.answer(as_json, {"removed": result.run_id}, f"removed {result.run_id}")
