"""Arguments and options that several commands have, and how a run or an experiment is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from hdbkit.cli.completion import any_names, run_names, targets
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
_TARGET_HELP = "URL without password, name in params/targets.yaml, or folder of a kept private server"
TargetArgument = Annotated[str, typer.Argument(help=_TARGET_HELP, autocompletion=targets)]
WorkloadOption = Annotated[
    str | None, typer.Option("--workload", "-w", help="name of a workload, or a folder that defines one")
]
Users = Annotated[str | None, typer.Option("--virtual-users", "-u", help="user counts to run at, such as 1,4,16")]
LoadFile = Annotated[Path | None, typer.Option("--params", help="YAML file with load options")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for machines")]

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
