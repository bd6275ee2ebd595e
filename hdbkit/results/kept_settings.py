"""The settings of a server that a run read back at its start, ``settings.json`` of its folder."""

from __future__ import annotations

from pydantic import BaseModel, RootModel, ValidationError

from hdbkit.errors import DamagedResult
from hdbkit.results.folder import RunFolder

Value = str | int | float | bool | None


class KeptSetting(BaseModel):
    """A setting: value and default, both in ``unit``, and whether it was set explicitly."""

    value: Value = None
    unit: str | None = None
    default: Value = None
    changed: bool = False

    def text(self, value: Value) -> str | None:
        """A value of it with its unit, such as ``4096 MB`` or ``16384 x 8kB``; None without one."""
        if value is None or not self.unit:
            return None if value is None else str(value)
        return f"{value} x {self.unit}" if self.unit[0].isdigit() else f"{value} {self.unit}"


class _Kept(RootModel[dict[str, KeptSetting]]):
    """The content of the file."""


def kept_settings(folder: RunFolder) -> dict[str, KeptSetting]:
    """The settings that a run kept, by their names. Raises ``DamagedResult``."""
    try:
        return _Kept.model_validate_json(folder.settings.read_bytes()).root
    except (OSError, ValidationError) as error:
        raise DamagedResult(f"{folder.settings} cannot be read: {error}") from None


def known_settings(folder: RunFolder) -> dict[str, KeptSetting]:
    """The settings that a run kept; empty where they cannot be read."""
    try:
        return kept_settings(folder)
    except DamagedResult:
        return {}
