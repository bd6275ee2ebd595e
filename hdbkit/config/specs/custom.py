"""A user-defined workload's own part of a specification and of a load.

A specification holds the whole definition and the SQL texts, not only where they were read: a run folder is complete
by itself, and a load host needs no copy of the folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from hdbkit.config.installed import read_workload
from hdbkit.config.load import Load
from hdbkit.config.specs.definition import BUILDING, MAX_WEIGHT, Definition, Number
from hdbkit.config.specs.definition_problems import value_problems, word_problems
from hdbkit.config.workload_spec import WorkloadSpec
from hdbkit.sql import lexers_of, made, words_for
from hdbkit.text import exact_number, option_words


class CustomSpec(WorkloadSpec):
    """A workload that users define in a folder; ``parameters`` replace its own values.

    Example:
        >>> spec = CustomSpec.of_folder("params/workloads/key-value", {"rows": 1000})
        >>> spec.definition.operations["read"].weight
        95.0
    """

    kind: Literal["custom"] = Field(default="custom", description="the workload: custom (defined in a folder)")
    folder: str = Field(
        default="",
        description="the folder that defines the workload",
        json_schema_extra={"identifies_schema": True, "named": True},
    )
    definition: Definition = Field(description="what workload.yaml says", json_schema_extra={"filled_in": True})
    parameters: dict[str, Number] = Field(
        default_factory=dict,
        description="values of its parameters: rows=100000",  # those of the definition where they are not given
    )
    statements: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="SQL by dialect ('ansi' for all) and name",
        json_schema_extra={"filled_in": True},
    )

    @classmethod
    def source(cls, values: Mapping[str, Any]) -> str:
        """The folder that the user gave."""
        return str(values.get("folder") or super().source(values))

    @model_validator(mode="before")
    @classmethod
    def _of_its_folder(cls, values: Any) -> Any:
        """Read the folder if the definition is not given."""
        if not isinstance(values, dict) or "definition" in values or not isinstance(values.get("folder"), str | Path):
            return values
        definition, statements = read_workload(Path(values["folder"]))
        return {**values, "folder": str(values["folder"]), "definition": definition, "statements": statements}

    @field_validator("parameters")
    @classmethod
    def _with_defaults(cls, given: dict[str, Number], info: ValidationInfo) -> dict[str, Number]:
        """Every parameter of the definition; 10.0 is 10."""
        definition: Definition | None = info.data.get("definition")
        if definition is None:
            return given  # reported by itself
        if unknown := sorted(given.keys() - definition.parameters.keys()):
            known = ", ".join(definition.parameters) or "none"
            raise ValueError(f"the workload {definition.name} has no parameter '{unknown[0]}' (it has: {known})")
        values = {**definition.parameters, **given}
        return {name: int(value) if value == int(value) else value for name, value in values.items()}

    @model_validator(mode="after")
    def _values_make_sense(self) -> Self:
        texts = [(dialect, name, text) for dialect, of in self.statements.items() for name, text in of.items()]
        for at, what in value_problems(self.definition.variables, self.definition.tables, self.parameters):
            raise ValueError(f"{'.'.join(at)}: {what}")
        for dialect, name, text in texts:
            for what in word_problems(words_for(made(name, text, Path()), lexers_of(dialect)), self.parameters):
                raise ValueError(f"{name}: {what}")
        return self

    def with_(self, **changes: Any) -> Self:
        """The same value with some fields changed; parameters that are not given keep their values."""
        given = changes.get("parameters")
        if isinstance(given, Mapping):
            changes["parameters"] = {**self.parameters, **given}
        return super().with_(**changes)

    @property
    def build_digest(self) -> str:
        """A digest of what a build uses beside the parameters: tables, their variables, and statements."""
        tables = self.definition.model_dump(mode="json", include={"tables"})["tables"]
        drawn = {str(value) for table in tables.values() for value in table["columns"].values()}
        variables = {
            name: one.model_dump(mode="json", exclude_defaults=True)
            for name, one in sorted(self.definition.variables.items())
            if name in drawn
        }
        statements = sorted(
            (dialect, name, made(name, text, Path()).text)
            for dialect, of in self.statements.items()
            for name, text in of.items()
            if name.startswith(BUILDING)
        )
        content = [
            [[name, *one["columns"].items(), one["rows"]] for name, one in tables.items()],
            variables,
            statements,
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    @property
    def slug(self) -> str:
        """The name of the definition, for run ids."""
        return self.definition.name

    @property
    def fields(self) -> dict[str, Any]:
        fields = super().fields
        if self.parameters == self.definition.parameters:
            fields.pop("parameters", None)
        return fields

    @property
    def words(self) -> list[str]:
        given = option_words("parameters", self.parameters) if "parameters" in self.model_fields_set else []
        return [*self.workload_words, *(given if self.parameters else [])]

    @classmethod
    def of_folder(cls, folder: Path | str, parameters: Mapping[str, Number] | None = None) -> Self:
        """The workload that a folder defines, with other values of its parameters. Raises ``InputError``."""
        definition, statements = read_workload(Path(folder))
        spec = cls(folder=str(folder), definition=definition, statements=statements)
        return spec if parameters is None else spec.with_(parameters=parameters)


class CustomLoad(Load):
    """The load of a user-defined workload."""

    weights: dict[str, float] | None = Field(
        default=None, description="weight of each operation; none: those of the definition"
    )

    @field_validator("weights")
    @classmethod
    def _not_negative(cls, weights: dict[str, float] | None) -> dict[str, float] | None:
        for name, weight in (weights or {}).items():
            if weight < 0:
                raise ValueError(f"the weight of {name} must be 0 or more, not {exact_number(weight)}")
            if weight > MAX_WEIGHT:
                raise ValueError(f"the weight of {name} must be {MAX_WEIGHT:.0f} or less, not {exact_number(weight)}")
        return weights
