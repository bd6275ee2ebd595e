"""Runs and experiments given on the command line by an id, a unique part of one, or ``last``."""

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
        help="the id of a run or an experiment, a unique part of it, a run's label, or 'last'",
        autocompletion=any_names,
    ),
]

Run = TypeVar("Run")
Experiment = TypeVar("Experiment")


def run_or_experiment(
    wanted: str, run: Callable[[str], Run], experiment: Callable[[str], Experiment]
) -> Run | Experiment:
    """The run of this name, else the experiment of this name. Raises ``InputError`` about runs for neither."""
    try:
        return run(wanted)
    except InputError as error:
        try:
            return experiment(wanted)
        except InputError:
            raise error from None
