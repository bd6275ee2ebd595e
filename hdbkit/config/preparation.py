"""What is done before each run of an experiment: data, rest, warm-up of the server."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from hdbkit.config.load import CACHE_STATES, Cache, Load
from hdbkit.config.model import ConfigModel

REST_S = 10.0
"""The maximum cooldown before each run of a sweep that gives none."""


class Reset(StrEnum):
    """How data is reset before each run."""

    AUTO = "auto"
    RESTORE = "restore"
    NONE = "none"


class Cooldown(StrEnum):
    """When the cooldown before a run ends."""

    IDLE = "idle"
    FIXED = "fixed"


class Preparation(ConfigModel):
    """How a server is brought to the same state before each run of an experiment."""

    reset: Reset = Field(
        default=Reset.AUTO,
        description="reset of the data before each run; auto: restore on a private server, else none",
    )
    cache: Cache = Field(default=Cache.WARM, description=f"cache before each run; {CACHE_STATES}")
    cooldown: Cooldown = Field(
        default=Cooldown.IDLE,
        description="cooldown before each run; idle: until the hosts are idle, fixed: cooldown_s",
    )
    cooldown_s: float | None = Field(
        default=None,
        ge=0,
        le=3600,
        description="maximum cooldown before each run, in seconds; none: 10 s or the window, whichever is shorter",
    )

    def before(self, load: Load) -> Preparation:
        """The same, with the default of the cooldown before a run of this load."""
        given = min(REST_S, load.duration_s) if self.cooldown_s is None else self.cooldown_s
        return Preparation(reset=self.reset, cache=self.cache, cooldown=self.cooldown, cooldown_s=given)
