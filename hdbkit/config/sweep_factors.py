"""Factors: options of load, schema and target that a sweep varies, in addition to settings of the server.

An option of the target, such as one of TLS, has ``target.`` before its name; the engine checks it.
In a configuration, the value of a factor is text, as for settings, so that effects, verdicts and charts treat both
alike: ``on`` and ``off`` for a switch, ``none`` for no value, ``read=90,write=10`` for a mix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetJsonSchemaHandler,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue

from hdbkit.config.expressions import Condition
from hdbkit.config.installed import storage_fields
from hdbkit.config.problems import did_you_mean, problems_of
from hdbkit.config.quantities import Dimension, quantity
from hdbkit.config.specs import load_fields, load_from, spec_fields, spec_from
from hdbkit.config.sweep_values import VALUES_SCHEMA, Formula, is_one, names_of, setting_text, value_text, value_texts
from hdbkit.config.workload_spec import WorkloadSpec, identifies_schema
from hdbkit.config.written import Written
from hdbkit.errors import ConfigErrors
from hdbkit.text import exact_number

_NO_FACTORS = {
    "virtual_users": "give virtual users next to factors, not in it: virtual_users: [1, 4, 16]",
    "seed": "a sweep sets the seed of each block itself",
    "read_only": "cannot vary, since a load that only reads may have a metric of its own; give it next to factors",
}
_NONE = "none"
OF_TARGET = "target."
_TARGET_OPTION = re.compile(r"target\.\w{1,40}")
_HOST_FACTS = ("ram", "cpus")
"""Facts of the database's host that hdbkit can determine itself."""


def load_factors() -> dict[str, Any]:
    """The load options of all workloads that can be factors, by name; a change applies to the next run."""
    return {name: field for name, field in load_fields().items() if name not in _NO_FACTORS}


def schema_factors() -> dict[str, Any]:
    """The schema options that can be factors, by name; a change requires a rebuild."""
    return {
        name: field
        for name, field in spec_fields().items()
        if name not in ("kind", "seed", "storage") and not identifies_schema(field)
    }


def factor_texts(name: str, written: object) -> tuple[str, ...]:
    """The values of a factor as texts. Raises ``ValueError`` for an unknown factor or an invalid value."""
    known = {**load_factors(), **schema_factors()}
    if name not in known and not _TARGET_OPTION.fullmatch(name):
        raise ValueError(
            _NO_FACTORS.get(name)
            or "is not an option of the load or the schema; an option of the target is written target.NAME."
            f"{did_you_mean(name, list(known))}"
        )
    return tuple(
        text if isinstance(text, Formula) else _plain(name, text) for text in value_texts(_as_texts(name, written))
    )


def factor_value(name: str, text: str) -> Any:
    """The value of a factor from its text. Raises ``ValueError``."""
    given: Any = None if text == _NONE else text
    if name.startswith(OF_TARGET):
        return given
    if given is not None and _holds_weights(name):
        given = weights_of(text)
    try:
        if name in load_factors():
            return getattr(load_from({name: given}), name)
        if name in storage_fields():
            return spec_from({name: given}).storage.get(name, storage_fields()[name].default)
        field = schema_factors()[name]
        adapter: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]
        return adapter.validate_python(given)
    except ConfigErrors as error:
        raise ValueError(error.problems[0].what) from None
    except ValidationError as error:
        raise ValueError(problems_of(error, WorkloadSpec)[0].what) from None


def factor_values(names: Iterable[str], configuration: Mapping[str, str]) -> dict[str, Any]:
    """The values of the factors ``names`` that a configuration has, by name."""
    return {name: factor_value(name, configuration[name]) for name in names if name in configuration}


def target_options(options: Mapping[str, str], configuration: Mapping[str, str]) -> dict[str, str]:
    """The options of a target in a configuration; ``none`` leaves one out."""
    names = [name for name in configuration if name.startswith(OF_TARGET)]
    given = {name.removeprefix(OF_TARGET): factor_value(name, configuration[name]) for name in names}
    return {name: one for name, one in {**options, **given}.items() if one is not None}


def factors_schema() -> dict[str, Any]:
    """The JSON schema of factors: names and descriptions."""
    fields = {**load_factors(), **schema_factors()}
    kinds = ["array", "object", "string"]
    of_each = {
        name: {"type": kinds, "description": f"values of: {field.description}"} for name, field in fields.items()
    }
    of_target = {_TARGET_OPTION.pattern: {"type": kinds, "description": "values of: an option of the target"}}
    return {"type": "object", "properties": of_each, "patternProperties": of_target, "additionalProperties": False}


