"""Models that a plugin extends: made by the base's name, a value is of the subclass whose fields are given.

``Load`` and ``WorkloadSpec`` hold what all workloads share; each workload has subclasses with its own fields, and
each engine has options of a schema. Users write ``Load(virtual_users=8, mix={...})`` or the same keys in a file, and
get the subclass that has them. The one look-up that goes against the order of packages is here: a base finds its
subclasses by importing the package that registers them, when it first needs them.
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
    """What the plugins of ``package`` register, by name."""
    return cast("Callable[[], Mapping[str, Any]]", getattr(importlib.import_module(package), function))()


def workload_models() -> Mapping[str, Any]:
    """By kind: ``spec_model`` and ``load_model`` of every workload; the default workload first."""
    return _registered("hdbkit.workloads", "models")


def storage_models() -> Mapping[str, type[ConfigModel]]:
    """By kind of database: the model of its own options of a schema."""
    return _registered("hdbkit.databases", "schema_option_models")


class _ChoosesSubclass(ModelMetaclass):
    """Calling a base makes a value of the subclass that its keywords belong to."""

    def __call__(cls, /, **values: Any) -> Any:  # noqa: N805  a metaclass
        try:
            chosen = cls.chosen(values)  # type: ignore[attr-defined]
        except ValueError as error:
            raise ConfigErrors(cls.__name__, [Problem("kind", str(error))]) from None
        try:
            arranged = chosen.arranged(values)
        except ValidationError as error:
            raise ConfigErrors(chosen.__name__, problems_of(error, chosen)) from None
        return super(_ChoosesSubclass, chosen).__call__(**arranged)


class Extensible(ConfigModel, metaclass=_ChoosesSubclass):
    """The base of such models; a direct subclass is a base, a subclass of that is what a plugin registers."""

    model_field: ClassVar[str]
    """Which of a workload's models extend this base: ``spec_model`` or ``load_model``."""

    @classmethod
    def is_base(cls) -> bool:
        """Whether this is the base that plugins extend."""
        return Extensible in cls.__bases__

    @classmethod
    def subclasses(cls) -> dict[str, type[Self]]:
        """What extends it, by kind of workload."""
        return {kind: getattr(models, cls.model_field) for kind, models in workload_models().items()}

    @classmethod
    def known_fields(cls) -> dict[str, Any]:
        """Every field that a value may have, those of all subclasses included, by name."""
        found: dict[str, Any] = dict(cls.model_fields)
        for model in cls.subclasses().values() if cls.is_base() else ():
            found |= {name: field for name, field in model.model_fields.items() if name not in found}
        return found

    @classmethod
    def chosen(cls, values: Mapping[str, Any]) -> type[Self]:
        """The class of a value with these fields: this one, or the subclass that has the most of its other fields."""
        if not cls.is_base() or not (others := values.keys() - cls.model_fields.keys()):
            return cls
        models = list(cls.subclasses().values())
        best = max(models, key=lambda model: len(others & model.model_fields.keys()), default=cls)
        return best if others & best.model_fields.keys() else cls

    def with_(self, **changes: Any) -> Self:
        """The same value with some fields changed, checked as a new one is.

        Raises:
            ConfigErrors: it makes no sense so.
        """
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**given, **changes})

    @classmethod
    def arranged(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values as the fields take them; for a base whose keys may be written in other ways."""
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
        """For editors, a base accepts the keys of all that extends it."""
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
        """The known fields that people write, by name; others are filled in from what these name."""
        return {name: field for name, field in cls.known_fields().items() if not has_mark(field, "filled_in")}


def has_mark(field: Any, mark: str) -> bool:
    """Whether a field is marked in its ``json_schema_extra``: ``filled_in``, ``identifies_schema``, ``named``."""
    return bool((field.json_schema_extra or {}).get(mark))


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """A JSON schema with its references replaced by what they name."""
    if isinstance(node, list):
        return [_inlined(one, definitions) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return {**_inlined(definitions[node["$ref"].rpartition("/")[2]], definitions), **rest}
    return {key: _inlined(value, definitions) for key, value in node.items() if key != "$defs"}
