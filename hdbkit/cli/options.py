"""Command-line options made from a configuration model: one option a field, its name and help the field's own."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hdbkit.config.extensible import Extensible
from hdbkit.config.sweep_factors import weights_of
from hdbkit.errors import InputError

PLAIN = (bool, int, float, str)


def with_fields(
    model: type[BaseModel],
    *left_out: str,
    into: str = "given",
    also: Callable[[], Mapping[str, FieldInfo]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command an option for each field of ``model``; it receives those that were given as ``into``.

    Args:
        model: of one that plugins extend, their fields too.
        left_out: fields without an option.
        into: the keyword with which the command takes them.
        also: more fields by name.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        known = model.written_fields() if issubclass(model, Extensible) else model.model_fields
        fields = {**known, **(also() if also else {})}
        options = {name: _option(name, field) for name, field in fields.items() if name not in left_out}

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


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    kind = _plain_type(field.annotation)
    flag = f"--{name.replace('_', '-')}"
    names = [f"{flag}/--no-{name.replace('_', '-')}"] if kind is bool else [flag]
    if name == "virtual_users":
        names.append("-u")
    default = field.get_default(call_default_factory=True)
    shown = default.value if isinstance(default, Enum) else default
    text = f"{field.description or name}" + ("" if shown is None else f" [default: {shown}]")
    option = typer.Option(*names, help=text, show_default=False)
    annotation: Any = Annotated.__class_getitem__((kind | None, option))  # type: ignore[attr-defined]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _plain_type(annotation: Any) -> Any:
    """The type of an option for a field: plain ones as they are, anything else as text."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        annotation = next(one for one in typing.get_args(annotation) if one is not type(None))
    if annotation in PLAIN or (isinstance(annotation, type) and issubclass(annotation, Enum)):
        return annotation
    return str


def _plain(name: str, field: FieldInfo, value: Any) -> Any:
    """``read=45,write=55`` as a dict where the field is one; other values as they are."""
    if "dict" not in str(field.annotation):
        return value
    try:
        return {key: float(weight) for key, weight in weights_of(value).items()}
    except ValueError:
        raise InputError(f"--{name.replace('_', '-')} must read like first=45,second=55, not '{value}'") from None