def _as_texts(name: str, written: object) -> object:
    """A list of values as texts; ranges and formulas unchanged."""
    if not isinstance(written, list | tuple):
        return written
    return [_text(name, one) for one in written]


def _text(name: str, one: object) -> object:
    if (
        _holds_weights(name)
        and isinstance(one, dict)
        and all(isinstance(weight, int | float) for weight in one.values())
    ):
        one = ",".join(f"{key}={weight}" for key, weight in one.items())
    if is_one(one):
        return one
    return _plain(name, _NONE if one is None else setting_text(one))


def _plain(name: str, text: str) -> str:
    """The canonical text of a value."""
    return _written(factor_value(name, text))


def _written(value: object) -> str:
    if value is None:
        return _NONE
    if isinstance(value, Enum | Written):
        return str(value)
    if isinstance(value, dict):
        return ",".join(f"{key}={exact_number(one)}" for key, one in value.items())
    return exact_number(value) if isinstance(value, float) else setting_text(value)


def _holds_weights(name: str) -> bool:
    """Whether a factor has a weight for each operation."""
    field = {**load_factors(), **schema_factors()}.get(name)
    return field is not None and "dict" in str(field.annotation)


def weights_of(text: str) -> dict[str, str] | list[str]:
    """``read=90,write=10`` as a dict, ``90,10`` as a list. Raises ``ValueError`` if a key is repeated."""
    if "=" not in text:
        return [weight.strip() for weight in text.split(",")]
    weights: dict[str, str] = {}
    for part in text.split(","):
        key, _, weight = (word.strip() for word in part.partition("="))
        if key in weights:
            raise ValueError(f"'{key}' occurs twice in {text}")
        weights[key] = weight
    return weights


def _setting_values(written: object, info: ValidationInfo) -> tuple[str, ...]:
    texts = value_texts(written)
    _facts_only(texts, info)
    return texts


def _factors(written: object, info: ValidationInfo) -> object:
    if not isinstance(written, dict):
        return written
    found = {}
    for name, values in written.items():
        try:
            found[name] = factor_texts(str(name), values)
            _facts_only(found[name], info)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def _facts_only(texts: tuple[str, ...], info: ValidationInfo) -> None:
    """Raise ``ValueError`` for a formula with names that are not facts."""
    known = {*_HOST_FACTS, *info.data.get("facts", {})}
    for name in sorted(names_of(texts) - known):
        raise ValueError(
            f"'{name}' is not a fact (known: {', '.join(sorted(known))}); add it to facts, or write a constraint"
            f" between settings.{did_you_mean(name, sorted(known))}"
        )


def _facts(facts: dict[str, str]) -> dict[str, str]:
    """Refuse facts that formulas could not use: ``ram`` must be a size and ``cpus`` a number."""
    for name, text in facts.items():
        found = quantity(text)
        known = {"ram": Dimension.SIZE, "cpus": Dimension.PLAIN}.get(name)
        if known and (found is None or found.dimension is not known or found.amount <= 0):
            raise ValueError(f"{name} must be {known}, such as {'64GB' if name == 'ram' else '8'}, not '{text}'")
    return facts


def _constraint(condition: Condition, info: ValidationInfo) -> Condition:
    if not {"settings", "factors", "facts"} <= info.data.keys():
        return condition  # reported with their own errors
    known = {*info.data["settings"], *info.data["factors"], *info.data["facts"], *_HOST_FACTS}
    for name in sorted(condition.names - known):
        raise ValueError(
            f"'{name}' is not a setting, factor or fact of this sweep; add it to settings or to facts."
            f"{did_you_mean(name, sorted(known))}"
        )
    return condition


class _FactorsSchema:
    """The JSON schema of factors; created on demand, since every workload adds to it."""

    def __get_pydantic_json_schema__(self, _: object, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return factors_schema()


SettingText = Annotated[str, BeforeValidator(setting_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""A value as written by users: ``64GB``, 8, on."""
Facts = Annotated[dict[str, SettingText], AfterValidator(_facts)]
ValueText = Annotated[str, PlainValidator(value_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""The same, or a formula."""
FactorValues = Annotated[tuple[ValueText, ...], BeforeValidator(_setting_values), WithJsonSchema(VALUES_SCHEMA)]
Factors = Annotated[dict[str, tuple[ValueText, ...]], BeforeValidator(_factors), _FactorsSchema()]
Constraint = Annotated[Condition, AfterValidator(_constraint)]
