"""Commands about workloads of one's own: a new folder, and whether a server accepts its statements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.exits import Exit
from hdbkit.cli.schema import AsJson, TargetArgument


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    about = typer.Typer(
        help="Begin a workload of your own, and check its statements.", no_args_is_help=True, rich_markup_mode=None
    )
    about.command("new", epilog="Example: hdbkit workload new shop")(new)
    about.command("check", epilog="Example: hdbkit workload check shop postgresql://bench@db1/lab")(check)
    app.add_typer(about, name="workload")


def new(folder: Annotated[Path, typer.Argument(help="a new folder")], as_json: AsJson = False) -> None:
    """Write the folder of a new workload, which can be built and run as it is."""
    files = api.new_workload(folder)
    if as_json:
        show.print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        show.console.print(str(file), markup=False)
    following = f"hdbkit build TARGET --workload {folder}, then: hdbkit workload check {folder} TARGET"
    show.console.print(f"next: {following}", markup=False)


def check(
    workload: Annotated[Path, typer.Argument(help="the folder of the workload")],
    target: TargetArgument,
    as_json: AsJson = False,
) -> int:
    """Have a target's server parse each statement of a workload's operations; nothing is executed."""
    found = api.check_workload(target, workload)
    if as_json:
        show.print_json(documents.of_frame(found))
    else:
        show.console.print(show.table(found))
    return Exit.CHECK_FAILED if (found["state"] == "rejected").any() else Exit.DONE
