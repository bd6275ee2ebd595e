"""Commands about files: they write a population, and import settings and results of another tool."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.options import AsJson, Sectioned, schema_options
from hdbkit.hammerdb import is_settings_file
from hdbkit.loading import Format
from hdbkit.text import many
from hdbkit.workloads import specification


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    scale = " ".join(specification().words)
    app.command(cls=Sectioned, epilog=f"Example: hdbkit datagen {scale} --format parquet")(datagen)
    app.command("import", epilog="Example: hdbkit import hammer.DB")(_import)


@stopped_like_ctrl_c()
@schema_options("schema_from")
def datagen(
    workload: Annotated[str | None, typer.Argument(help="name of a workload, or a folder that defines one")] = None,
    folder: Annotated[Path, typer.Option(help="where the files are, created if missing")] = Path("data"),
    format: Annotated[
        Format, typer.Option(help="text: tab-separated, as COPY and LOAD DATA read it; bcp: with format files")
    ] = Format.CSV,
    chunks: Annotated[
        int | None, typer.Option(min=1, help="number of files of each table [default: one per part of the data]")
    ] = None,
    chunk: Annotated[list[int] | None, typer.Option(min=1, help="write only this chunk, from 1; repeatable")] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="processes [default: one per core]")] = None,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
) -> int:
    """Write a workload's rows to files, for other loaders and for hdbkit build --from-files.

    An interrupted command continues where it was; other files are never replaced.
    """
    try:
        with show.notes.status("writing") as line:
            done = api.datagen(
                workload,
                folder,
                format=format,
                chunks=chunks,
                chunk=chunk or (),
                processes=processes,
                progress=lambda ready, all_chunks, rows: line.update(
                    f"{ready} of {all_chunks} chunks, {rows:,} rows written"
                ),
                **fields,
            )
    except KeyboardInterrupt:
        show.notes.print("stopped; complete chunks are kept, and the same command continues with the others")
        return Exit.STOPPED
    earlier = f"; {done.kept} of {len(done.chunks)} chunks were there already" if done.kept else ""
    following = shlex.join(["hdbkit", "build", "TARGET", "--from-files", str(done.folder)])
    written = f"{done.rows:,} rows, {done.size_bytes / 1e6:,.1f} MB in {done.folder}{earlier}; next: {following}"
    show.answer(as_json, documents.of_written(done), written)
    return Exit.DONE


def _import(
    file: Annotated[
        Path,
        typer.Argument(
            help="of HammerDB a script (.tcl, .py, .sh), a configuration (.xml), hammer.DB, hammerdb.log or a job as "
            "JSON; what pgbench or sysbench printed, a log of pgbench, a summary or a list of requests of BenchBase"
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
) -> int:
    """Import results of another tool as runs, or translate settings of HammerDB into a target and a load.

    A script or a configuration is translated; nothing of it is executed. Any other file has results.
    """
    if not is_settings_file(file):
        return _import_results(file, as_json)
    done = api.import_settings(file, folder, benchmark=benchmark, database=database)
    if as_json:
        commands = {"build": done.build_command, "run": done.run_command}
        left_out = documents.of_frame(done.left_out)
        show.print_json({"files": list(map(str, done.files)), "commands": commands, "left_out": left_out})
        return Exit.DONE
    if len(done.left_out):
        show.console.print("without a counterpart:")
        show.console.print(show.table(done.left_out))
    for line in (
        *(f"wrote {path}" for path in done.files),
        f"build: {done.build_command}",
        f"run: {done.run_command}",
    ):
        show.console.print(line, markup=False, soft_wrap=True)
    return Exit.DONE


def _import_results(file: Path, as_json: bool) -> int:
    done = api.import_results(file)
    code = Exit.DONE if done.run_ids else Exit.WRONG_INPUT
    if as_json:
        left_out = documents.of_frame(done.left_out)
        show.print_json({"runs": list(done.run_ids), "left_out": left_out, "remarks": list(done.remarks)})
        return code
    if len(done.left_out):
        show.console.print("not imported:")
        show.console.print(show.table(done.left_out))
    for run_id in done.run_ids:
        show.console.print(f"imported {run_id}", markup=False, soft_wrap=True)
    for remark in done.remarks:
        show.notes.print(f"warning: {remark}", markup=False, soft_wrap=True)
    following = "; see: hdbkit runs list" if done.run_ids else ""
    show.console.print(f"{many(len(done.run_ids), 'run')} imported{following}", markup=False)
    return code
