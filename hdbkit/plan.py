"""Everything about a run that is decided before it starts. Pure: no clock, no server, no file.

A plan fixes every virtual user and its seed; seeds derive from (run seed, index), so that any split of the users over
processes or hosts is the same workload.
"""

from __future__ import annotations

import random
import shlex
import string
from datetime import datetime

from pydantic import Field

from hdbkit.config import Target
from hdbkit.config.load import AnyLoad, Load
from hdbkit.config.model import ConfigModel
from hdbkit.config.sweep_spec import AbortRules
from hdbkit.config.words import option_words
from hdbkit.config.workload_spec import AnyWorkload, WorkloadSpec
from hdbkit.contracts import UserPlan
from hdbkit.workloads import workload


class SweepPlace(ConfigModel):
    """Where a run stands in a sweep."""

    sweep_id: str
    number: int
    block: int
    configuration: int
    settings: dict[str, str]
    applied_by: str = Field(default="", description="how the settings took effect: session, reload or restart")
    applied_s: float = Field(default=0.0, description="how long the settings took")
    restored_s: float = Field(default=0.0, description="how long it took to bring the data back")
    rebuilt_s: float = Field(default=0.0, description="how long it took to build the schema anew")
    maintained_s: float = Field(default=0.0, description="how long the server took to come to rest")
    restarted_s: float = Field(default=0.0, description="how long the restart took that emptied the server's cache")
    rested_s: float = Field(default=0.0, description="how long the rest before the run lasted")
    busy_pct: float | None = Field(default=None, description="the busy share of the host's cores at the rest's end")


class RequiredRate(ConfigModel):
    """The rate that a configuration of a search must be able to reach, in the unit of the workload's metric."""

    min_value: float = Field(description="a run ends early once it is certain to stay below")
    best_value: float = Field(description="what the fastest so far would have reached in its place")


class Limits(ConfigModel):
    """What a run is bound to: it ends early once it is certain not to keep it. By default nothing."""

    abort: AbortRules = AbortRules()
    required: RequiredRate | None = None


class RunPlan(ConfigModel):
    """One run, whole: what, where, how, and by whom."""

    run_id: str
    target: Target
    workload: AnyWorkload
    load: AnyLoad
    label: str | None = Field(default=None, description="a name of the user's own")
    sweep: SweepPlace | None = None
    limits: Limits = Limits()

    @property
    def users(self) -> tuple[UserPlan, ...]:
        """Every virtual user."""
        return tuple(UserPlan(i, user_seed(self.load.seed, i)) for i in range(self.load.virtual_users))

    @property
    def command(self) -> str:
        """The command line that repeats the run; defaults are omitted."""
        words = ["hdbkit", "run", self.target.given, *self.workload.words]
        for name, value in self.load.model_dump(mode="json", exclude_defaults=True).items():
            words += option_words(name, value)
        return shlex.join([*words, *(["--label", self.label] if self.label else [])])


def user_seed(run_seed: int, index: int) -> int:
    """The seed of a virtual user, from the run's seed and its index alone."""
    return (run_seed * 1_000_003 + index) & (2**63 - 1)


def reconnect_seed(user: UserPlan, connection: int) -> int:
    """The seed of a virtual user's inputs on its ``connection``-th connection; on the first (0) its own."""
    return user.seed if connection == 0 else user_seed(user.seed, connection)


def new_run_id(at: datetime, target: Target, spec: WorkloadSpec, load: Load) -> str:
    """An id that sorts by time and states what ran: database, workload and scale, virtual users; six letters."""
    return f"{at:%Y%m%d-%H%M%S}-{target.kind}-{workload(spec).slug}-u{load.virtual_users}-{random_letters()}"


def random_letters() -> str:
    """Six letters that tell apart ids of one second, which may see many short runs."""
    return "".join(random.SystemRandom().choices(string.ascii_lowercase, k=6))
