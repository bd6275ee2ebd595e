"""The command that finds the highest rate within a limit on latency."""

from __future__ import annotations

from typing import Annotated

import typer

from hdbkit import api
from hdbkit.api.max_rate import DEFAULT_BLOCKS
from hdbkit.cli.asked import Asked, experiment_options
from hdbkit.cli.options import Sectioned
from hdbkit.cli.schema import TargetArgument
from hdbkit.errors import InputError

_EXAMPLE = "Example: hdbkit find-max lab --limit p95=20ms -u 50 --rampup-s 10 --duration-s 60"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("find-max", cls=Sectioned, epilog=_EXAMPLE)(find_max)


def _point_to_limit(given: float | None) -> None:
    """Raise ``InputError`` for an option that is easily taken for ``--limit``, before that is found missing."""
    if given is not None:
        raise InputError(
            "find-max measures all operations, so it has no --latency-limit-ms, which skips late ones; give the "
            "limit to search for as --limit, such as --limit p95=20ms"
        )


@experiment_options("latency_limit_ms")
def find_max(
    target: TargetArgument,
    limit: Annotated[str, typer.Option(help="limit on the response time, such as p95=20ms")],
    blocks: Annotated[int, typer.Option(min=2, help="runs at each rate around the limit")] = DEFAULT_BLOCKS,
    label: Annotated[str | None, typer.Option(help="label of the runs")] = None,
    *,
    _latency_limit_ms: Annotated[
        float | None, typer.Option("--latency-limit-ms", hidden=True, is_eager=True, callback=_point_to_limit)
    ] = None,
    asked: Asked,
) -> int:
    """Find the highest rate of an open loop that keeps a limit on the response time, with its confidence interval.

    Runs bracket and bisect the limit, then each block has a run at each rate around it, in random order.
    """
    planned = api.plan_max_rate(
        target, limit, asked.workload, asked.load, blocks=blocks, label=label, preparation=asked.preparation
    )
    return asked.shown(planned)
