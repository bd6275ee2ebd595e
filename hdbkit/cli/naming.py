"""Runs and sweeps given on the command line by an id, a unique part of one, or ``last``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from hdbkit.cli.completion import any_names, run_names
from hdbkit.errors import InputError

RunId = Annotated[
    str, typer.Argument(help="a run's id, a unique part of it, its label, or 'last'", autocompletion=run_names)
]
AnyId = Annotated[
    str,
    typer.Argument(
        help="the id of a run or a sweep, a unique part of it, a run's label, or 'last'", autocompletion=any_names
    ),
]

Run = TypeVar("Run")
Sweep = TypeVar("Sweep")


def run_or_sweep(wanted: str, run: Callable[[str], Run], sweep: Callable[[str], Sweep]) -> Run | Sweep:
    """The run of this name, else the sweep of this name. Raises ``InputError`` about runs when there is neither."""
    try:
        return run(wanted)
    except InputError as error:
        try:
            return sweep(wanted)
        except InputError:
            raise error from None
