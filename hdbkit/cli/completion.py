"""What the shell completes: names of targets, URLs of engines, ids and labels of runs, ids of experiments.

A completion never fails, connects to no server and imports little: the shell waits for it at each press of the key.
So the names, options and kinds of values of all commands are derived once and kept.
"""

from __future__ import annotations

import inspect
import json
import os
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from hdbkit.cli.kept import kept
from hdbkit.cli.main import COMMANDS, name_of, typer_of
from hdbkit.errors import HdbkitError
from hdbkit.files import opened_file, read_text
from hdbkit.paths import results_folder, targets_file

_SHOWN = 50
"""Runs that are offered, the newest first."""
_MAX_MANIFEST = 1 << 20


def targets(incomplete: str) -> list[str]:
    """Names of the targets file, and the beginnings of URLs."""
    return _fitting([*_target_names(), *(f"{kind}://" for kind in known()["kinds"])], incomplete)


def engines(incomplete: str) -> list[str]:
    """Kinds of databases."""
    return _fitting(known()["kinds"], incomplete)


def startable_engines(incomplete: str) -> list[str]:
    """Kinds of databases that hdbkit can start."""
    return _fitting(known()["startable"], incomplete)


def run_names(incomplete: str) -> list[str]:
    """Ids of the newest runs, ``last``, and their labels."""
    newest = list(islice(_folders(results_folder(), "manifest.json"), _SHOWN))
    labels = dict.fromkeys(filter(None, map(_label, newest))) if incomplete else ()
    return _fitting(["last", *(folder.name for folder in newest), *labels], incomplete)


def experiment_names(incomplete: str) -> list[str]:
    """Ids of experiments, and ``last``."""
    return _fitting(
        ["last", *(one.name for one in _folders(results_folder() / "experiments", "plan.json"))], incomplete
    )


def any_names(incomplete: str) -> list[str]:
    """Ids and labels of runs, and ids of experiments."""
    return list(dict.fromkeys([*run_names(incomplete), *experiment_names(incomplete)]))


def _fitting(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


_COMPLETED = {
    one.__name__: one for one in (targets, engines, startable_engines, run_names, experiment_names, any_names)
}
"""The functions that complete a parameter, by the names that the cache folder keeps."""


def _target_names() -> list[str]:
    import yaml

    from hdbkit.yaml_nodes import compose

    with suppress(HdbkitError, OSError, ValueError, yaml.YAMLError):
        top = compose(read_text(targets_file()))
        if isinstance(top, yaml.MappingNode):
            return [str(name.value) for name, _ in top.value]
    return []


def _folders(root: Path, inside: str) -> Iterator[Path]:
    """Folders with this file, the newest first."""
    with suppress(OSError):
        yield from (path for path in sorted(root.iterdir(), reverse=True) if (path / inside).is_file())


def _label(run: Path) -> str:
    with suppress(OSError, ValueError, RecursionError, LookupError, TypeError):
        with os.fdopen(opened_file(run / "manifest.json"), encoding="utf-8") as file:
            content = json.loads(file.read(_MAX_MANIFEST))
        return str(content["plan"]["label"] or "")
    return ""


_TYPES: Mapping[str, Any] = {"flag": bool | None, "words": list[str] | None, "word": str | None}


@cache
def known() -> dict[str, Any]:
    """The commands, and the kinds of databases."""
    found: dict[str, Any] = kept("completion", "known", _derived)
    return found


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
            return _COMPLETED[values](incomplete)
        return _fitting(values, incomplete)

    kind = typer.Argument if one["argument"] else typer.Option
    return Annotated[_TYPES[one["type"]], kind(*one["words"], help=one["help"], autocompletion=offered)]


def _derived() -> dict[str, Any]:
    from hdbkit.databases import kinds
    from hdbkit.servers import startable_kinds

    found = dict(described for module, _ in COMMANDS.values() for described in _of(typer_of(module)))
    lines = {name: found[name] | {"help": line} for name, (_, line) in COMMANDS.items()}
    return {"kinds": list(kinds()), "startable": list(startable_kinds()), "commands": lines}


def _of(made: typer.Typer) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in made.registered_commands:
        assert one.callback is not None
        line = (inspect.getdoc(one.callback) or "").partition("\n")[0]
        yield name_of(one), {"help": line, "parameters": list(_parameters(one.callback))}
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
