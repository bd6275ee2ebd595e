"""The optimizer's plans that a run keeps: ``plans.json``, by the name of the operation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from hdbkit.errors import DamagedResult
from hdbkit.files import replace_file


class EarlierPlan(BaseModel):
    """A plan that a query had within a run, and the second since the run's start at which another one was seen."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    until_s: float
    text: str


class QueryPlan(BaseModel):
    """The plan of a query with these arguments: lines for readers, and the engine's own JSON or XML, if any."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    arguments: dict[str, str]
    text: str
    content: Any
    earlier: list[EarlierPlan] = []


_Plans = RootModel[dict[str, QueryPlan]]


def write_plans(path: Path, plans: Mapping[str, QueryPlan]) -> None:
    """Write the plans of a run."""
    content = {name: one.model_dump(mode="json") for name, one in plans.items()}
    replace_file(path, json.dumps(content, indent=1).encode())


def read_plans(path: Path) -> dict[str, QueryPlan]:
    """The plans that a run kept, in the order of the operations; empty without any. Raises ``DamagedResult``."""
    try:
        found = _Plans.model_validate_json(path.read_bytes()).root
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise DamagedResult(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    return dict(sorted(found.items()))
