"""Everything about a run that is decided before it starts. Pure: no clock, no server, no file.

A plan fixes every virtual user, its home warehouse and its seed; seeds derive from (run seed, index), so that
any split of the users over processes or hosts is the same workload.
"""

from __future__ import annotations

import random
import shlex
import string
from datetime import datetime
from typing import Any

from pydantic import Field

from hdbkit.config import Load, SchemaFrom, Target, WorkloadSpec
from hdbkit.config.model import ConfigModel
from hdbkit.config.sweep_spec import AbortRules
from hdbkit.contracts import UserPlan


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


class Bar(ConfigModel):
    """The throughput that a configuration of a search must be able to reach, in new orders a minute."""

    least_metric_value: float = Field(description="a run ends early once it is certain to stay below")
    best_metric_value: float = Field(description="what the fastest so far would have reached in its place")


class Limits(ConfigModel):
    """What a run is bound to: it ends early once it is certain not to keep it. By default nothing."""

    abort: AbortRules = AbortRules()
    bar: Bar | None = None


class RunPlan(ConfigModel):
    """One run, whole: what, where, how, and by whom."""

    run_id: str
    target: Target
    workload: WorkloadSpec
    load: Load
    label: str | None = Field(default=None, description="a name of the user's own")
    sweep: SweepPlace | None = None
    limits: Limits = Limits()

    @property
    def users(self) -> tuple[UserPlan, ...]:
        """Every virtual user; home warehouses are dealt in turn."""
        load, warehouses = self.load, self.workload.warehouses
        return tuple(
            UserPlan(index=i, home_w_id=i % warehouses + 1, seed=user_seed(load.seed, i))
            for i in range(load.virtual_users)
        )

    @property
    def command(self) -> str:
        """The command line that repeats the run; what is as by default is left out."""
        given = self.load.model_dump(mode="json", exclude_defaults=True)
        words = ["hdbkit", "run", self.target.given, "--warehouses", str(self.workload.warehouses)]
        if self.workload.schema_from is not SchemaFrom.HDBKIT:
            words += _option("schema_from", self.workload.schema_from)
        for name, value in given.items():
            words += _option(name, value)
        return shlex.join([*words, *(["--label", self.label] if self.label else [])])


def _option(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, dict):
        value = ",".join(f"{key}={weight:g}" for key, weight in value.items())
    return [flag, str(value)]


def user_seed(run_seed: int, index: int) -> int:
    """The seed of a virtual user, from the run's seed and its index alone."""
    return (run_seed * 1_000_003 + index) & (2**63 - 1)


def new_run_id(at: datetime, target: Target, workload: WorkloadSpec, load: Load) -> str:
    """An id that sorts by time and tells what ran: ``20261120-210400-postgresql-c-w10-u4-abcdef``."""
    kind = workload.kind.removeprefix("tproc_")
    return f"{at:%Y%m%d-%H%M%S}-{target.kind}-{kind}-w{workload.warehouses}-u{load.virtual_users}-{random_letters()}"


def random_letters() -> str:
    """What tells ids of one second apart: six letters, since a second may see many short runs."""
    return "".join(random.SystemRandom().choices(string.ascii_lowercase, k=6))
