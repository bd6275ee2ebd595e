"""Types of fields in a sweep file: values, factors, conditions."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue

from hdbkit.config.expressions import Condition
from hdbkit.config.problems import did_you_mean
from hdbkit.config.quantities import Dimension, quantity
from hdbkit.config.sweep_factors import factor_texts, factors_schema
from hdbkit.config.sweep_values import VALUES_SCHEMA, names_of, setting_text, value_text, value_texts

HOST_FACTS = ("ram", "cpus")
"""Facts of the database's host that hdbkit can determine itself."""


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
    known = {*HOST_FACTS, *info.data.get("facts", {})}
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
    known = {*info.data["settings"], *info.data["factors"], *info.data["facts"], *HOST_FACTS}
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


Text = Annotated[str, BeforeValidator(setting_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""A value as written by users: ``64GB``, 8, on."""
Facts = Annotated[dict[str, Text], AfterValidator(_facts)]
ValueText = Annotated[str, PlainValidator(value_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""The same, or a formula."""
Values = Annotated[tuple[ValueText, ...], BeforeValidator(_setting_values), WithJsonSchema(VALUES_SCHEMA)]
Factors = Annotated[dict[str, tuple[ValueText, ...]], BeforeValidator(_factors), _FactorsSchema()]
Constraint = Annotated[Condition, AfterValidator(_constraint)]
