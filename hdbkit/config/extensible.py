"""Models that workloads extend: calling the base creates the subclass that has the given fields.

``Load`` and ``WorkloadSpec`` hold what all workloads share; each workload has subclasses with its own fields, and
each engine has options of a schema. Users write ``Load(virtual_users=8, mix={...})`` or the same keys in a file, and
get the subclass that has them. This module has the only look-up against the order of packages: a base finds its
subclasses by importing the package that registers them, on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic import ValidationError, ValidatorFunctionWrapHandler, model_validator

from hdbkit.config.model import ConfigModel
from hdbkit.config.problems import problems_of
from hdbkit.errors import ConfigErrors, Problem

if TYPE_CHECKING:
    from pydantic import BaseModel, GetJsonSchemaHandler
    from pydantic._internal._model_construction import ModelMetaclass
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema
else:
    ModelMetaclass = type(ConfigModel)


@cache
def _registered(package: str, function: str) -> Mapping[str, Any]:
    """The models that a package registers, by name."""
    return cast("Callable[[], Mapping[str, Any]]", getattr(importlib.import_module(package), function))()


def workload_models() -> Mapping[str, Any]:
    """By workload: its ``spec_model`` and ``load_model``; the default workload is first."""
    return _registered("hdbkit.workloads", "models")


def storage_models() -> Mapping[str, type[ConfigModel]]:
    """By database: the model of its storage options."""
    return _registered("hdbkit.databases", "schema_option_models")


class _ChoosesSubclass(ModelMetaclass):
    """Calling a base creates an instance of the subclass that has the given fields."""

    def __call__(cls, /, **values: Any) -> Any:  # noqa: N805  a metaclass
        try:
            chosen = cls.chosen(values)  # type: ignore[attr-defined]
        except ValueError as error:
            raise ConfigErrors(
                cls.source(values),  # type: ignore[attr-defined]
                [Problem("kind", str(error))],
            ) from None
        try:
            arranged = chosen.arranged(values)
        except ValidationError as error:
            raise ConfigErrors(chosen.source(values), problems_of(error, chosen)) from None
        return super(_ChoosesSubclass, chosen).__call__(**arranged)


class Extensible(ConfigModel, metaclass=_ChoosesSubclass):
    """Base class; a direct subclass is a base, and its subclasses are registered by workloads."""

    model_field: ClassVar[str]
    """Which model of a workload extends this base: ``spec_model`` or ``load_model``."""

    @classmethod
    def is_base(cls) -> bool:
        """Whether this is a base that workloads extend."""
        return Extensible in cls.__bases__

    @classmethod
    def subclasses(cls) -> dict[str, type[Self]]:
        """The subclass of each workload."""
        return {kind: getattr(models, cls.model_field) for kind, models in workload_models().items()}

    @classmethod
    def known_fields(cls) -> dict[str, Any]:
        """All fields that a value may have, including those of all subclasses, by name."""
        found: dict[str, Any] = dict(cls.model_fields)
        for model in cls.subclasses().values() if cls.is_base() else ():
            found |= {name: field for name, field in model.model_fields.items() if name not in found}
        return found

    @classmethod
    def chosen(cls, values: Mapping[str, Any]) -> type[Self]:
        """The class for these fields: this one, or the subclass that has most of the additional fields."""
        if not cls.is_base() or not (others := values.keys() - cls.model_fields.keys()):
            return cls
        models = list(cls.subclasses().values())
        best = max(models, key=lambda model: len(others & model.model_fields.keys()), default=cls)
        return best if others & best.model_fields.keys() else cls

    def with_(self, **changes: Any) -> Self:
        """The same value with some fields changed, validated like a new value.

        Raises:
            ConfigErrors: the result is invalid.
        """
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**given, **changes})

    @classmethod
    def arranged(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Convert the given keys to the model's fields; for bases that accept other keys."""
        return values

    @model_validator(mode="wrap")
    @classmethod
    def _of_the_subclass(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if isinstance(value, dict):
            chosen = cls.chosen(value)
            if chosen is not cls:
                return chosen.model_validate(value)
            value = cls.arranged(value)
        return handler(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The JSON schema for editors; a base accepts the keys of all its subclasses."""
        made = handler.resolve_ref_schema(handler(core_schema))
        if not cls.is_base():
            return made
        properties = dict(made["properties"])
        for model in cls.subclasses().values():
            whole = cast("type[BaseModel]", model).model_json_schema()
            own = _inlined(whole["properties"], whole.get("$defs", {}))
            properties |= {name: own[name] for name in cls.written_fields() if name in own and name not in properties}
        return {**made, "properties": properties, "required": []}

    @classmethod
    def written_fields(cls) -> dict[str, Any]:
        """The fields that users write, by name; the others are derived from these."""
        return {name: field for name, field in cls.known_fields().items() if not has_mark(field, "filled_in")}


def has_mark(field: Any, mark: str) -> bool:
    """Whether a field is marked in its ``json_schema_extra``: ``filled_in``, ``identifies_schema``, ``named``; or
    ``after_load``, if rows do not depend on it."""
    return bool((field.json_schema_extra or {}).get(mark))


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """A JSON schema with its references resolved."""
    if isinstance(node, list):
        return [_inlined(one, definitions) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return {**_inlined(definitions[node["$ref"].rpartition("/")[2]], definitions), **rest}
    return {key: _inlined(value, definitions) for key, value in node.items() if key != "$defs"}
