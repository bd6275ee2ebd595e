"""The command that builds commits of a server, and measures them in turn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from hdbkit import api
from hdbkit.analysis.comparison.sides import DEFAULT_BLOCKS
from hdbkit.cli.asked import Asked, experiment_options
from hdbkit.cli.options import Sectioned
from hdbkit.config.quantities import counts_in
from hdbkit.errors import InputError

_EXAMPLE = "Example: hdbkit releases source v17 v18 -u 8 --blocks 8 --duration-s 60"


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(cls=Sectioned, epilog=_EXAMPLE)(releases)


@experiment_options("virtual_users")
def releases(
    checkout: Annotated[Path, typer.Argument(help="git checkout with the source of the server")],
    refs: Annotated[list[str], typer.Argument(help="tags, branches or commits; the first is the base")],
    bisect: Annotated[
        bool, typer.Option("--bisect", help="find the commit between two with which most of a slowdown came")
    ] = False,
    database: Annotated[str | None, typer.Option(help="kind of the server, as for demo")] = None,
    configure: Annotated[
        str, typer.Option(help="further arguments of the configure script, or of CMake, in one text")
    ] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--setting", help="setting of all servers, NAME=VALUE; repeatable")
    ] = None,
    blocks: Annotated[int, typer.Option(min=2, help="runs of each commit at each user count")] = DEFAULT_BLOCKS,
    max_blocks: Annotated[
        int | None, typer.Option(min=2, help="of a search where fewer do not decide [four times --blocks]")
    ] = None,
    virtual_users: Annotated[
        str | None, typer.Option("--virtual-users", "-u", help="user counts to run at, such as 1,4,16")
    ] = None,
    *,
    asked: Asked,
) -> int:
    """Build commits of a server from a git checkout, and compare them by runs in turn on private servers.

    A commit is built once and kept in the cache. The checkout is not changed.
    """
    planned = api.plan_releases(
        checkout,
        refs,
        database=database,
        configure=shlex.split(configure),
        blocks=blocks,
        workload=asked.workload,
        load=asked.load,
        virtual_users=counts_in(virtual_users, "--virtual-users") if virtual_users else (),
        settings=dict(map(_setting, settings or [])),
        preparation=asked.preparation,
    )
    return asked.shown(api.plan_slow_commit(planned, max_blocks=max_blocks) if bisect else planned)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--setting must be NAME=VALUE, such as shared_buffers=1GB, not '{text}'")
    return name, value
