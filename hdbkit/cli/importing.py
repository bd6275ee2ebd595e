"""The command that imports settings and results of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.schema import AsJson
from hdbkit.hammerdb import is_settings_file
from hdbkit.text import many


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("import", epilog="Example: hdbkit import hammer.DB")(_import)


def _import(
    file: Annotated[
        Path,
        typer.Argument(
            help="of HammerDB a script (.tcl, .py, .sh), a configuration (.xml), hammer.DB, hammerdb.log or a job as "
            "JSON; what pgbench or sysbench printed, a log of pgbench, a summary of BenchBase"
        ),
    ],
    folder: Annotated[Path, typer.Option(help="where targets.yaml and run.yaml are written")] = Path("imported"),
    benchmark: Annotated[
        str | None, typer.Option(help="TPC-C or TPC-H [default: what the file chooses, else TPC-C]")
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="HammerDB's name of the database, such as pg [default: what the file chooses]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import results of another tool as runs, or translate settings of HammerDB into a target and a load.

    A script or a configuration is translated; nothing of it is executed. Any other file has results.
    """
    if not is_settings_file(file):
        _import_results(file, as_json)
        return
    done = api.import_settings(file, folder, benchmark=benchmark, database=database)
    if as_json:
        commands = {"build": done.build_command, "run": done.run_command}
        left_out = documents.of_frame(done.left_out)
        show.print_json({"files": list(map(str, done.files)), "commands": commands, "left_out": left_out})
        return
    if len(done.left_out):
        show.console.print("without a counterpart:")
        show.console.print(show.table(done.left_out))
    for line in (
        *(f"wrote {path}" for path in done.files),
        f"build: {done.build_command}",
        f"run: {done.run_command}",
    ):
        show.console.print(line, markup=False, soft_wrap=True)


def _import_results(file: Path, as_json: bool) -> None:
    done = api.import_results(file)
    if as_json:
        show.print_json({"runs": list(done.run_ids), "left_out": documents.of_frame(done.left_out)})
        return
    if len(done.left_out):
        show.console.print("not imported:")
        show.console.print(show.table(done.left_out))
    for run_id in done.run_ids:
        show.console.print(f"imported {run_id}", markup=False, soft_wrap=True)
    show.console.print(f"{many(len(done.run_ids), 'run')} imported; see: hdbkit runs list", markup=False)
