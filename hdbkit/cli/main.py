"""The program ``hdbkit``: its commands, each imported when it is called, and its entry."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib import import_module, metadata
from io import StringIO
from typing import Annotated, Any

import typer

from hdbkit.awaiting import report_to
from hdbkit.cli.exits import Exit, Interruptible, guarded
from hdbkit.cli.kept import kept
from hdbkit.errors import HdbkitError, InputError
from hdbkit.files import is_utf8

GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("measuring", "Sweep settings of a private server, from start to report"),
        "doctor": ("looking", "Examine a target, or show usable drivers and servers"),
        "build": ("schema", "Build a workload's schema and its data"),
        "check": ("schema", "Check a schema: row counts, indexes, consistency"),
        "drop": ("schema", "Drop a workload's tables and routines, and nothing else"),
    },
    "Measure": {
        "run": ("measuring", "Run a workload against its schema"),
        "sweep": ("measuring", "Measure combinations of server settings"),
        "find-max": ("in_turn", "Find the highest rate that keeps a latency limit"),
        "watch": ("measuring", "Measure the load of another program for a time"),
        "plan": ("measuring", "Print the runs of a sweep and the estimated time"),
        "attach": ("experiments", "Watch a run or an experiment in progress"),
        "stop": ("experiments", "Stop a run or an experiment and keep its results"),
        "resume": ("experiments", "Continue an experiment, or give it more blocks"),
        "recover": ("measuring", "Complete the result of a run whose supervisor died"),
    },
    "Compare": {
        "compare": ("in_turn", "Compare runs, with a 95 % confidence interval"),
        "profile": ("in_turn", "Repeat the runs of a profile at each user count"),
        "profiles": ("in_turn", "List the profiles"),
        "history": ("in_turn", "Show when the results of a profile changed"),
        "releases": ("in_turn", "Build commits of a server and compare them in turn"),
    },
    "Results": {
        "runs": ("looking", "List, show, tag and remove runs"),
        "experiments": ("experiments", "List sweeps, comparisons, profiles and searches"),
        "report": ("looking", "Write the report of a run or an experiment"),
        "chart": ("looking", "Write one chart of a run or an experiment to a file"),
    },
    "Servers": {
        "server": ("engines", "List, start, stop and remove kept private servers"),
        "agent": ("serving", "Run the agent on a database's host"),
    },
    "Share": {
        "site": ("batching", "Write a static site of results"),
        "batch": ("batching", "Execute a notebook once per parameter file"),
        "import": ("data_files", "Import results of other tools, and HammerDB's settings"),
        "certify": ("measuring", "Examine a server in every way, into one signed file"),
        "serve": ("serving", "Serve the verbs of hdbkit as jobs by HTTP"),
        "app": ("serving", "Serve the panels of the notebooks to browsers"),
        "token": ("serving", "Add, list and remove tokens of the service"),
    },
    "Extend": {
        "workload": ("engines", "Begin a workload of your own, and check its statements"),
        "engine": ("engines", "Check, compare and create engines"),
        "datagen": ("data_files", "Write a workload's rows to files"),
        "sql": ("schema", "Show the SQL that is sent"),
    },
}
"""By group, and by command or group of commands: the module that adds it, and its line in the program's help."""
COMMANDS = {name: found for group in GROUPS.values() for name, found in group.items()}
_QUESTIONS = (
    ("is it fit to be measured?", "hdbkit doctor TARGET"),
    ("is this setting faster?", "hdbkit sweep TARGET FILE"),
    ("which of two servers is faster?", "hdbkit compare A B --slices"),
    ("how much can it take?", "hdbkit find-max TARGET --limit p95=20ms"),
    ("what limits it?", "hdbkit run TARGET, then hdbkit report"),
    ("since when is it slower?", "hdbkit history PROFILE"),
)
"""What users ask, and the command that answers it."""
_STARTS_PROGRAMS = {"measuring", "schema", "experiments", "in_turn", "batching", "serving"}


