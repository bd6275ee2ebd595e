"""What a run keeps beside its manifest: settings of the server (``settings.json``), query plans (``plans.json``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from hdbkit.errors import DamagedResult
from hdbkit.files import read_bytes, replace_file
from hdbkit.results.folder import RunFolder

_Value = str | int | float | bool | None


class KeptSetting(BaseModel):
    """A setting as read back at the start: value and default, both in ``unit``, and whether it was set explicitly."""

    value: _Value = None
    unit: str | None = None
    default: _Value = None
    changed: bool = False

    def text(self, value: _Value) -> str | None:
        """A value of it with its unit, such as ``4096 MB`` or ``16384 x 8kB``; None without one."""
        if value is None or not self.unit:
            return None if value is None else str(value)
        return f"{value} x {self.unit}" if self.unit[0].isdigit() else f"{value} {self.unit}"


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


_Settings = RootModel[dict[str, KeptSetting]]
_Plans = RootModel[dict[str, QueryPlan]]


def kept_settings(folder: RunFolder) -> dict[str, KeptSetting]:
    """The settings that a run kept, by their names. Raises ``DamagedResult``."""
    try:
        return _Settings.model_validate_json(read_bytes(folder.settings)).root
    except (OSError, ValidationError) as error:
        raise DamagedResult(f"{folder.settings} cannot be read: {error}") from None


def known_settings(folder: RunFolder) -> dict[str, KeptSetting]:
    """The settings that a run kept; empty where they cannot be read."""
    try:
        return kept_settings(folder)
    except DamagedResult:
        return {}


def write_plans(path: Path, plans: Mapping[str, QueryPlan]) -> None:
    """Write the plans of a run, by the name of the operation."""
    content = {name: one.model_dump(mode="json") for name, one in plans.items()}
    replace_file(path, json.dumps(content, indent=1).encode())


def read_plans(path: Path) -> dict[str, QueryPlan]:
    """The plans that a run kept, in the order of the operations; empty without any. Raises ``DamagedResult``."""
    try:
        found = _Plans.model_validate_json(read_bytes(path)).root
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise DamagedResult(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    return dict(sorted(found.items()))
