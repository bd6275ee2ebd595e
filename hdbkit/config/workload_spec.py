"""Which workload, and what its schema is built as. Each workload extends this model with its scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, GetJsonSchemaHandler, SerializeAsAny
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hdbkit.config.extensible import Extensible, has_mark, storage_models, workload_models
from hdbkit.config.problems import did_you_mean
from hdbkit.config.words import option_words

StorageValue = bool | int | float | str


class WorkloadSpec(Extensible):
    """A workload and its schema; ``seed`` makes its population, so that equal specifications give equal tables.

    Made by this name, it is the specification of the workload that ``kind`` names, by default the first one.

    Example:
        >>> WorkloadSpec().seed
        1
    """

    model_field: ClassVar[str] = "spec_model"

    kind: str = Field(description="the workload")
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of the population")
    storage: dict[str, StorageValue] = Field(
        default_factory=dict, description="options of the schema that belong to the engine, such as partitions"
    )

    @classmethod
    def chosen(cls, values: Mapping[str, Any]) -> type[Self]:
        """The specification of the kind that is named, or of the default workload."""
        if not cls.is_base():
            return cls
        known = cls.subclasses()
        kind = values.get("kind", next(iter(known)))
        if kind not in known:
            listed = ", ".join(known)
            raise ValueError(
                f"there is no workload '{kind}' (known: {listed}).{did_you_mean(str(kind), list(known))}"
            )
        return known[kind]

    @classmethod
    def arranged(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Options of engines may stand beside the specification's own keys; they become ``storage``."""
        others = values.keys() - cls.model_fields.keys()
        found = {name: values[name] for name in sorted(others & storage_fields().keys())}
        if not found:
            return values
        kept = {name: value for name, value in values.items() if name not in found}
        asked = {name: _checked(name, value) for name, value in found.items()}
        given = {name: value for name, value in asked.items() if value is not None}
        others_stored = {name: value for name, value in kept.get("storage", {}).items() if name not in found}
        return {**kept, "storage": {**others_stored, **given}}

    @classmethod
    def known_fields(cls) -> dict[str, Any]:
        """Every field that a value may be given, options of engines included."""
        return {**super().known_fields(), **(storage_fields() if cls.is_base() else {})}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """For editors, options of engines stand beside the other keys."""
        made = super().__get_pydantic_json_schema__(core_schema, handler)
        for model in storage_models().values() if cls.is_base() else ():
            made["properties"] = {**model.model_json_schema()["properties"], **made["properties"]}
        return made

    @property
    def fields(self) -> dict[str, Any]:
        """All that tells it from another, storage options beside its own fields; defaults are omitted."""
        own = self.model_dump(mode="json", exclude_defaults=True, exclude={"storage"})
        return {**own, **self.storage}

    @property
    def words(self) -> list[str]:
        """The options of a command line that name this specification; defaults are omitted, but for the scale."""
        kind = [] if self.kind == default_kind() else ["--workload", self.kind]
        own = type(self).model_fields.keys() - WorkloadSpec.model_fields.keys()
        changed = self.model_dump(mode="json", include=own, exclude_defaults=True)
        if self.scale_field:
            changed = {self.scale_field: getattr(self, self.scale_field), **changed}
        return [*kind, *(word for name, value in changed.items() for word in option_words(name, value))]

    @property
    def named(self) -> str:
        """What ``--workload`` takes for it: its kind, or the folder that defines it."""
        own = (getattr(self, name) for name, field in type(self).model_fields.items() if has_mark(field, "named"))
        return next(filter(None, own), self.kind)

    @property
    def identity(self) -> Self:
        """The same workload at any scale: only what names it, and who made the schema."""
        fields = type(self).model_fields.items()
        kept = {"kind", *(name for name, field in fields if identifies_schema(field) or is_filled_in(field))}
        return type(self)(**{name: getattr(self, name) for name in kept & self.model_fields_set})

    scale_field: ClassVar[str] = ""
    """The field that states the scale, if there is one; it is always written."""


AnyWorkload = SerializeAsAny[WorkloadSpec]
"""A field that keeps a workload's own fields when it is written."""


def storage_fields() -> dict[str, Any]:
    """Every option of a schema that some engine has, by name; of several engines' the first."""
    found: dict[str, Any] = {}
    for model in storage_models().values():
        found |= {name: field for name, field in model.model_fields.items() if name not in found}
    return found


def _checked(name: str, value: Any) -> Any:
    """The value of a storage option as its engine's model reads it; None where that is the default."""
    model = next(one for one in storage_models().values() if name in one.model_fields)
    checked = getattr(model.model_validate({name: value}), name)
    return None if checked == model.model_fields[name].default else checked


def identifies_schema(field: Any) -> bool:
    """Whether a field states which schema is meant, and is nothing that can be chosen or tried."""
    return has_mark(field, "identifies_schema")


def is_filled_in(field: Any) -> bool:
    """Whether a field follows from what names the workload; nobody writes it."""
    return has_mark(field, "filled_in")


def default_kind() -> str:
    """The workload that is meant where none is named."""
    return next(iter(workload_models()))
