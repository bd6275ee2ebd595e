"""The program ``hdbkit``: all commands, and its entry."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from hdbkit.cli import looking, measuring, schema
from hdbkit.cli.exits import guarded

app = typer.Typer(
    name="hdbkit",
    help="A database benchmark: build a schema, run a load, sweep settings, compare, report.",
    epilog="Begin with: hdbkit demo --quick. Every command has an example: hdbkit COMMAND --help",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
looking.add_to(app)
schema.add_to(app)
measuring.add_to(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry of the program; exits with one of :class:`~hdbkit.cli.exits.Exit`."""
    command = typer.main.get_command(app)
    words = None if arguments is None else list(arguments)
    sys.exit(int(guarded(lambda: command.main(words, prog_name="hdbkit", standalone_mode=False))))
