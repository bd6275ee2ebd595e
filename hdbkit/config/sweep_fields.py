"""The fields of a sweep file as they may be written: values, factors, conditions; each error in words."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, GetJsonSchemaHandler, ValidationInfo, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue

from hdbkit.config.expressions import Expression, ExpressionError
from hdbkit.config.problems import did_you_mean
from hdbkit.config.sweep_factors import factor_texts, factors_schema
from hdbkit.config.sweep_values import VALUES_SCHEMA, Formula, is_formula, setting_text, value_texts

HOST_FACTS = ("ram", "cpus")
"""What is known of the database's host without being given."""


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
        except ValueError as problem:
            raise ValueError(f"{name}: {problem}") from None
    return found


def _facts_only(texts: tuple[str, ...], info: ValidationInfo) -> None:
    """Refuse a formula with other names than facts."""
    known = {*HOST_FACTS, *info.data.get("facts", {})}
    for text in filter(is_formula, texts):
        for name in sorted(Formula.read(text).names - known):
            raise ValueError(
                f"'{name}' is no fact ({', '.join(sorted(known))}); give it in facts, or write a constraint"
                f" between settings.{did_you_mean(name, sorted(known))}"
            )


def _condition(text: str, info: ValidationInfo) -> str:
    try:
        expression = Expression(text)
    except ExpressionError as problem:
        raise ValueError(f"'{text}' {problem}") from None
    if not expression.is_condition:
        raise ValueError(f"'{text}' is no condition; write such as shared_buffers <= 0.4 * ram")
    if not {"settings", "factors", "facts"} <= info.data.keys():
        return text  # they have errors of their own
    known = {*info.data["settings"], *info.data["factors"], *info.data["facts"], *HOST_FACTS}
    for name in sorted(expression.names - known):
        raise ValueError(
            f"'{name}' is neither a setting or factor of this sweep nor a fact; give it a value among the settings, "
            f"or in facts.{did_you_mean(name, sorted(known))}"
        )
    return text


class _FactorsSchema:
    """What an editor accepts as factors; asked for late, since every workload adds to it."""

    def __get_pydantic_json_schema__(self, _: object, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return factors_schema()


Text = Annotated[str, BeforeValidator(setting_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]
"""A value as people write it: ``64GB``, 8, on."""
Values = Annotated[tuple[str, ...], BeforeValidator(_setting_values), WithJsonSchema(VALUES_SCHEMA)]
Factors = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_factors), _FactorsSchema()]
Condition = Annotated[str, AfterValidator(_condition)]
