"""Which server settings are tried: our YAML form, and hammerpost's ``params.json`` as it is."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from hdbkit.config.files import read_yaml, validate
from hdbkit.config.load import MOST_USERS, Load
from hdbkit.config.model import ConfigModel
from hdbkit.config.workload_spec import WorkloadSpec

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$"


class Reset(StrEnum):
    """What is done to the data before each run."""

    AUTO = "auto"
    RESTORE = "restore"
    NONE = "none"


class SweepSpec(ConfigModel):
    """A grid of settings x virtual users, measured in randomized complete blocks.

    The first value of each setting is the baseline's unless ``baseline`` names another.
    """

    name: str = Field(default="sweep", pattern=_NAME)
    question: str | None = Field(default=None, description="the question the sweep answers, for its report")
    settings: dict[str, tuple[str, ...]] = Field(min_length=1, description="the values of each setting")
    baseline: dict[str, str] = Field(default_factory=dict, description="the baseline's value of a setting")
    virtual_users: tuple[int, ...] = Field(default=(4,), min_length=1, description="counts to run at")
    blocks: int = Field(default=8, ge=2, le=1000, description="passes over all configurations")
    smallest_effect: float = Field(default=0.02, gt=0, lt=1, description="the smallest ratio that matters")
    reset: Reset = Field(
        default=Reset.AUTO, description="data before each run; auto: restore on a private server, else none"
    )
    cooldown_s: float = Field(default=0, ge=0, le=3600, description="idle seconds before each run")
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of the order of runs")
    load: Load = Field(default_factory=Load)
    workload: WorkloadSpec | None = Field(default=None, description="what must be there; none: what was built")

    @field_validator("settings", mode="before")
    @classmethod
    def _values_as_text(cls, settings: Any) -> Any:
        if not isinstance(settings, dict):
            return settings
        return {str(name): _values(name, values) for name, values in settings.items()}

    @field_validator("baseline", mode="before")
    @classmethod
    def _baseline_as_text(cls, baseline: Any) -> Any:
        if not isinstance(baseline, dict):
            return baseline
        return {str(name): setting_text(value) for name, value in baseline.items()}

    @field_validator("virtual_users")
    @classmethod
    def _user_counts(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        for count in counts:
            if not 1 <= count <= MOST_USERS:
                raise ValueError(f"each must be 1 to {MOST_USERS}, not {count}")
        if len(set(counts)) < len(counts):
            raise ValueError(f"each count once, not {list(counts)}")
        return counts

    @field_validator("load")
    @classmethod
    def _users_at_the_top(cls, load: Load) -> Load:
        if load.virtual_users != Load.model_fields["virtual_users"].default:
            raise ValueError(
                f"virtual_users stands beside load in a sweep, not in it; write virtual_users: [{load.virtual_users}]"
            )
        return load

    @model_validator(mode="after")
    def _baseline_in_grid(self) -> SweepSpec:
        for name, value in self.baseline.items():
            if name not in self.settings:
                raise ValueError(f"baseline: '{name}' is not among the settings")
            if value not in self.settings[name]:
                raise ValueError(f"baseline: {name} = {value} is not among its values {list(self.settings[name])}")
        return self

    def with_(self, **changes: Any) -> SweepSpec:
        """The same sweep with some fields changed. Raises ``ConfigErrors`` when it makes no sense so."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, **changes})

    @classmethod
    def read(cls, path: Path, **changes: Any) -> SweepSpec:
        """The sweep in a YAML file, in the plan of an earlier sweep, or in hammerpost's ``{setting: [values]}``.

        ``changes`` (not None) replace top-level keys, as the command line's options do.
        """
        content, lines = read_yaml(path)
        if isinstance(content, dict) and isinstance(content.get("spec"), dict) and "sweep_id" in content:
            content, lines = (
                content["spec"],
                {place[1:]: line for place, line in lines.items() if place[:1] == ("spec",)},
            )
        if isinstance(content, dict) and "settings" not in content and _is_hammerpost(content):
            lines = {("settings", *place): line for place, line in lines.items()}
            content = {"name": path.stem if re.fullmatch(_NAME, path.stem) else "sweep", "settings": content}
        given = {key: value for key, value in changes.items() if value is not None}
        if isinstance(content, dict):
            content = {**content, **given}
        return validate(content, cls, source=str(path), lines=lines)


def setting_text(value: object) -> str:
    """A setting's value as the server reads it: ``on`` and ``off`` for booleans, else plain text."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return json.dumps(value)
    raise ValueError(f"a value must be text, a number, or on/off, not {value!r}")


def _values(name: object, values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise ValueError(f"{name}: give a list of values, such as [{values}]")
    texts = tuple(setting_text(value) for value in values)
    if not texts:
        raise ValueError(f"{name}: give at least one value")
    if len(set(texts)) < len(texts):
        raise ValueError(f"{name}: each value once, not {list(texts)}")
    return texts


def _is_hammerpost(content: dict[Any, Any]) -> bool:
    keys = set(SweepSpec.model_fields)
    return bool(content) and not keys & set(content) and all(isinstance(v, list) for v in content.values())
