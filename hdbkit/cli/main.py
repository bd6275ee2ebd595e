"""The program ``hdbkit``: all commands, and its entry."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from hdbkit.cli import (
    agent,
    batching,
    comparing,
    data_files,
    engine,
    importing,
    looking,
    max_rate,
    measuring,
    profiling,
    releases,
    schema,
    server,
    serving,
    show,
)
from hdbkit.cli.exits import Interruptible, guarded
from hdbkit.errors import InputError
from hdbkit.files import is_utf8

app = typer.Typer(
    name="hdbkit",
    cls=Interruptible,
    epilog="Start with: hdbkit demo --quick. For options and examples of a command: hdbkit COMMAND --help",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
looking.add_to(app)
comparing.add_to(app)
schema.add_to(app)
measuring.add_to(app)
max_rate.add_to(app)
releases.add_to(app)
profiling.add_to(app)
batching.add_to(app)
data_files.add_to(app)
importing.add_to(app)
server.add_to(app)
engine.add_to(app)
agent.add_to(app)
serving.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        show.console.print(f"hdbkit {metadata.version('hdbkit')}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", help="print the version and exit", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """A database benchmark: build a schema, run a workload, sweep server settings, compare and report."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry of the program; exits with one of :class:`~hdbkit.cli.exits.Exit`."""
    command = typer.main.get_command(app)
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(int(guarded(lambda: command.main(_readable(words), prog_name="hdbkit", standalone_mode=False))))


def _readable(words: list[str]) -> list[str]:
    """The words of the command line. Raises ``InputError`` if one is not valid UTF-8, as Python reads such bytes."""
    for word in words:
        if not is_utf8(word):
            raise InputError(f"the argument {word!a} is not valid UTF-8")
    return words
