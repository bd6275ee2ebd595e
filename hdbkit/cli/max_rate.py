"""The command that finds the highest rate within a limit on latency."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.api.alternating import new_label
from hdbkit.api.max_rate import DEFAULT_BLOCKS
from hdbkit.cli import show
from hdbkit.cli.exits import stopped_like_ctrl_c
from hdbkit.cli.options import Sectioned, load_options
from hdbkit.cli.progress import RunLines
from hdbkit.cli.schema import AsJson, TargetArgument, WorkloadOption, with_schema
from hdbkit.config.specs import load_from, read_load
from hdbkit.errors import RunFailed
from hdbkit.workloads import specification

_HINT = "  to continue: the same command with --label {label}"
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
    label: Annotated[
        str | None, typer.Option(help="label of the runs; those that have it are kept, so that this continues")
    ] = None,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
    given: dict[str, Any],
) -> None:
    """Find the highest rate of an open loop that keeps a limit on the response time, with its confidence interval.

    Runs bracket and bisect the limit, then each block has a run at each rate around it, in random order.
    """
    values = read_load(params).given if params else {}
    load = load_from({**values, **given}) if values or given else None
    spec = specification(workload, **fields) if workload is not None or fields else None
    label = label or new_label("find-max")
    with RunLines() as lines, _continued(label):
        found = api.find_max(
            target,
            limit,
            spec,
            load,
            blocks=blocks,
            label=label,
            watch=_Lines(),
            watch_run=None if as_json else lines,
        )
    report = found.report()
    if as_json:
        show.print_json(documents.of_max_rate(found, report))
        return
    show.console.print(show.table(found.runs))
    show.console.print(found.answer, markup=False, style="bold")
    show.console.print(f"report: {report}", markup=False)


@contextmanager
def _continued(label: str) -> Iterator[None]:
    """When a search is stopped, or fails: how to continue it."""
    try:
        yield
    except (KeyboardInterrupt, RunFailed):
        show.notes.print(_HINT.format(label=label), markup=False)
        raise


class _Lines:
    """A line for each finished run, and before the first how to continue."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, run: api.MaxRateRun) -> None:
        """Print the run."""
        if not self._number:
            show.notes.print(_HINT.format(label=run.label), markup=False)
        self._number += 1
        stage = f"block {run.block}" if run.block else "search"
        if run.rate is None:
            what = f"closed loop: {run.result.operations_per_s:,.4g}/s"
        else:
            value = "none" if math.isnan(run.value_ms) else f"{run.value_ms:,.4g} ms"
            what = f"{run.rate:10,.4g}/s  {run.limit.quantile} {value:>12}  {'within' if run.within else 'beyond'}"
        show.notes.print(
            f"  run {self._number:3}  {stage:8}  {what}{'' if run.measured else '  (kept)'}", markup=False
        )
