"""The form of a verb, made from the model of its request; a key with more below it is a field of YAML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from hdbkit.api import Workspace
from hdbkit.config.target import target_names
from hdbkit.errors import ConfigErrors, Problem
from hdbkit.service.verbs import Verb

_NUMBERS = {"integer": int, "number": float}


@dataclass(frozen=True)
class Field:
    """A field: ``kind`` is ``choice``, ``number``, ``text`` or ``yaml``; ``problem``: what is wrong with it."""

    name: str
    kind: str
    about: str
    required: bool
    value: str
    example: str = ""
    choices: Sequence[str] = ()
    number: type[int] | type[float] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Form:
    """The form of a verb, with what was filled in."""

    verb: Verb
    fields: Sequence[Field]
    others: str = ""
    """Problems that belong to no field."""

    def given(self) -> dict[str, Any]:
        """The request that it makes; empty fields are left out. Raises ``ConfigErrors``."""
        found, problems = {}, []
        for field in self.fields:
            if field.value.strip():
                try:
                    found[field.name] = _value(field)
                except ValueError as error:
                    problems.append(Problem(field.name, str(error)))
        if problems:
            raise ConfigErrors("the request", problems)
        return found

    def with_problems(self, problems: Sequence[Problem]) -> Form:
        """The same with each problem at its field."""
        names = {one.name for one in self.fields}
        by_field: dict[str, list[str]] = {}
        for one in problems:
            name = one.where.partition(".")[0].partition("[")[0]
            within = one.where.removeprefix(name).lstrip(".")
            by_field.setdefault(name if name in names else "", []).append(
                f"{within}: {one.what}" if within else one.what
            )
        fields = [replace(one, problem="; ".join(by_field.get(one.name, []))) for one in self.fields]
        return replace(self, fields=fields, others="; ".join(by_field.get("", [])))


def form_of(verb: Verb, workspace: Workspace, filled: Mapping[str, str]) -> Form:
    """The form of a verb, filled with what was sent or asked for."""
    schema = verb.request.model_json_schema(mode="validation")
    required = set(schema.get("required", ()))
    targets = target_names(workspace.targets)
    fields = []
    for name in verb.request.model_fields:
        of_target = name in ("target", *verb.occupies)
        about = schema["properties"][name]
        example = _as_yaml(verb.example.get(name))
        kind, number = _kind(about)
        choices = targets if of_target else ["", "true", "false"] if kind == "choice" else ()
        fields.append(
            Field(
                name=name,
                kind="choice" if of_target else kind,
                about=about.get("description", ""),
                required=name in required,
                value=filled.get(name, example if name in required and not of_target else ""),
                example=example,
                choices=choices,
                number=number,
            )
        )
    return Form(verb, fields)


def _kind(schema: Mapping[str, Any]) -> tuple[str, type[int] | type[float] | None]:
    """Which field a key has, and the type of its number."""
    kinds = {one.get("type") for one in (schema, *schema.get("anyOf", ()))} - {None, "null"}
    if kinds == {"boolean"}:
        return "choice", None
    if len(kinds) == 1 and (number := _NUMBERS.get(str(next(iter(kinds))))):
        return "number", number
    return ("text" if kinds == {"string"} else "yaml"), None


def _value(field: Field) -> Any:
    """What a filled field means. Raises ``ValueError``."""
    text = field.value.strip()
    if field.kind == "choice":
        return {"true": True, "false": False}.get(text, text)
    if field.number is not None:
        try:
            return field.number(text)
        except ValueError:
            return text  # the model states what it expects
    return _from_yaml(text) if field.kind == "yaml" else text


def _from_yaml(text: str) -> Any:
    """A value of YAML that JSON can hold. Raises ``ValueError``."""
    try:
        if any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text, yaml.SafeLoader)):
            raise ValueError("must be YAML without references")
        found = yaml.safe_load(text)
        return json.loads(json.dumps(found))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"must be YAML: {error.problem} in line {line}") from None
    except (yaml.YAMLError, TypeError, RecursionError):
        raise ValueError("must be YAML with texts, numbers, lists and keys") from None


def _as_yaml(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str | bool | int | float):
        return json.dumps(value) if isinstance(value, bool) else str(value)
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=None).rstrip()
