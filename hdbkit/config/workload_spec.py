"""The specification of a workload and its schema. Each workload extends this model with its scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, GetJsonSchemaHandler, SerializeAsAny
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hdbkit.config.extensible import Extensible, has_mark, storage_models, workload_models
from hdbkit.config.problems import did_you_mean
from hdbkit.text import option_words

StorageValue = bool | int | float | str


class WorkloadSpec(Extensible):
    """A workload and its schema. ``seed`` determines the population: equal specifications give equal tables.

    Calling this base creates the specification of the workload ``kind``, by default the first workload.

    Example:
        >>> WorkloadSpec().seed
        1
    """

    noun: ClassVar[str] = "the workload"
    model_field: ClassVar[str] = "spec_model"

    kind: str = Field(description="the workload")
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of the population")
    storage: dict[str, StorageValue] = Field(
        default_factory=dict, description="storage options of the engine, such as partitions"
    )

    @classmethod
    def chosen(cls, values: Mapping[str, Any]) -> type[Self]:
        """The specification model of the given workload, or of the default workload."""
        if not cls.is_base():
            return cls
        known = cls.subclasses()
        kind = values.get("kind", next(iter(known)))
        if not isinstance(kind, str) or kind not in known:
            listed = ", ".join(known)
            raise ValueError(
                f"there is no workload '{kind}' (known: {listed}).{did_you_mean(str(kind), list(known))}"
            )
        return known[kind]

    @classmethod
    def arranged(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Move storage options given next to the specification's own keys into ``storage``."""
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
        """All fields that a value may have, including storage options."""
        return {**super().known_fields(), **(storage_fields() if cls.is_base() else {})}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The JSON schema for editors; storage options are keys next to the others."""
        made = super().__get_pydantic_json_schema__(core_schema, handler)
        for model in storage_models().values() if cls.is_base() else ():
            made["properties"] = {**model.model_json_schema()["properties"], **made["properties"]}
        return made

    @property
    def fields(self) -> dict[str, Any]:
        """Its fields and storage options; defaults are omitted."""
        own = self.model_dump(mode="json", exclude_defaults=True, exclude={"storage"})
        return {**own, **self.storage}

    @property
    def words(self) -> list[str]:
        """The command line options for this specification; defaults are omitted, except for the scale."""
        own = type(self).model_fields.keys() - WorkloadSpec.model_fields.keys()
        changed = self.model_dump(mode="json", include=own, exclude_defaults=True)
        if self.scale_field:
            changed = {self.scale_field: getattr(self, self.scale_field), **changed}
        return [*workload_words(self.named), *_all_words(changed)]

    @property
    def build_words(self) -> list[str]:
        """The options of ``hdbkit build`` for this specification: ``words``, and those that only a build has."""
        seed = self.model_dump(include={"seed"}, exclude_defaults=True)
        return [*self.words, *_all_words(seed | self.storage)]

    @property
    def named(self) -> str:
        """The value for ``--workload``: its kind, or the folder that defines it."""
        own = (getattr(self, name) for name, field in type(self).model_fields.items() if has_mark(field, "named"))
        return next(filter(None, own), self.kind)

    @property
    def identity(self) -> Self:
        """The same workload without its scale: only the fields that identify workload and schema."""
        fields = type(self).model_fields.items()
        kept = {"kind", *(name for name, field in fields if identifies_schema(field) or is_filled_in(field))}
        return type(self)(**{name: getattr(self, name) for name in kept & self.model_fields_set})

    @property
    def size(self) -> float | None:
        """Its scale as a number; None if it has none, or it is not known."""
        found = getattr(self, self.scale_field) if self.scale_field else None
        return None if found is None else float(found)

    @property
    def slug(self) -> str:
        """A short form for run ids, with the scale."""
        return self.kind

    scale_field: ClassVar[str] = ""
    """The field for the scale, if there is one; it is always written."""


AnyWorkload = SerializeAsAny[WorkloadSpec]
"""A field that keeps a workload's own fields when it is written."""


def storage_fields() -> dict[str, Any]:
    """The storage options of all engines, by name; if several engines have one, the first."""
    found: dict[str, Any] = {}
    for model in storage_models().values():
        found |= {name: field for name, field in model.model_fields.items() if name not in found}
    return found


def _all_words(options: Mapping[str, Any]) -> list[str]:
    """The words of several options."""
    return [word for name, value in options.items() for word in option_words(name, value)]


def _checked(name: str, value: Any) -> Any:
    """The validated value of a storage option; None if it is the default."""
    model = next(one for one in storage_models().values() if name in one.model_fields)
    checked = getattr(model.model_validate({name: value}), name)
    return None if checked == model.model_fields[name].default else checked


def identifies_schema(field: Any) -> bool:
    """Whether a field identifies the schema, so that it is neither a form field nor a factor."""
    return has_mark(field, "identifies_schema")


def is_filled_in(field: Any) -> bool:
    """Whether a field is derived from the workload, so that users do not write it."""
    return has_mark(field, "filled_in")


def workload_words(named: str) -> list[str]:
    """The option of the command line that names a workload or its folder; none for the default workload."""
    return [] if named == default_kind() else ["--workload", named]


def default_kind() -> str:
    """The default workload."""
    return next(iter(workload_models()))
