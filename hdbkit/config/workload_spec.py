"""The specification of a workload and its schema. Each workload extends this model with its scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from hdbkit.config.installed import checked_storage, storage_fields
from hdbkit.config.model import ConfigModel, has_mark
from hdbkit.text import option_words

StorageValue = bool | int | float | str


class SchemaFrom(StrEnum):
    """The tool that created a schema: hdbkit, or HammerDB, whose schema is then run unchanged."""

    HDBKIT = "hdbkit"
    HAMMERDB = "hammerdb"


CreatedBy = Annotated[
    SchemaFrom,
    Field(
        description="tool that created the schema; hammerdb: run the schema as HammerDB built it",
        json_schema_extra={"identifies_schema": True},
    ),
]
"""The field of a workload whose schema HammerDB may have created."""


class WorkloadSpec(ConfigModel):
    """A workload and its schema. ``seed`` determines the population: equal specifications give equal tables.

    Each workload has a subclass with its scale; ``hdbkit.config.spec_from`` reads any.
    """

    noun: ClassVar[str] = "the workload"

    kind: str = Field(description="the workload")
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of the population")
    storage: dict[str, StorageValue] = Field(
        default_factory=dict, description="storage options of the engine, such as partitions"
    )

    @model_validator(mode="before")
    @classmethod
    def _storage_beside(cls, values: Any) -> Any:
        """Move storage options given next to the specification's own keys into ``storage``."""
        keeps_all = cls.model_config.get("extra") == "allow"
        if keeps_all or not isinstance(values, dict) or not (others := values.keys() - cls.model_fields.keys()):
            return values
        found = {name: values[name] for name in sorted(others & storage_fields().keys())}
        if not found:
            return values
        kept = {name: value for name, value in values.items() if name not in found}
        if not isinstance(stored := kept.get("storage", {}), dict):
            return kept  # an error of the field
        asked = {name: checked_storage(name, value) for name, value in found.items()}
        given = {name: value for name, value in asked.items() if value is not None}
        others_stored = {name: value for name, value in stored.items() if name not in found}
        return {**kept, "storage": {**others_stored, **given}}

    def model_post_init(self, _: Any, /) -> None:
        """Count the kind as given, so that it is written wherever the given fields are."""
        self.model_fields_set.add("kind")

    @classmethod
    def other_keys(cls) -> Iterable[str]:
        """The keys that are no fields and may be given: storage options."""
        return storage_fields()

    def with_(self, **changes: Any) -> Self:
        """The same specification with some fields changed, validated like a new one. Raises ``ConfigErrors``."""
        return type(self)(**{**{name: getattr(self, name) for name in self.model_fields_set}, **changes})

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
        return [*self.workload_words, *_all_words(changed)]

    @property
    def workload_words(self) -> list[str]:
        """The option of the command line that names the workload or its folder; none for the default workload."""
        return [] if self.is_default else ["--workload", self.named]

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

    is_default: ClassVar[bool] = False
    """Whether it is the workload where none is given."""
    scale_field: ClassVar[str] = ""
    """The field for the scale, if there is one; it is always written."""


def _all_words(options: Mapping[str, Any]) -> list[str]:
    """The words of several options."""
    return [word for name, value in options.items() for word in option_words(name, value)]


def identifies_schema(field: Any) -> bool:
    """Whether a field identifies the schema, so that it is neither a form field nor a factor."""
    return has_mark(field, "identifies_schema")


def is_filled_in(field: Any) -> bool:
    """Whether a field is derived from the workload, so that users do not write it."""
    return has_mark(field, "filled_in")
