"""What a shell needs to complete a word, without the modules of commands: their names, options and kinds of values.

It is derived from the commands, and kept in the cache folder until hdbkit or an installed package changes.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit.cli import completion
from hdbkit.errors import HdbkitError
from hdbkit.files import read_text, replace_file
from hdbkit.paths import cache_folder

_PACKAGE = Path(__file__).resolve().parents[1]
_TYPES: Mapping[str, Any] = {"flag": bool | None, "words": list[str] | None, "word": str | None}


@cache
def known() -> dict[str, Any]:
    """The commands, and the kinds of databases; read from the cache folder, or derived and kept there."""
    path = cache_folder() / "completion.json"
    state = _state()
    with suppress(ValueError, OSError, HdbkitError):
        found = json.loads(read_text(path))
        if isinstance(found, dict) and found.get("state") == state:
            return found
    derived = {"state": state, **_derived()}
    with suppress(OSError):  # a shell is answered on a full or protected disk too
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(derived).encode(), mode=0o600)
    return derived


def without_code(commands: Mapping[str, Any]) -> typer.Typer:
    """Commands that can be completed, and not called. Only those in the line to complete get their parameters."""
    line = os.environ.get("COMP_WORDS", "") + os.environ.get("_TYPER_COMPLETE_ARGS", "")  # of bash, of other shells
    made = typer.Typer(rich_markup_mode=None, callback=_nothing)
    for name, about in commands.items():
        if "commands" in about:
            made.add_typer(without_code(about["commands"]), name=name, help=about["help"])
        else:
            made.command(name, help=about["help"])(_command(about["parameters"] if name in line else ()))
    return made


def _nothing() -> None:
    """A callback, with which one command alone is a group, too."""


def _command(parameters: Iterable[Mapping[str, Any]]) -> Callable[..., None]:
    def command(**_: Any) -> None:
        """Never called."""

    made = [
        inspect.Parameter(one["name"], inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(one))
        for one in parameters
    ]
    command.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in made}
    return command


def _annotation(one: Mapping[str, Any]) -> Any:
    def offered(incomplete: str) -> list[str]:
        values = one["values"]
        if isinstance(values, str):
            return list(getattr(completion, values)(incomplete))
        return completion.fitting(values, incomplete)

    kind = typer.Argument if one["argument"] else typer.Option
    return Annotated[_TYPES[one["type"]], kind(*one["words"], help=one["help"], autocompletion=offered)]


def _state() -> list[Any]:
    """What the commands depend on: hdbkit's modules, the interpreter and the installed packages."""
    newest, count = 0, 0
    for folder, _, names in os.walk(_PACKAGE):
        modules = [name for name in names if name.endswith(".py")]
        count += len(modules)
        newest = max([newest, *(os.stat(f"{folder}/{name}").st_mtime_ns for name in modules)])  # noqa: PTH116
    packages = [os.stat(place).st_mtime_ns for place in sys.path if place.endswith("-packages")]  # noqa: PTH116
    return [str(_PACKAGE), newest, count, sys.version, *packages]


def _derived() -> dict[str, Any]:
    from hdbkit.cli.main import COMMANDS, typer_of
    from hdbkit.databases import kinds
    from hdbkit.servers import startable_kinds

    found = dict(described for module, _ in COMMANDS.values() for described in _of(typer_of(module)))
    lines = {name: found[name] | {"help": line} for name, (_, line) in COMMANDS.items()}
    return {"kinds": list(kinds()), "startable": list(startable_kinds()), "commands": lines}


def _of(made: typer.Typer) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in made.registered_commands:
        assert one.callback is not None
        line = (inspect.getdoc(one.callback) or "").partition("\n")[0]
        name = one.name or typer.main.get_command_name(one.callback.__name__)
        yield name, {"help": line, "parameters": list(_parameters(one.callback))}
    for group in made.registered_groups:
        assert group.typer_instance is not None
        yield str(group.name), {"commands": dict(_of(group.typer_instance))}


def _parameters(command: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        kind, about = typing.get_args(parameter.annotation)
        kinds = {kind, *typing.get_args(kind)}
        choices = [choice.value for one in kinds if isinstance(one, type) and issubclass(one, Enum) for choice in one]
        first = [] if about.default is ... else [about.default]  # typer keeps the first word there
        yield {
            "name": name,
            "argument": isinstance(about, typer.models.ArgumentInfo),
            "words": [*first, *(about.param_decls or ())],
            "type": "flag" if bool in kinds else "words" if typing.get_origin(kind) is list else "word",
            "values": about.autocompletion.__name__ if about.autocompletion else choices,
            "help": about.help,
        }
