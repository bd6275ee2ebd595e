"""Commands about what is in a database: build, check, drop, and the SQL behind them."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from hdbkit import sql
from hdbkit.api import DEFAULT, connect, documents
from hdbkit.api.connection import checks_frame
from hdbkit.cli import completion, show
from hdbkit.cli.exits import Exit
from hdbkit.cli.options import (
    AsJson,
    Sectioned,
    TargetArgument,
    WorkloadOption,
    Yes,
    add_group,
    schema_options,
    with_schema,
)
from hdbkit.cli.progress import BuildBar
from hdbkit.config.cluster import FORMS, Cluster
from hdbkit.databases import database
from hdbkit.loading import DataFiles
from hdbkit.workloads import specification
from hdbkit.workloads.present import described_schema


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    scale = " ".join(specification().words)
    app.command(cls=Sectioned, epilog=f"Example: hdbkit build postgresql://bench@db1/tpcc {scale}")(build)
    app.command(cls=Sectioned, epilog="Example: hdbkit check postgresql://bench@db1/tpcc")(check)
    app.command(cls=Sectioned, epilog="Example: hdbkit drop postgresql://bench@db1/tpcc --yes")(drop)
    add_group(
        app, "sql", "Show the SQL that is sent.", examples={"show": "postgresql --folder server"}, show=sql_show
    )


@schema_options(for_build=True)
def build(
    target: TargetArgument,
    workload: WorkloadOption = None,
    loaders: Annotated[
        int | None, typer.Option(min=1, help="loader processes, with a cluster of each host [default: one per core]")
    ] = None,
    admin: Annotated[str | None, typer.Option(help="administrator's URL, to create account and database")] = None,
    from_files: Annotated[
        Path | None, typer.Option(help="folder of hdbkit datagen that has the rows, and states the scale")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help=f"load hosts that load the rows: {FORMS}")] = None,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
) -> int:
    """Build a workload's schema and its data, and check the result.

    An earlier build is continued; at a larger scale, what is missing is added.

    The administrator's password comes from HDBKIT_ADMIN_PASSWORD, the account's from HDBKIT_PASSWORD.
    """
    there = DataFiles(from_files).spec if from_files and workload is None else workload
    spec = specification(there, **fields)
    hosts = Cluster.given(cluster) if cluster else None
    connection = connect(target, admin=admin)
    for created in connection.created:
        show.notes.print(f"  created {created}", markup=False)
    with warnings.catch_warnings(), BuildBar() as bar:
        warnings.showwarning = lambda message, *_: show.notes.print(f"  Warning: {message}", markup=False)
        done = connection.build(spec, loaders=loaders, progress=bar, from_files=from_files, cluster=hosts)
    checks = checks_frame(done.checks)
    if as_json:
        show.print_json(documents.of_build(done))
    else:
        show.checks(checks)
        following = shlex.join(["hdbkit", "run", target, *spec.words])
        if done.grown_from:
            earlier = f", which enlarge {done.grown_from} to {done.scale}"
        else:
            earlier = f"; {done.parts_kept:,} parts were loaded earlier" if done.parts_kept else ""
        show.console.print(f"{done.rows:,} rows in {done.duration_s:.1f} s{earlier}; next: {following}", markup=False)
    return Exit.DONE if done.passed else Exit.CHECK_FAILED


@with_schema
def check(
    target: TargetArgument,
    workload: WorkloadOption = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="check the operations' answers too, where there is a reference")
    ] = False,
    answers_seed: Annotated[
        int | None, typer.Option("--seed", help="seed of the parameters of --answers; default: that of the schema")
    ] = None,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
) -> int:
    """Check a schema: row counts, indexes, routines and consistency conditions."""
    with show.notes.status("checking") as line:
        found = connect(target).check(
            workload,
            answers=answers,
            answers_seed=answers_seed,
            progress=lambda what: line.update(escape(what)),
            **fields,
        )
    if as_json:
        show.print_json(documents.of_frame(found))
    else:
        show.checks(found)
    return Exit.CHECK_FAILED if (found["passed"] == False).any() else Exit.DONE  # noqa: E712


@with_schema
def drop(
    target: TargetArgument,
    workload: WorkloadOption = None,
    yes: Yes = False,
    as_json: AsJson = False,
    *,
    fields: dict[str, Any],
) -> None:
    """Drop a workload's tables and routines, and nothing else."""
    at, spec = DEFAULT.target(target), specification(workload, **fields)
    if not yes:
        typer.confirm(f"Drop {described_schema(at, spec)} and all its data?", abort=True, err=True)
    dropped = connect(at).drop(spec)
    show.answer(as_json, {"dropped": dropped.dropped}, str(dropped))


def sql_show(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="DATABASE", help="kind of database, such as postgresql", autocompletion=completion.engines
        ),
    ],
    name: Annotated[str | None, typer.Argument(help="name of a statement [default: list all names]")] = None,
    folder: Annotated[str | None, typer.Option(help="folder of statements, such as server [default: all]")] = None,
    as_json: AsJson = False,
) -> None:
    """List the statements for a database and their files, or print the text of one."""
    found = sql.listed_statements(database(kind).dialects, folder, name)
    if as_json:
        show.print_json([{"name": s.name, "origin": str(s.origin), "text": s.text} for s in found])
        return
    for statement in found:
        show.console.print(f"-- {statement.name}  ({sql.file_of(statement)})", markup=False)
        if name:
            show.console.print(statement.text, markup=False)
