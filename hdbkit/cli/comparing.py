"""The command that compares two groups of runs, and measures them in turn on request."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.analysis.comparison.plans import plans_note
from hdbkit.analysis.comparison.sides import DEFAULT_BLOCKS, settings_apart
from hdbkit.analysis.wording import about
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.options import Sectioned, load_options
from hdbkit.cli.preparing import CooldownS, Reset, preparation
from hdbkit.cli.progress import ExperimentLines, RunLines
from hdbkit.cli.schema import AsJson, WorkloadOption, with_schema
from hdbkit.config.quantities import counts_in
from hdbkit.config.specs import load_from, read_load
from hdbkit.errors import InputError
from hdbkit.text import percent_of
from hdbkit.workloads import specification

_EXAMPLES = (
    "Example: hdbkit compare BEFORE AFTER --fail-below -2%; "
    "hdbkit compare server-17 server-18 --run --blocks 8 -u 1,4,16 --rampup-s 30 --duration-s 60"
)
_SIDE = "runs, separated by commas, or a label or profile; with --run also a target"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(cls=Sectioned, epilog=_EXAMPLES)(compare)


@load_options("virtual_users")
@with_schema
def compare(
    base: Annotated[str, typer.Argument(help=_SIDE)],
    new: Annotated[str, typer.Argument(help=_SIDE)],
    run: Annotated[bool, typer.Option("--run", help="measure both sides in turn now, in one session")] = False,
    together: Annotated[
        bool,
        typer.Option("--together", help="with --run: both at the same time, on two servers; for a busy host"),
    ] = False,
    blocks: Annotated[
        int | None, typer.Option(min=1, help=f"with --run: runs of each side at each user count [{DEFAULT_BLOCKS}]")
    ] = None,
    virtual_users: Annotated[
        str | None, typer.Option("--virtual-users", "-u", help="with --run: user counts to run at, such as 1,4,16")
    ] = None,
    workload: WorkloadOption = None,
    params: Annotated[Path | None, typer.Option(help="with --run: YAML file with load options")] = None,
    label: Annotated[
        str | None,
        typer.Option(help="with --run: label of the runs"),
    ] = None,
    reset: Reset = None,
    cooldown_s: CooldownS = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="with --run: start the comparison and return; see: hdbkit attach")
    ] = False,
    fail_below: Annotated[
        str | None,
        typer.Option(
            help="exit with 1 if the metric is certainly worse than this limit; "
            "-2%: 2 % less of a rate, 2 % more of a time"
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="also exit with 1 if that is undecided")] = False,
    report: Annotated[bool, typer.Option("--report", help="also write the one-page report")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="also list settings that only one side has, as two engines do")
    ] = False,
    plans: Annotated[
        bool, typer.Option("--plans", help="also show the plans of queries that differ, side by side")
    ] = False,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> int:
    """Compare runs: the ratio of their results with its 95 % confidence interval, latencies, and what differs.

    With --run both sides are measured in turn first: those of the same session differ only by what is compared.
    """
    limit = _fraction(fail_below)
    values = read_load(params).given if params else {}
    load = load_from({**values, **given}) if values or given else None
    spec = specification(workload, **fields) if workload is not None or fields else None
    if not run:
        if (
            together
            or detach
            or any(one is not None for one in (blocks, virtual_users, load, spec, label, reset, cooldown_s))
        ):
            raise InputError("--together, --blocks, --label, --detach and the options of load and schema need --run")
        found = api.compare(base, new)
    else:
        asked: dict[str, Any] = {
            "together": together, "blocks": blocks or DEFAULT_BLOCKS, "workload": spec, "load": load, "label": label,
            "virtual_users": counts_in(virtual_users, "--virtual-users") if virtual_users else (),
            "preparation": preparation(reset, cooldown_s),
        }  # fmt: skip
        planned = api.plan_comparison(base, new, **asked)
        if (power := api.planned_power(planned)) is not None:
            show.notes.print(power.sentence, markup=False)
        if detach:
            return show.left_alone(api.start_experiment(planned).experiment_id, as_json)
        with stopped_like_ctrl_c(), RunLines() as lines:
            watch_run = None if as_json else lines
            done = api.run_experiment(planned, watch=ExperimentLines(), watch_run=watch_run)
        assert isinstance(done, api.Comparison)
        found = done
    gate = None if limit is None else found.gate(limit)
    show_comparison(found, as_json, report=report, gate=gate, everything=everything, plans=plans)
    return Exit.CHECK_FAILED if gate and gate.fails(strict) else Exit.DONE


def show_comparison(
    found: api.Comparison,
    as_json: bool,
    *,
    report: bool,
    gate: api.Gate | None = None,
    everything: bool = False,
    plans: bool = False,
) -> None:
    """Show a comparison, and write its report on request."""
    path = found.report() if report else None
    if as_json:
        show.print_json(documents.of_comparison(found, gate, path))
        return
    _print(found, gate, everything)
    if plans:
        show.plan_pairs(found.plans, found.names)
    if path:
        show.console.print(f"report: {path}", markup=False)


def show_engine_demo(name: str, blocks: int | None, as_json: bool) -> int:
    """Compare two engines on the workload of a demo, and write the report."""
    with RunLines() as lines:
        found = api.demo_engines(name, blocks=blocks, watch=ExperimentLines(), watch_run=None if as_json else lines)
    if as_json:
        show.print_json(documents.of_comparison(found, None, found.report()))
    else:
        show.console.print("; ".join(found.names), markup=False)
        _print(found, None, everything=False)
        show.console.print(f"report: {found.report()}", markup=False)
    return Exit.DONE


def _print(found: api.Comparison, gate: api.Gate | None, everything: bool) -> None:
    """The comparison on the screen."""
    show.console.print(found.ratio.sentence, markup=False, style="bold")
    if found.basis:
        show.console.print(found.basis, markup=False)
    if gate:
        show.console.print(gate.sentence, markup=False, style="bold")
    for warning in found.warnings:
        show.console.print(f"warning: {warning}", markup=False)
    figures = found.table.rename(index={"metric_value": found.metric.heading})
    changes = figures["change"].map(percent_of, na_action="ignore").astype(object)
    show.console.print(show.table(figures.assign(change=changes).reset_index()))
    show.console.print(f"{about(found.metric)}; a ratio above 1 is better", markup=False)
    if len(found.by_users):
        measured = ["base", "new", "base_operations_per_s", "new_operations_per_s"]
        by_users = found.by_users[["virtual_users", *measured, "ratio", "low", "high", "verdict"]]
        show.console.print(show.table(by_users, title="By user count, simultaneous 95 % intervals"))
    if len(found.by_operation):
        by_operation = found.by_operation.drop(columns="sentence").rename(columns={"base": "base s", "new": "new s"})
        show.console.print(show.table(by_operation, title="By operation, simultaneous 95 % intervals"))
    listed, apart = (found.differences, "") if everything else settings_apart(found.differences)
    if len(listed):
        show.console.print(show.table(listed.reset_index(), title="Differences"))
    if note := plans_note(found.plans):
        show.console.print(f"{note}; see them with --plans", markup=False)
    if apart:
        show.console.print(f"{apart}; list them with --all", markup=False)


def _fraction(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        limit = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        limit = math.nan
    if not -1 < limit <= 0:
        raise InputError(
            f"--fail-below must be a change above -100% and at most 0%, such as -2% or -0.02, not '{text}'"
        )
    return limit
