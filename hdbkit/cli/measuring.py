"""Commands that measure: demo, run, sweep, watch, certify; and those that plan a sweep and complete a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.cli import completion, show
from hdbkit.cli.exits import Exit, Terminated, leaving_on_sigterm, stopped_like_ctrl_c
from hdbkit.cli.found import show_found, show_run
from hdbkit.cli.options import (
    AsJson,
    LoadFile,
    RunId,
    Sectioned,
    TargetArgument,
    UntilDecidedOption,
    UserCounts,
    WithinOption,
    WorkloadOption,
    load_options,
    with_schema,
)
from hdbkit.cli.progress import BuildBar, ExperimentLines, RunLines
from hdbkit.config import Load, SweepSpec
from hdbkit.config.quantities import counts_in, seconds_in
from hdbkit.config.specs import load_from, read_load
from hdbkit.config.sweep_spec import sweep_schema_text
from hdbkit.errors import InputError
from hdbkit.later import pandas as pd
from hdbkit.text import without_controls
from hdbkit.workloads import specification

_Blocks = Annotated[int | None, typer.Option(min=2, help="number of blocks in total: passes over all configurations")]


_SCHEMA_HELP = "print the JSON schema of sweep files for editors, and exit"
_RUN_EXAMPLES = "Example: hdbkit run lab -u 8 --rampup-s 30 --duration-s 120; hdbkit run lab --workload my-folder/"
_SWEEP_EXAMPLES = "Example: hdbkit sweep lab params/sweep-demo.yaml; hdbkit sweep lab params/sweep-demo.yaml --detach"

Maintain = Annotated[
    bool, typer.Option("--maintain", help="first let the server purge, vacuum and write changed pages")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog="Example: hdbkit demo --quick")(demo)
    app.command(cls=Sectioned, epilog=_RUN_EXAMPLES)(run)
    app.command(epilog="Example: hdbkit watch lab --duration-s 300 --label sysbench")(watch)
    app.command(cls=Sectioned, epilog=_SWEEP_EXAMPLES)(sweep)
    app.command(cls=Sectioned, epilog="Example: hdbkit plan lab params/sweep-demo.yaml")(plan)
    app.command(epilog="Example: hdbkit recover last")(recover)
    app.command(epilog="Example: hdbkit certify lab --file db2.json")(certify)


@stopped_like_ctrl_c()
def demo(
    target: Annotated[
        str | None,
        typer.Argument(help="measure this target instead of a private server", autocompletion=completion.targets),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="shorter runs: one to three minutes")] = False,
    blocks: _Blocks = None,
    database: Annotated[
        str | None, typer.Option(help="kind of private server", autocompletion=completion.startable_engines)
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="keep the server running afterwards")] = False,
    workload: Annotated[
        str | None, typer.Option(help="h: compare two engines on analytic queries, instead of a sweep")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="start the runs and return; see: hdbkit attach")] = False,
    as_json: AsJson = False,
) -> int:
    """Start a private server, build and check a schema, sweep settings, and write the report."""
    if workload is not None and (quick or database or keep or target):
        raise InputError("a target, --quick, --database and --keep are not for a demo with --workload")
    if target is not None and (database or keep):
        raise InputError("--database and --keep are for a private server; omit them, or the target")
    if detach and keep:
        raise InputError("with --detach the server is there until the sweep ends; omit --keep")
    with BuildBar() as bar, RunLines() as lines:
        built: Any = {"say": lambda line: show.notes.print(line, markup=False), "build_progress": bar}
        watched: Any = {"watch": ExperimentLines(), "watch_run": None if as_json else lines}
        asked: Any = {"target": target, "quick": quick, "blocks": blocks, "database": database}
        if detach:
            planned = api.plan_demo_engines(workload, blocks=blocks) if workload else api.plan_demo(**asked, **built)
            return show.left_alone(api.start_experiment(planned).experiment_id, as_json)
        if workload is not None:
            planned = api.plan_demo_engines(workload, blocks=blocks)
            return show_found(api.run_experiment(planned, **watched), as_json)
        done = api.demo(keep=keep, **asked, **built, **watched)
    show_found(done, as_json)
    return Exit.RUN_FAILED if done.failed else Exit.DONE  # on a busy host some checks fail; the demo succeeds


@load_options()
@with_schema
def run(
    target: TargetArgument,
    workload: WorkloadOption = None,
    params: LoadFile = None,
    label: Annotated[str | None, typer.Option(help="a name to find the run by")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="start the run and return; see: hdbkit attach")] = False,
    maintain: Maintain = False,
    count: Annotated[
        int | None,
        typer.Option("--show", min=1, help="perform so many operations one by one and print each; no run is stored"),
    ] = None,
    operation: Annotated[
        str | None,
        typer.Option(help="perform and print only this operation, once or --show times, with all its rows"),
    ] = None,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> int:
    """Run a workload against its schema. Ctrl-C stops the run and keeps the result; a second one stops at once."""
    values = read_load(params).given if params else {}
    load = load_from({**values, **given})
    spec = specification(workload, **fields)
    if maintain:
        show.notes.print(str(api.connect(target).maintain()), markup=False)
    if count or operation:
        shown = api.show_operations(target, spec, load, count=count or 1, operation=operation)
        return _show_operations(shown, as_json)
    if detach:
        running = api.start(target, spec, load, label=label)
        for warning in running.warnings:
            show.notes.print(f"warning: {warning}", markup=False)
        show.answer(as_json, {"run_id": running.run_id}, running.run_id)
        return Exit.DONE
    with RunLines() as lines:
        try:
            with leaving_on_sigterm():
                result = api.run(target, spec, load, label=label, watch=lines)
        except Terminated as left:
            return show.left_running(lines.run_id, Exit.TERMINATED, str(left))
    return show_run(result, as_json)


def watch(
    target: TargetArgument,
    duration_s: Annotated[float, typer.Option(min=1, help="length of the measured window, in seconds")] = 60,
    virtual_users: Annotated[
        int, typer.Option("--virtual-users", "-u", min=1, help="the number of users of the load, if you know it")
    ] = 1,
    label: Annotated[str | None, typer.Option(help="a name to find the run by")] = None,
    maintain: Maintain = False,
    as_json: AsJson = False,
) -> int:
    """Measure a server under the load of another program: counters, the schema's own count, waits, host.

    hdbkit sends no load. Ctrl-C ends the window and keeps the result. With --maintain, start that load when the
    window begins.
    """
    if maintain:
        show.notes.print(str(api.connect(target).maintain()), markup=False)
    show.notes.print(f"watching for {duration_s:g} s; Ctrl-C ends it and keeps the result", markup=False)
    load = Load(duration_s=duration_s, rampup_s=0, virtual_users=virtual_users, counter_interval_s=1)
    return show_run(api.watch(target, load, label=label), as_json)


def _show_operations(performed: Iterator[api.Shown], as_json: bool) -> int:
    """Print operations as they are performed; one that failed is a failed check."""
    outcomes = set()
    if as_json:
        found = list(performed)
        outcomes = {one.outcome for one in found}
        show.print_json([asdict(one) for one in found])
    else:
        for number, one in enumerate(performed, 1):
            outcomes.add(one.outcome)
            show.operation(number, one)
    return Exit.CHECK_FAILED if "failed" in outcomes else Exit.DONE


@load_options("virtual_users")
@with_schema
@stopped_like_ctrl_c()
def sweep(
    target: TargetArgument,
    spec: Annotated[Path, typer.Argument(help="YAML file of the sweep, or hammerpost's JSON")],
    workload: WorkloadOption = None,
    blocks: _Blocks = None,
    until_decided: UntilDecidedOption = False,
    within: WithinOption = None,
    virtual_users: UserCounts = None,
    detach: Annotated[bool, typer.Option("--detach", help="start the sweep and return; see: hdbkit attach")] = False,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> int:
    """Measure combinations of server settings in randomized blocks and compare each with the baseline.

    Options of the command line replace those of the file.
    """
    from hdbkit.api.sweeping import as_spec

    within_s = None if within is None else seconds_in(within, "--within")
    wanted = as_spec(_spec(spec, workload, fields, virtual_users, given), blocks, until_decided, within_s)
    if wanted.tried:
        for warning in api.connect(target).memory_warnings(wanted.tried):
            show.notes.print(f"warning: {warning}", markup=False)
    if detach:
        return show.left_alone(api.start_sweep(target, wanted).experiment_id, as_json)
    with RunLines() as lines:
        watch_run = None if as_json else lines
        done = api.sweep(target, wanted, watch=ExperimentLines(), watch_run=watch_run)
    return show_found(done, as_json)


def _print_schema(wanted: bool) -> None:
    if wanted:
        show.console.file.write(sweep_schema_text())
        raise typer.Exit


@load_options("virtual_users")
@with_schema
def plan(
    target: TargetArgument,
    spec: Annotated[Path, typer.Argument(help="YAML file of the sweep, or hammerpost's JSON")],
    workload: WorkloadOption = None,
    blocks: _Blocks = None,
    until_decided: UntilDecidedOption = False,
    within: WithinOption = None,
    virtual_users: UserCounts = None,
    json_schema: Annotated[  # noqa: ARG001 - its callback prints it
        bool, typer.Option("--json-schema", help=_SCHEMA_HELP, is_eager=True, callback=_print_schema)
    ] = False,
    chart: Annotated[
        Path | None, typer.Option(help="write a chart of the effects that it would find: .png, .svg, .pdf, .html")
    ] = None,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> None:
    """Print every run of a sweep in order, the estimated time, which effect the sweep would find, and its load hosts.

    What a sweep would refuse is refused; a server that cannot be asked is a note. The noise and the CPU time of
    clients are those of recent results.
    """
    from hdbkit.api.sweeping import as_spec, planned_as_measured

    within_s = None if within is None else seconds_in(within, "--within")
    asked = as_spec(_spec(spec, workload, fields, virtual_users, given), blocks, until_decided, within_s)
    planned, unasked = planned_as_measured(target, asked, None, api.DEFAULT)
    if unasked:
        show.notes.print(f"the server was not asked: {unasked}", markup=False, soft_wrap=True)
    power, hosts = api.planned_power(planned), api.planned_hosts(planned)
    if chart is not None:
        if power is None:
            raise InputError("the chart is of a grid that compares runs with a baseline; this sweep has none")
        power.chart.save(chart, title=True)
    if as_json:
        from hdbkit.api import documents

        show.print_json(documents.of_plan(planned, power, hosts))
        return
    show.plan(planned, power, hosts)
    if chart is not None:
        show.console.print(f"chart: {chart}", markup=False)


def _spec(
    path: Path, workload: str | None, fields: dict[str, Any], virtual_users: str | None, given: dict[str, Any]
) -> SweepSpec:
    """The sweep of a file, with the options of the command line in place of its own."""
    spec = SweepSpec.read(path)
    if workload is not None or fields:
        spec = spec.with_(workload=specification(workload or spec.workload, **fields))
    load = load_from({**spec.load.given, **given})
    counts = counts_in(virtual_users, "--virtual-users") if virtual_users else spec.virtual_users
    return spec.with_(load=load, virtual_users=counts)


def recover(run_id: RunId = "last", as_json: AsJson = False) -> int:
    """Complete the result of a run whose supervisor process died."""
    return show_run(api.attach(run_id).recover(), as_json, if_stopped=None)


def certify(
    target: Annotated[
        str | None, typer.Argument(help="URL without password, or name in params/targets.yaml; its database is empty")
    ] = None,
    file: Annotated[Path, typer.Option(help="the certificate that is written")] = Path("certificate.json"),
    verify: Annotated[Path | None, typer.Option(help="verify this certificate instead")] = None,
    as_json: AsJson = False,
) -> int:
    """Examine a server in every way, into one signed file to attach to an issue; or verify such a file.

    Doctor, the rules of engines, and each built-in workload at its smallest scale: build, checks, answers, a run, a
    fault. What it builds, it removes. The exit code is 1 if anything failed.
    """
    if (target is None) == (verify is None):
        raise InputError("give a target, or --verify with a certificate")
    if verify is not None:
        found = api.verify_certificate(verify)
    else:
        found = api.certify(str(target), file, progress=lambda name: show.notes.print(name, markup=False))
    code = Exit.DONE if found.passed else Exit.CHECK_FAILED
    if as_json:
        sealed = {"fingerprint": found.fingerprint, "passed": found.passed}
        show.print_json(found.content.model_dump(mode="json") | sealed)
        return code
    about = found.content.server
    rows = [
        {"step": one.name, "state": one.state, "s": one.took_s, "why": one.error or _failed(one.rows)}
        for one in found.content.steps
    ]
    head = f"{about.version or about.title}, {found.content.made:%Y-%m-%d %H:%M} UTC"
    show.console.print(without_controls(head), markup=False)
    show.console.print(show.table(pd.DataFrame(rows)))
    show.console.print(f"{found.path}, signed by {found.fingerprint}", markup=False, soft_wrap=True)
    return code


def _failed(rows: list[dict[str, object]]) -> str:
    return ", ".join(str(one.get("name", one.get("check", ""))) for one in rows if one.get("passed") is False)
