"""Validation errors of pydantic as readable messages: location, expected value, given value, suggestion."""

from __future__ import annotations

import difflib
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from hdbkit.errors import Problem

SECRET = re.compile(r"pass(word|wd|phrase)?$|secret|token|credential|(api|private)_?key$|^pwd$", re.IGNORECASE)
"""Names of secrets; messages never show their values."""
_MAY_HOLD_SECRET = re.compile(r"^(options|control|password.*)$")
"""Keys whose values may contain a secret."""
_PASSWORD_IN_URL = re.compile(r"(://[^:@/]*):.*")
"""Searched before the last ``@`` of a line."""
_SECRET_IN_TEXT = re.compile(
    r"((?:(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|api_?key|private_?key|authorization|identified by)"
    r"[\w-]{0,40}|pass)[\"']?(?:\s*[=:]\s*|\s+is\s+|\s+(?=[\"']))"
    r"|(?<![\w-])--?[\w-]{0,40}(?:pass|pwd|secret|token)[\w-]{0,40}\s+"
    r"|(?<!\S)(?-i:-p(?=\S)|-p\s+(?=\S)(?!\d+(?!\S))|(?:-u|--user)[\s=]*[^\s:]{1,100}:(?=\S))).*",
    re.IGNORECASE,
)
"""A secret by its name or its option; ``-p`` with a number after a space is a port. Bounded, for speed."""


def problems_of(
    error: ValidationError, model: type[BaseModel], lines: dict[tuple[str | int, ...], int] | None = None
) -> list[Problem]:
    """Every error of ``error`` as a :class:`~hdbkit.errors.Problem`; ``lines`` maps locations to lines."""
    return problems_of_details([dict(one) for one in error.errors(include_url=False)], model, lines)


def problems_of_details(
    details: Sequence[dict[str, Any]], model: type[BaseModel], lines: dict[tuple[str | int, ...], int] | None = None
) -> list[Problem]:
    """As :func:`problems_of`, of the details that pydantic gives of each error."""
    return [
        Problem(location(found["loc"]), _message(found, model), _line(found["loc"], lines or {})) for found in details
    ]


def location(loc: Sequence[str | int]) -> str:
    """Where a value is in a document, as text: ``users[2]``, ``load.mix``."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text or "the whole"


def without_secrets(text: str) -> str:
    """The output of another program; what follows the name of a secret in a line is replaced by dots.

    Example:
        >>> without_secrets("connecting with password=abc")
        'connecting with password=...'
    """
    lines = (_without_passwords_of_urls(line) for line in text.splitlines())
    return "\n".join(_SECRET_IN_TEXT.sub(r"\1...", line) for line in lines)


def _without_passwords_of_urls(line: str) -> str:
    before, at, after = line.rpartition("@")
    return _PASSWORD_IN_URL.sub(r"\1:...", before) + at + after


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """`` Did you mean 'database'?`` if one of ``known`` is similar to ``word``, else an empty text."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


def _line(loc: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int]) -> int | None:
    for length in range(len(loc), -1, -1):
        if loc[:length] in lines:
            return lines[loc[:length]]
    return None


_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "dict": "keys and values",
    "model": "keys and values",
    "list": "a list",
    "tuple": "a list",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "must be {} or more"),
    "greater_than": ("gt", "must be greater than {}"),
    "less_than_equal": ("le", "must be {} or less"),
    "less_than": ("lt", "must be less than {}"),
}


_LENGTHS = ("string_too_long", "string_too_short")
"""These keep the words of pydantic, which state the length."""


def _message(found: dict[str, Any], model: type[BaseModel]) -> str:
    kind, context = found["type"], found.get("ctx", {})
    if kind == "extra_forbidden":
        key, known = str(found["loc"][-1]), _keys(model, found["loc"][:-1])
        return (
            f"unknown key here; {known[key]} has it" if key in known else f"unknown key.{did_you_mean(key, [*known])}"
        )
    if kind == "value_error":
        return str(context["error"])
    return f"is required{_example(model, found['loc'])}" if kind == "missing" else _refused(found, model)


def _refused(found: dict[str, Any], model: type[BaseModel]) -> str:
    kind, context = found["type"], found.get("ctx", {})
    if kind in ("too_short", "string_too_short") and context["min_length"] == 1:
        return f"must not be empty{_example(model, found['loc'])}"
    if kind in _BOUNDS:
        name, text = _BOUNDS[kind]
        bound = context[name]
        return f"{text.format(int(bound) if bound == int(bound) else bound)}{_not(found)}"
    if kind in ("literal_error", "enum"):
        return f"must be {context['expected']}{_not(found)}"
    expected = None if kind in _LENGTHS else _TYPES.get(kind.split("_")[0])
    text = f"must be {expected}" if expected else found["msg"][0].lower() + found["msg"][1:]
    if kind == "string_pattern_mismatch":
        text = f"must match {context['pattern']}"
    return f"{text}{_not(found)}"


def _not(found: dict[str, Any]) -> str:
    """``, not 'given value'``; empty if the value is or may contain a secret."""
    if any(SECRET.search(str(part)) or _MAY_HOLD_SECRET.search(str(part)) for part in found["loc"]):
        return ""
    try:
        text = _without_passwords_of_urls(repr(found.get("input")))
    except ValueError:  # an integer with thousands of digits
        return ", not a number of that size"
    return f", not {text if len(text) <= 60 else text[:57] + '...'}"


def _example(model: type[BaseModel], loc: Sequence[str | int]) -> str:
    """``; example: orders/s`` of the field at ``loc``; empty if it has none."""
    for part in loc[:-1]:
        field = _fields(model).get(str(part))
        model = next((one for one in _models_in(field[1].annotation if field else None)), model)
    field = _fields(model).get(str(loc[-1])) if loc else None
    return f"; example: {field[1].examples[0]}" if field and field[1].examples else ""


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation, such as ``dict[str, Table]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for one in typing.get_args(annotation):
        yield from _models_in(one)


def _keys(model: type[BaseModel], loc: Sequence[str | int]) -> dict[str, str]:
    """The keys of the model at ``loc`` of ``model``, through nested models, with the class that has each."""
    for part in loc:
        field = _fields(model).get(str(part))
        inner = field[1].annotation if field else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return {}
        model = inner
    other: Callable[[], Iterable[str]] | None = getattr(model, "other_keys", None)
    own = {name: one.__name__ for name, (one, _) in _fields(model).items()}
    return {**dict.fromkeys(other() if other else (), model.__name__), **own}


def _fields(model: type[BaseModel]) -> dict[str, tuple[type[BaseModel], FieldInfo]]:
    """The fields of a model and of the subclasses that extend it, with the class that has each."""
    found: dict[str, tuple[type[BaseModel], FieldInfo]] = {}
    for one in (model, *model.__subclasses__()):
        found |= {name: (one, field) for name, field in one.model_fields.items() if name not in found}
    return found
