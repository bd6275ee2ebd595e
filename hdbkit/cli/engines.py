"""Commands about engines, workloads of one's own, and private servers that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from hdbkit import api
from hdbkit.api import documents
from hdbkit.api.engines import FAILED
from hdbkit.cli import show
from hdbkit.cli.exits import Exit
from hdbkit.cli.options import AsJson, TargetArgument, Yes, add_group

Folder = Annotated[Path, typer.Argument(help="the server's folder; see: hdbkit server list")]
_FOLDER = "/var/tmp/hdbkit-k2v9"  # noqa: S108  an example


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_group(
        app,
        "engine",
        "Check an engine, compare engines, list what hdbkit asks of them, and begin a new one.",
        examples={"check": "sqlite:///new.db", "operations": "--folder server", "new": "mydb --folder hdbkit-mydb"},
        check=engine_check,
        list=engine_list,
        operations=operations,
        new=engine_new,
    )
    add_group(
        app,
        "workload",
        "Begin a workload of your own, and check its statements.",
        examples={"new": "shop", "check": "shop postgresql://bench@db1/lab"},
        new=workload_new,
        check=workload_check,
    )
    add_group(
        app,
        "server",
        "List, start, stop and remove private servers that were kept.",
        examples={"start": _FOLDER, "stop": _FOLDER, "remove": f"{_FOLDER} --yes"},
        list=server_list,
        start=server_start,
        stop=server_stop,
        remove=server_remove,
    )


def engine_check(
    target: TargetArgument,
    rules: Annotated[bool, typer.Option("--rules/--no-rules", help="whether rules are tried on the target")] = True,
    save: Annotated[bool, typer.Option("--save", help="keep what it shows about locks and isolation")] = False,
    as_json: AsJson = False,
) -> int:
    """Report what the engine of a target lacks, and try the rules that every engine must keep.

    The rules are tried in tables that are created for it and dropped again: in the schema hdbkit_check, or in an
    empty database on an engine without schemas. Nothing else in the target is touched.
    """
    with show.notes.status("checking") as line:
        found = api.check_engine(target, rules=rules, save=save, progress=lambda what: line.update(escape(what)))
    if as_json:
        show.print_json(documents.of_frame(found))
    else:
        counts = found["state"].value_counts()
        gaps = found[~found["state"].isin(["kept", "answered", "not applicable"])]
        show.console.print(show.table(gaps))
        show.console.print(", ".join(f"{counts.get(state, 0)} {words}" for state, words in _COUNTED.items()))
    return Exit.CHECK_FAILED if found["state"].isin(FAILED).any() else Exit.DONE


_COUNTED = {
    "absent": "capabilities absent",
    "missing": "required operations missing",
    "optional": "optional operations missing",
    "answered": "questions to the server answered",
    "wrong": "answers wrong",
    "kept": "rules kept",
    "broken": "rules broken",
    "not applicable": "rules not applicable",
}


def engine_list(
    markdown: Annotated[
        bool, typer.Option("--markdown", help="print the table of docs/engines.md: hdbkit's own engines")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare all engines: their capabilities, and the optional operations that each has."""
    found = api.list_engines()
    if as_json:
        show.print_json(documents.of_frame(found))
    elif markdown:
        from hdbkit.databases import built_in

        show.console.file.write(show.markdown(found[["part", "name", "meaning", *built_in()]]))
    else:
        show.console.print(show.table(found.drop(columns=["part", "meaning"])))
        show.console.print(show.table(found[["part", "name", "meaning"]], title="What they mean"))


def operations(
    folder: Annotated[str | None, typer.Option(help="folder of statements, such as server [default: all]")] = None,
    as_json: AsJson = False,
) -> None:
    """List what hdbkit asks of an engine by name: purpose, parameters, columns of the answer, capabilities."""
    show.frame(api.operations(folder), as_json, omit=["without", "columns", "parameters"])


def engine_new(
    name: Annotated[str, typer.Argument(help="kind of database: lower-case letters and digits")],
    folder: Annotated[Path | None, typer.Option(help="a new folder [default: hdbkit-NAME]")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the package of a new engine; it works at once on a driver of Python's standard library."""
    files = list(map(str, api.new_engine(name, folder=folder)))
    place = Path(files[0]).parent
    following = f"pip install -e {place}, then: hdbkit engine check {name}:///check.db"
    show.answer(as_json, {"files": files}, *files, f"next: {following}; {place / 'README.md'} has the steps")


def workload_new(folder: Annotated[Path, typer.Argument(help="a new folder")], as_json: AsJson = False) -> None:
    """Write the folder of a new workload, which can be built and run as it is."""
    files = list(map(str, api.new_workload(folder)))
    following = f"hdbkit build TARGET --workload {folder}, then: hdbkit workload check {folder} TARGET"
    show.answer(as_json, {"files": files}, *files, f"next: {following}")


def workload_check(
    workload: Annotated[Path, typer.Argument(help="the folder of the workload")],
    target: TargetArgument,
    as_json: AsJson = False,
) -> int:
    """Have a target's server parse each statement of a workload's operations; nothing is executed."""
    found = api.check_workload(target, workload)
    show.frame(found, as_json)
    return Exit.CHECK_FAILED if (found["state"] == "rejected").any() else Exit.DONE


def server_list(as_json: AsJson = False) -> None:
    """List the kept servers; each folder is also a target: hdbkit run FOLDER."""
    show.frame(api.list_servers(), as_json, omit=["url"])


def server_start(folder: Folder, as_json: AsJson = False) -> None:
    """Start a kept server that was stopped."""
    url = api.start_server(folder).url
    show.answer(as_json, {"folder": str(folder), "url": url}, f"started {url}; use it with: hdbkit run {folder}")


def server_stop(folder: Folder, as_json: AsJson = False) -> None:
    """Stop a kept server; its data remains."""
    api.stop_server(folder)
    show.answer(as_json, {"stopped": str(folder)}, f"stopped {folder}; its data remains")


def server_remove(folder: Folder, yes: Yes = False, as_json: AsJson = False) -> None:
    """Stop a kept server and remove it with all its data."""
    if not yes:
        typer.confirm(f"Remove the server in {folder} and all its data?", abort=True, err=True)
    api.remove_server(folder)
    show.answer(as_json, {"removed": str(folder)}, f"removed {folder}")
