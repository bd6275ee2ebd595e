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

from pydantic import Field

from hdbkit import config
from hdbkit.config.words import option_words
from hdbkit.workloads import Models
from hdbkit.workloads.custom.definition import Definition, Number
from hdbkit.workloads.custom.folder import read_folder


class CustomSpec(config.WorkloadSpec):
    """A workload that users define in a folder; ``parameters`` replace its own values.

    Example:
        >>> spec = CustomSpec(folder="params/workloads/key-value", parameters={"rows": 1000})
        >>> spec.definition.operations["read"].weight
        95.0
    """

    kind: Literal["custom"] = Field(default="custom", description="the workload: custom (defined in a folder)")
    folder: str = Field(
        default="",
        description="the folder that defines the workload",
        json_schema_extra={"identifies_schema": True, "named": True},
    )
    parameters: dict[str, Number] = Field(default_factory=dict, description="values of its parameters: rows=100000")
    definition: Definition = Field(description="what workload.yaml says", json_schema_extra={"filled_in": True})
    statements: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="SQL by dialect ('ansi' for all) and name",
        json_schema_extra={"filled_in": True},
    )

    @classmethod
    def arranged(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Read the folder if the definition is not given."""
        values = super().arranged(values)
        if "definition" in values or not isinstance(values.get("folder"), str | Path):
            return values
        definition, statements = read_folder(Path(values["folder"]))
        return {**values, "folder": str(values["folder"]), "definition": definition, "statements": statements}

    @property
    def values(self) -> Mapping[str, Number]:
        """The effective parameters."""
        return {**self.definition.parameters, **self.parameters}

    @property
    def digest(self) -> str:
        """A digest that identifies this definition and its SQL."""
        content = {"definition": self.definition.model_dump(mode="json"), "statements": self.statements}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def words(self) -> list[str]:
        """The command-line options of this specification."""
        given = {"parameters": self.parameters} if self.parameters else {}
        options = [word for name, value in given.items() for word in option_words(name, value)]
        return ["--workload", self.folder, *options]

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """The workload that a folder defines. Raises ``InputError``."""
        return cls(folder=str(folder))


class CustomLoad(config.Load):
    """The load of a user-defined workload."""

    weights: dict[str, float] | None = Field(
        default=None, description="weight of each operation; none: those of the definition"
    )


MODELS = Models("user-defined", CustomSpec, CustomLoad, order=90, read_folder=CustomSpec.of_folder)
