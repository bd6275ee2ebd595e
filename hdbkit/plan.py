"""The plan of a run: all decisions made before it starts. Pure: no clock, no server, no file, no workload code.

A plan fixes every virtual user and its seed; seeds derive from (run seed, index), so that any split of the users over
processes or hosts is the same workload.
"""

from __future__ import annotations

import hashlib
import random
import shlex
import string
from datetime import datetime
from typing import Any

from pydantic import Field, model_validator

from hdbkit.config import Target
from hdbkit.config.load import Load, by_steps
from hdbkit.config.model import ConfigModel
from hdbkit.config.specs import MODELS, AnyLoad, AnyWorkload, OtherLoad, OtherSpec
from hdbkit.config.sweep_spec import AbortRules
from hdbkit.config.workload_spec import WorkloadSpec
from hdbkit.contracts import AHEAD, UserPlan
from hdbkit.readings import Pooling
from hdbkit.slices import SideSlices, Slices
from hdbkit.text import option_words

_MIN_AHEAD = 32
"""Operations that a session draws at once at least, and with keying and thinking times: fewer cost more time each."""
_AHEAD_OF_USER = 5_000
"""Operations that the sessions of a user have drawn at most, unless that is fewer for each: some 2 MB."""


class ExperimentPosition(ConfigModel):
    """The position of a run in an experiment, and how the server was prepared for it."""

    experiment_id: str
    number: int
    block: int
    configuration: int
    settings: dict[str, str]
    applied_by: str = Field(default="", description="how the settings took effect: session, reload or restart")
    applied_s: float = Field(default=0.0, description="seconds to apply the settings")
    rounded: dict[str, str] = Field(
        default_factory=dict, description="the values that the server made of settings by its own steps"
    )
    restored_s: float = Field(default=0.0, description="seconds to restore the data")
    rebuilt_s: float = Field(default=0.0, description="seconds to rebuild the schema")
    maintained_s: float = Field(default=0.0, description="seconds until the server was idle")
    restarted_s: float = Field(default=0.0, description="seconds of the restart that emptied the server's cache")
    rested_s: float = Field(default=0.0, description="seconds of the cooldown before the run")
    busy_pct: float | None = Field(
        default=None, description="CPU utilization of the host at the end of the cooldown, in percent"
    )


class RequiredRate(ConfigModel):
    """The minimum rate that a configuration of a search must reach, in the unit of the workload's metric."""

    min_value: float = Field(description="a run ends early once it stays below this with a confidence of 99.9 %")
    best_value: float = Field(description="the rate that the fastest configuration so far would have reached")


class RunLimits(ConfigModel):
    """Limits of a run: it ends early once it violates one with a confidence of 99.9 %. Default: none."""

    abort: AbortRules = AbortRules()
    required: RequiredRate | None = None


class RunPlan(ConfigModel):
    """The complete plan of one run."""

    run_id: str
    target: Target
    workload: AnyWorkload
    load: AnyLoad
    label: str | None = Field(default=None, description="user-defined label")
    tags: tuple[str, ...] = Field(default=(), description="tags that the run has from its start")
    experiment: ExperimentPosition | None = None
    limits: RunLimits = RunLimits()
    slices: Slices | None = Field(default=None, description="configurations that alternate within the run")
    side_slices: SideSlices | None = Field(
        default=None, description="the load alternates with that of the other side of its comparison"
    )
    pooling: Pooling | None = Field(default=None, description="how connections reach the server, as found")

    @model_validator(mode="before")
    @classmethod
    def _of_a_workload_that_is_not_installed(cls, values: Any) -> Any:
        """Keep all keys of its specification and load, so that the plan can be read and written again."""
        spec, load = (values.get(name) if isinstance(values, dict) else None for name in ("workload", "load"))
        if not (isinstance(spec, dict) and isinstance(load, dict)) or spec.get("kind") in MODELS:
            return values
        return {**values, "workload": OtherSpec.model_validate(spec), "load": OtherLoad.model_validate(load)}

    @property
    def users(self) -> tuple[UserPlan, ...]:
        """All virtual users; where users have several sessions, a plan for each session."""
        load = self.load
        most = 0 if load.keying_and_thinking else _AHEAD_OF_USER // load.sessions_per_user
        ahead = min(AHEAD, max(_MIN_AHEAD, most))
        return tuple(UserPlan(i, user_seed(load.seed, i), ahead=ahead) for i in range(load.sessions))

    @property
    def command(self) -> str:
        """The command line that repeats the run; defaults are omitted."""
        words = ["hdbkit", "run", self.target.given, *self.workload.words]
        implied = by_steps(self.load.steps) if self.load.steps else {}
        for name, value in self.load.model_dump(mode="json", exclude_defaults=True).items():
            if implied.get(name) != value:
                words += option_words(name, value)
        return shlex.join([*words, *(["--label", self.label] if self.label else [])])


def user_seed(run_seed: int, index: int) -> int:
    """The seed of a virtual user, derived from the run's seed and the user's index."""
    return (run_seed * 1_000_003 + index) & (2**63 - 1)


def reconnect_seed(user: UserPlan, connection: int) -> int:
    """The seed of a virtual user's inputs on its ``connection``-th connection (0: the user's own seed)."""
    if connection == 0:
        return user.seed
    digest = hashlib.sha256(f"{user.seed} {user.index} {connection}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def new_run_id(at: datetime, target: Target, spec: WorkloadSpec, load: Load) -> str:
    """An id that sorts by time: time, database, workload and scale, virtual users, six random letters."""
    return f"{at:%Y%m%d-%H%M%S}-{target.kind}-{spec.slug}-u{load.virtual_users}-{random_letters()}"


def random_letters() -> str:
    """Six random letters, so that ids created in the same second differ."""
    return "".join(random.SystemRandom().choices(string.ascii_lowercase, k=6))
