"""The command that finds the highest rate within a limit on latency."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.api.max_rate import DEFAULT_BLOCKS
from hdbkit.cli import show
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.options import Sectioned, load_options
from hdbkit.cli.preparing import CooldownS, Reset, preparation
from hdbkit.cli.progress import ExperimentLines, RunLines
from hdbkit.cli.schema import AsJson, TargetArgument, WorkloadOption, with_schema
from hdbkit.config.specs import load_from, read_load
from hdbkit.workloads import specification

_EXAMPLE = "Example: hdbkit find-max lab --limit p95=20ms -u 50 --rampup-s 10 --duration-s 60"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("find-max", cls=Sectioned, epilog=_EXAMPLE)(find_max)


@load_options()
@with_schema
@stopped_like_ctrl_c()
def find_max(
    target: TargetArgument,
    limit: Annotated[str, typer.Option(help="limit on the response time, such as p95=20ms")],
    workload: WorkloadOption = None,
    params: Annotated[Path | None, typer.Option(help="YAML file with load options")] = None,
    blocks: Annotated[int, typer.Option(min=2, help="runs at each rate around the limit")] = DEFAULT_BLOCKS,
    label: Annotated[str | None, typer.Option(help="label of the runs")] = None,
    reset: Reset = None,
    cooldown_s: CooldownS = None,
    detach: Annotated[bool, typer.Option("--detach", help="start the search and return; see: hdbkit attach")] = False,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> int:
    """Find the highest rate of an open loop that keeps a limit on the response time, with its confidence interval.

    Runs bracket and bisect the limit, then each block has a run at each rate around it, in random order.
    """
    values = read_load(params).given if params else {}
    load = load_from({**values, **given}) if values or given else None
    spec = specification(workload, **fields) if workload is not None or fields else None
    asked: dict[str, Any] = {"blocks": blocks, "label": label, "preparation": preparation(reset, cooldown_s)}
    if detach:
        planned = api.plan_max_rate(target, limit, spec, load, **asked)
        return show.left_alone(api.start_experiment(planned).experiment_id, as_json)
    with RunLines() as lines:
        watch_run = None if as_json else lines
        found = api.find_max(target, limit, spec, load, watch=ExperimentLines(), watch_run=watch_run, **asked)
    show_max_rate(found, as_json)
    return Exit.DONE


def show_max_rate(found: api.MaxRate, as_json: bool) -> None:
    """Show the result of a search, and write its report."""
    report = found.report()
    if as_json:
        show.print_json(documents.of_max_rate(found, report))
        return
    show.console.print(show.table(found.runs))
    show.console.print(found.answer, markup=False, style="bold")
    show.console.print(f"report: {report}", markup=False)
