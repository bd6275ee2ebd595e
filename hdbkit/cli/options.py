"""Arguments and options of commands: those that several have, and those made from a configuration model.

A model has one option per field, its name and help the field's own. The options of each workload and of the engines
stand in sections of their own in a command's help.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from hdbkit.cli.completion import any_names, run_names, targets
from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.installed import storage_models
from hdbkit.config.model import ConfigModel, has_mark
from hdbkit.config.specs import MODELS, load_fields, spec_fields
from hdbkit.config.sweep_factors import weights_of
from hdbkit.databases import database
from hdbkit.errors import InputError

RunId = Annotated[
    str, typer.Argument(help="a run's id, a unique part of it, its label, or 'last'", autocompletion=run_names)
]
AnyId = Annotated[
    str,
    typer.Argument(
        help="the id of a run or an experiment, a unique part of it, a run's label, or 'last'",
        autocompletion=any_names,
    ),
]
_TARGET_HELP = "URL without password, name in params/targets.yaml, or folder of a kept private server"
TargetArgument = Annotated[str, typer.Argument(help=_TARGET_HELP, autocompletion=targets)]
WorkloadOption = Annotated[
    str | None, typer.Option("--workload", "-w", help="name of a workload, or a folder that defines one")
]
UserCounts = Annotated[
    str | None, typer.Option("--virtual-users", "-u", help="user counts to run at, such as 1,4,16")
]
UntilDecidedOption = Annotated[
    bool,
    typer.Option("--until-decided", help="end after the block that decides every verdict; --blocks is the maximum"),
]
WithinOption = Annotated[str | None, typer.Option(help="with --until-decided: maximum duration, such as 10m")]
LoadFile = Annotated[Path | None, typer.Option("--params", help="YAML file with load options")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for machines")]

_Run = TypeVar("_Run")
_Experiment = TypeVar("_Experiment")

PLAIN = (bool, int, float, str, Path)
_OPTIONS = "Options"


def run_or_experiment(
    wanted: str, run: Callable[[str], _Run], experiment: Callable[[str], _Experiment]
) -> _Run | _Experiment:
    """The run of this name, else the experiment of this name. Raises ``InputError`` about runs for neither."""
    try:
        return run(wanted)
    except InputError as error:
        try:
            return experiment(wanted)
        except InputError:
            raise error from None


class Sectioned(TyperCommand):
    """A command whose help has a section for each ``rich_help_panel`` of its options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the command's own options, then those of each section."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OPTIONS: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                own = "Arguments" if parameter.param_type_name == "argument" else _OPTIONS
                name = getattr(parameter, "rich_help_panel", None) or own
                sections.setdefault(name, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def load_options(*left_out: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of the load, those of every workload included; it receives them as ``given``."""
    sections = _sections("Load options", Load, {one.title: one.load for one in MODELS.values()})
    return _with_options(load_fields(), left_out, "given", sections)


def schema_options(*left_out: str, for_build: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options that state which schema is meant; it receives them as ``fields``.

    Args:
        left_out: fields without an option.
        for_build: with the options that belong to engines, and with defaults; another command takes any schema.
    """
    unwanted = {"kind", "storage", *left_out}
    fields = {
        name: field
        for name, field in spec_fields(storage=for_build).items()
        if name not in unwanted and not has_mark(field, "named")
    }
    sections = _sections("Schema options", WorkloadSpec, {one.title: one.spec for one in MODELS.values()})
    engines = _engine_sections() if for_build else {}
    return _with_options(fields, left_out, "fields", sections | engines, for_build)


def model_options(model: type[BaseModel], *left_out: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command an option for each field of a model; it receives those given as ``given``."""
    return _with_options(model.model_fields, left_out, "given", dict.fromkeys(model.model_fields, _OPTIONS))


def _with_options(
    fields: Mapping[str, FieldInfo],
    left_out: Iterable[str],
    into: str,
    sections: Mapping[str, str],
    defaults: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        options = {
            name: _option(name, field, sections[name], defaults)
            for name, field in fields.items()
            if name not in left_out
        }

        @functools.wraps(command)
        def wrapped(**values: Any) -> Any:
            given = {name: values.pop(name) for name in options}
            plain = {k: _plain(k, fields[k], v) for k, v in given.items() if v is not None}
            return command(**values, **{into: plain})

        own = inspect.signature(command, eval_str=True)
        kept = [parameter for name, parameter in own.parameters.items() if name != into]
        wrapped.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=sorted([*kept, *options.values()], key=lambda one: one.kind)
        )
        wrapped.__annotations__ = {p.name: p.annotation for p in [*kept, *options.values()]}
        return wrapped

    return decorate


def _sections(shared: str, base: type[ConfigModel], models: Mapping[str, type[ConfigModel]]) -> dict[str, str]:
    """By field, its section: the one that all workloads share, or that of the workloads that have the field."""
    found = dict.fromkeys(base.model_fields, shared)
    titles: dict[str, list[str]] = {}
    for title, model in models.items():
        for name in model.model_fields.keys() - base.model_fields.keys():
            titles.setdefault(name, []).append(title)
    return found | {name: f"{shared} ({', '.join(of)})" for name, of in titles.items()}


def _engine_sections() -> dict[str, str]:
    """By storage option, the section with the titles of the engines that have it."""
    titles: dict[str, list[str]] = {}
    for kind, model in storage_models().items():
        for name in model.model_fields:
            titles.setdefault(name, []).append(database(kind).title)
    return {name: f"Storage options ({', '.join(of)})" for name, of in titles.items()}


def _option(name: str, field: FieldInfo, section: str, defaults: bool) -> inspect.Parameter:
    kind = _plain_type(field.annotation)
    flag = f"--{name.replace('_', '-')}"
    names = [f"{flag}/--no-{name.replace('_', '-')}"] if kind is bool else [flag]
    if name == "virtual_users":
        names.append("-u")
    default = field.get_default(call_default_factory=True)
    shown = default.value if isinstance(default, Enum) else default
    has_default = defaults and shown not in (None, False, {}, ())
    text = f"{field.description or name}" + (f" [default: {shown}]" if has_default else "")
    option = typer.Option(*names, help=text, show_default=False, rich_help_panel=section)
    annotation: Any = Annotated[kind | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _plain_type(annotation: Any) -> Any:
    """The type of an option for a field: plain types and lists of text unchanged, all others as text."""
    if annotation == tuple[str, ...]:
        return list[str]
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        annotation = next(one for one in typing.get_args(annotation) if one is not type(None))
    if annotation in PLAIN or (isinstance(annotation, type) and issubclass(annotation, Enum)):
        return annotation
    return str


def _plain(name: str, field: FieldInfo, value: Any) -> Any:
    """``first=45,second=55`` as a dict where the field is one, ``45,55`` as a list; other values unchanged."""
    if "dict" not in str(field.annotation):
        return value
    try:
        pairs = weights_of(value)
    except ValueError as error:
        raise InputError(f"--{name.replace('_', '-')}: {error}") from None
    try:
        for number in pairs.values() if isinstance(pairs, dict) else pairs:
            float(number)
    except ValueError:
        raise InputError(f"--{name.replace('_', '-')} must read like first=45,second=55, not '{value}'") from None
    return pairs


with_schema = schema_options("seed")
"""The options that state which schema is meant: its scale, and who made it."""


def add_group(
    app: typer.Typer, name: str, about: str, *, examples: Mapping[str, str], **commands: Callable[..., object]
) -> None:
    """Add a group of commands, given by their names; ``examples`` are the words that follow the name of each."""
    made = typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None)
    for command, function in commands.items():
        example = f"Example: hdbkit {name} {command} {examples.get(command, '')}".rstrip()
        made.command(command, epilog=example)(function)
    app.add_typer(made, name=name)
