"""The command that writes a population to files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.exits import Exit, stopped_like_ctrl_c
from hdbkit.cli.options import Sectioned, schema_options
from hdbkit.cli.schema import AsJson
from hdbkit.loading import Format
from hdbkit.workloads import specification


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    scale = " ".join(specification().words)
    app.command(cls=Sectioned, epilog=f"Example: hdbkit datagen {scale} --format parquet")(datagen)


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
    if as_json:
        show.print_json(documents.of_written(done))
        return Exit.DONE
    earlier = f"; {done.kept} of {len(done.chunks)} chunks were there already" if done.kept else ""
    following = shlex.join(["hdbkit", "build", "TARGET", "--from-files", str(done.folder)])
    show.console.print(
        f"{done.rows:,} rows, {done.size_bytes / 1e6:,.1f} MB in {done.folder}{earlier}; next: {following}",
        markup=False,
        soft_wrap=True,
    )
    return Exit.DONE
