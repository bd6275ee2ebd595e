"""Commands about private servers that were kept: list, start, stop and remove them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hdbkit import api
from hdbkit.api import documents
from hdbkit.cli import show
from hdbkit.cli.schema import AsJson, Yes

Folder = Annotated[Path, typer.Argument(help="the server's folder; see: hdbkit server list")]
_FOLDER = "/var/tmp/hdbkit-k2v9"  # noqa: S108  an example


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    about = typer.Typer(
        help="List, start, stop and remove private servers that were kept.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    about.command("list", epilog="Example: hdbkit server list")(server_list)
    about.command("start", epilog=f"Example: hdbkit server start {_FOLDER}")(server_start)
    about.command("stop", epilog=f"Example: hdbkit server stop {_FOLDER}")(server_stop)
    about.command("remove", epilog=f"Example: hdbkit server remove {_FOLDER} --yes")(server_remove)
    app.add_typer(about, name="server")


def server_list(as_json: AsJson = False) -> None:
    """List the kept servers; each folder is also a target: hdbkit run FOLDER."""
    found = api.list_servers()
    if as_json:
        show.print_json(documents.of_frame(found))
    else:
        show.console.print(show.table(found, omit=["url"]))


def server_start(folder: Folder, as_json: AsJson = False) -> None:
    """Start a kept server that was stopped."""
    url = api.start_server(folder).url
    if as_json:
        show.print_json({"folder": str(folder), "url": url})
    else:
        show.console.print(f"started {url}; use it with: hdbkit run {folder}", markup=False)


def server_stop(folder: Folder, as_json: AsJson = False) -> None:
    """Stop a kept server; its data remains."""
    api.stop_server(folder)
    if as_json:
        show.print_json({"stopped": str(folder)})
    else:
        show.console.print(f"stopped {folder}; its data remains", markup=False)


def server_remove(folder: Folder, yes: Yes = False, as_json: AsJson = False) -> None:
    """Stop a kept server and remove it with all its data."""
    if not yes:
        typer.confirm(f"Remove the server in {folder} and all its data?", abort=True, err=True)
    api.remove_server(folder)
    if as_json:
        show.print_json({"removed": str(folder)})
    else:
        show.console.print(f"removed {folder}", markup=False)
