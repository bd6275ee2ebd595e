"""The base of all configuration values: frozen, nothing unknown accepted, mistakes in plain words."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from hdbkit.config.mistakes import mistakes_of
from hdbkit.errors import ConfigErrors


class ConfigModel(BaseModel):
    """A frozen value. A wrong one raises :class:`~hdbkit.errors.ConfigErrors` with every mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigErrors(type(self).__name__, mistakes_of(error, type(self))) from None
