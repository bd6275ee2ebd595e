"""Command-line options made from a configuration model: one option a field, its name and help the field's own."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from hdbkit.errors import InputError

PLAIN = (bool, int, float, str)


def with_fields(model: type[BaseModel], *left_out: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command an option for each field of ``model``; it receives those that were given as ``given``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        options = {name: _option(model, name) for name in model.model_fields if name not in left_out}

        @functools.wraps(command)
        def wrapped(**values: Any) -> Any:
            given = {name: values.pop(name) for name in options}
            return command(**values, given={k: _plain(k, v) for k, v in given.items() if v is not None})

        own = inspect.signature(command, eval_str=True)
        kept = [parameter for name, parameter in own.parameters.items() if name != "given"]
        wrapped.__signature__ = own.replace(parameters=[*kept, *options.values()])  # type: ignore[attr-defined]
        wrapped.__annotations__ = {p.name: p.annotation for p in [*kept, *options.values()]}
        return wrapped

    return decorate


def _option(model: type[BaseModel], name: str) -> inspect.Parameter:
    field = model.model_fields[name]
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


def _plain(name: str, value: Any) -> Any:
    """``new_order=45,payment=55`` as a dict; other values as they are."""
    if name != "mix":
        return value
    pairs = [part.partition("=") for part in value.split(",")]
    try:
        return {key.strip(): float(weight) for key, _, weight in pairs}
    except ValueError:
        raise InputError(f"--mix must read like new_order=45,payment=43,order_status=12, not '{value}'") from None
