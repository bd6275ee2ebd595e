"""The command that compares two groups of runs, and measures them in turn on request."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from hdbkit import api
from hdbkit.analysis.comparison.sides import DEFAULT_BLOCKS
from hdbkit.cli.asked import Asked, experiment_options
from hdbkit.cli.exits import Exit
from hdbkit.cli.found import show_comparison
from hdbkit.cli.options import Sectioned
from hdbkit.config.quantities import counts_in
from hdbkit.errors import InputError

_EXAMPLES = (
    "Example: hdbkit compare BEFORE AFTER --fail-below -2%; "
    "hdbkit compare server-17 server-18 --run --blocks 8 -u 1,4,16 --rampup-s 30 --duration-s 60"
)
_SIDE = "runs, separated by commas, or a label or profile; with --run also a target"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(cls=Sectioned, epilog=_EXAMPLES)(compare)


@experiment_options("virtual_users")
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
    label: Annotated[str | None, typer.Option(help="with --run: label of the runs")] = None,
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
    *,
    asked: Asked,
) -> int:
    """Compare runs: the ratio of their results with its 95 % confidence interval, latencies, and what differs.

    With --run both sides are measured in turn first: those of the same session differ only by what is compared. The
    options of load, schema and preparation need --run.
    """
    limit = None if fail_below is None else _fraction(fail_below)
    counts = counts_in(virtual_users, "--virtual-users") if virtual_users else ()
    if not run and (asked.measures or together or blocks or counts or label):
        raise InputError("--together, --blocks, --label, --detach and the options of load and schema need --run")
    found = _measured(base, new, asked, together, blocks, counts, label) if run else api.compare(base, new)
    if found is None:  # it has started in a process of its own
        return Exit.DONE
    gate = None if limit is None else found.gate(limit)
    show_comparison(found, asked.as_json, report=report, gate=gate, everything=everything, plans=plans)
    return Exit.CHECK_FAILED if gate and gate.fails(strict) else Exit.DONE


def _measured(
    base: str, new: str, asked: Asked, together: bool, blocks: int | None, counts: tuple[int, ...], label: str | None
) -> api.Comparison | None:
    """Measure both sides in turn; None once that has started in a process of its own."""
    planned = api.plan_comparison(
        base, new, together=together, blocks=blocks or DEFAULT_BLOCKS, workload=asked.workload, load=asked.load,
        virtual_users=counts, label=label, preparation=asked.preparation,
    )  # fmt: skip
    found = asked.executed(planned)
    assert found is None or isinstance(found, api.Comparison)
    return found


def _fraction(text: str) -> float:
    try:
        limit = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        limit = math.nan
    if not -1 < limit <= 0:
        raise InputError(
            f"--fail-below must be a change above -100% and at most 0%, such as -2% or -0.02, not '{text}'"
        )
    return limit
