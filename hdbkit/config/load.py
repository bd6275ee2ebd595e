"""How a workload is driven, as far as all workloads share it: users, phases, seed, timeouts. Times are in seconds.

Each workload extends this model with options of its own, such as a mix.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from pydantic import Field, SerializeAsAny

from hdbkit.config.extensible import Extensible

MAX_USERS = 10_000
_RENAMED = {"rampup_most_s": "rampup_max_s"}
"""Keys of earlier versions."""


class Isolation(StrEnum):
    """Isolation level of the transactions, in the words of the SQL standard."""

    READ_COMMITTED = "read_committed"
    REPEATABLE_READ = "repeatable_read"
    SERIALIZABLE = "serializable"


class Load(Extensible):
    """How a workload is driven.

    Made by this name with an option of a workload, it is that workload's own kind of load.

    Example:
        >>> Load(virtual_users=8, rampup_s=30, duration_s=120).virtual_users
        8
    """

    model_field: ClassVar[str] = "load_model"

    virtual_users: int = Field(default=1, ge=1, le=MAX_USERS, description="virtual users, each with a connection")
    users_per_process: int = Field(
        default=1, ge=1, le=MAX_USERS, description="virtual users that one client process serves"
    )
    rampup_s: float = Field(default=120, ge=0, le=86_400, description="seconds before the measured window")
    rampup_max_s: float = Field(
        default=0,
        ge=0,
        le=86_400,
        description="extend the ramp-up to at most this long while full-page writes subside; 0: do not",
    )
    duration_s: float = Field(default=300, gt=0, le=604_800, description="seconds of the measured window")
    iterations: int | None = Field(default=None, ge=1, description="maximum operations of a virtual user")
    isolation: Isolation | None = Field(default=None, description="isolation level; none: the server's own")
    statement_timeout_ms: int = Field(default=0, ge=0, description="0: none")
    lock_timeout_ms: int = Field(default=0, ge=0, description="0: none")
    max_retries: int = Field(
        default=10, ge=0, le=255, description="retries after a deadlock or serialization failure"
    )
    raise_error: bool = Field(default=False, description="end the run at the first failed operation")
    counter_interval_s: float = Field(
        default=5, ge=0.1, description="seconds between samples of the server's counters"
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of inputs and of the order of operations")

    @classmethod
    def arranged(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Keys of earlier versions as they are called now."""
        return {_RENAMED.get(name, name): value for name, value in values.items()}

    @property
    def max_duration_s(self) -> float:
        """The maximum that ramp-up and window can take together, in seconds."""
        return max(self.rampup_s, self.rampup_max_s) + self.duration_s


AnyLoad = SerializeAsAny[Load]
"""A field that keeps a workload's own options when it is written."""
