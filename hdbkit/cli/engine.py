"""Commands about engines: what one lacks and which rules it keeps, what hdbkit asks of all, and a new one."""

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
from hdbkit.cli.schema import AsJson, TargetArgument


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    about = typer.Typer(
        help="Check an engine, compare engines, list what hdbkit asks of them, and begin a new one.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    about.command("check", epilog="Example: hdbkit engine check sqlite:///new.db")(check)
    about.command("list", epilog="Example: hdbkit engine list")(engine_list)
    about.command("operations", epilog="Example: hdbkit engine operations --folder server")(operations)
    about.command("new", epilog="Example: hdbkit engine new mydb --folder hdbkit-mydb")(new)
    app.add_typer(about, name="engine")


def check(
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
    found = api.operations(folder)
    if as_json:
        show.print_json(documents.of_frame(found))
    else:
        show.console.print(show.table(found, omit=["without", "columns", "parameters"]))


def new(
    name: Annotated[str, typer.Argument(help="kind of database: lower-case letters and digits")],
    folder: Annotated[Path | None, typer.Option(help="a new folder [default: hdbkit-NAME]")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the package of a new engine; it works at once on a driver of Python's standard library."""
    files = api.new_engine(name, folder=folder)
    if as_json:
        show.print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        show.console.print(str(file), markup=False)
    place = files[0].parent
    following = f"pip install -e {place}, then: hdbkit engine check {name}:///check.db"
    show.console.print(f"next: {following}; {place / 'README.md'} has the steps", markup=False)