class _OnCall(Mapping[str, Any]):
    """The commands by name; the module of one is imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return command_named(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(Interruptible):
    """The program's commands, whose help needs no import."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = _OnCall()

    def list_commands(self, ctx: Any) -> list[str]:
        """All names in the order of the help."""
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what answers which question, and a line for each command, by group."""
        with formatter.section("What answers which question"):
            formatter.write_dl(_QUESTIONS)
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])


app = typer.Typer(
    name="hdbkit",
    cls=_Commands,
    epilog="Start with: hdbkit demo --quick. For options and examples of a command: hdbkit COMMAND --help",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hdbkit {metadata.version('hdbkit')}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", help="print the version and exit", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """A database benchmark: build a schema, run a workload, sweep server settings, compare and report."""


def typer_of(module: str) -> typer.Typer:
    """The commands that a module of this package adds."""
    made = typer.Typer(rich_markup_mode=None)
    import_module(f"hdbkit.cli.{module}").add_to(made)
    return made


@cache
def command_named(name: str) -> Any:
    """A command or a group; the others of its module are not made."""
    made = typer_of(COMMANDS[name][0])
    made.registered_commands = [one for one in made.registered_commands if name_of(one) == name]
    made.registered_groups = [one for one in made.registered_groups if one.name == name]
    return typer.main.get_group(made).commands[name]


def name_of(one: Any) -> str:
    """The name of a command of :func:`typer_of`."""
    return one.name or typer.main.get_command_name(one.callback.__name__)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry of the program; exits with one of :class:`~hdbkit.cli.exits.Exit`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(int(guarded(lambda: _execute(words, own_process=arguments is None))))


def _execute(words: list[str], own_process: bool) -> Any:
    """Execute a command; one that starts programs has a host for them, if the process is its own."""
    if _asks_for_help(words):
        typer.echo(_help(words), nl=False)
        return Exit.DONE
    named = COMMANDS.get(words[0]) if words else None
    if own_process and named and named[0] in _STARTS_PROGRAMS and "_HDBKIT_COMPLETE" not in os.environ:
        from hdbkit.programs import fork_host, fork_host_later

        command_named(words[0])
        if words[0] == "run" and len(words) > 1 and not words[1].startswith("-") and _imported_for_run(words[1]):
            fork_host_later()
        else:
            fork_host(serves_one=words[0] == "run")
    report_to(_report)
    return _program().main(_readable(words), prog_name="hdbkit", standalone_mode=False)


def _asks_for_help(words: list[str]) -> bool:
    """Whether the words are the name of a command, perhaps one of a group, and ``--help``."""
    *names, last = words or [""]
    named = 0 < len(names) < 3 and names[0] in COMMANDS and all(name.replace("-", "").isalnum() for name in names[1:])
    return named and last in ("--help", "-h") and "_HDBKIT_COMPLETE" not in os.environ


def _help(words: list[str]) -> str:
    """The help of a command at the width of this terminal; that of one which does not exist is an error."""

    def derived() -> str:
        with redirect_stdout(StringIO()) as text:
            _program().main(words, prog_name="hdbkit", standalone_mode=False)
        return text.getvalue()

    return str(kept("help", f"{min(shutil.get_terminal_size().columns, 80)} {' '.join(words[:-1])}", derived))


def _report(text: str) -> None:
    """Print what a command waits for, above its progress bar."""
    from hdbkit.cli.show import notes

    notes.print(f"  {text}", markup=False)


def _imported_for_run(target: str) -> bool:
    """Import what this process and those of a run both need, which they then share.

    Returns whether they can share what this process does until the run starts, too. What prevents that is reported by
    the command.
    """
    from hdbkit.databases import database
    from hdbkit.workspace import BareWorkspace

    import_module("numpy")
    import_module("hdbkit.execution.supervisor")
    with suppress(HdbkitError, ImportError, OSError):
        engine = database(BareWorkspace().target(target).kind)
        for module in engine.preload:
            import_module(module)
        return engine.fork_safe
    return False


def _program() -> Any:
    """The commands, or for a shell that completes a word, what is known of them."""
    if "_HDBKIT_COMPLETE" in os.environ:
        from hdbkit.cli.completion import known, without_code

        return typer.main.get_command(without_code(known()["commands"]))
    return typer.main.get_command(app)


def _readable(words: list[str]) -> list[str]:
    """The words of the command line. Raises ``InputError`` if one is not valid UTF-8, as Python reads such bytes."""
    for word in words:
        if not is_utf8(word):
            raise InputError(f"the argument {word!a} is not valid UTF-8")
    return words
