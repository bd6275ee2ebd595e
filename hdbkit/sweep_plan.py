"""Everything about a sweep that is decided before it starts. Pure: no clock, no server, no file.

A sweep is randomized complete blocks: each block runs every configuration at every count of virtual users once, in
random order. The order of a block and the seed of its runs derive from the sweep's seeds and the block's number
alone, so a sweep that gets more blocks keeps the ones it has.
"""

from __future__ import annotations

import itertools
import math
import random
import string
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from pydantic import Field

from hdbkit.config import SweepSpec, Target, WorkloadSpec
from hdbkit.config.model import ConfigModel
from hdbkit.errors import InputError
from hdbkit.plan import RunPlan, SweepPlace, new_run_id

ASSUMED_OVERHEAD_S = 6.0
"""What a run is assumed to need besides its phases: settings, data, clients, checks."""

MOST_RUNS = 100_000


class PlannedRun(ConfigModel):
    """One run of a sweep. ``number`` and ``block`` count from 1, ``configuration`` from 0 (the baseline)."""

    number: int
    block: int
    configuration: int
    virtual_users: int
    seed: int = Field(description="seed of the load; equal within a block, so that it compares like with like")


class SweepPlan(ConfigModel):
    """A sweep, whole: the configurations, and every run in its order."""

    sweep_id: str
    command: str = Field(default="", description="the command that repeats it, where it is not `hdbkit sweep`")
    target: Target
    spec: SweepSpec
    configurations: tuple[dict[str, str], ...]
    runs: tuple[PlannedRun, ...]

    @property
    def estimated_s(self) -> float:
        """About how long the sweep takes, in seconds."""
        return len(self.runs) * estimated_run_s(self.spec)


def plan_sweep(target: Target, spec: SweepSpec, sweep_id: str, command: str = "") -> SweepPlan:
    """The full grid of ``spec`` in randomized complete blocks; ``command`` repeats it where `hdbkit sweep` does not.

    Raises:
        InputError: the sweep would have more than ``MOST_RUNS`` runs.
    """
    size = math.prod(len(values) for values in spec.settings.values())
    count = size * len(spec.virtual_users) * spec.blocks
    if count > MOST_RUNS:
        raise InputError(
            f"the sweep '{spec.name}' would have {count} runs ({size} configurations x {len(spec.virtual_users)} "
            f"counts of virtual users x {spec.blocks} blocks), more than {MOST_RUNS}; give fewer values"
        )
    places = [(block, *place) for block in range(1, spec.blocks + 1) for place in _block_order(spec, block, size)]
    runs = tuple(
        PlannedRun(
            number=number, block=block, configuration=configuration, virtual_users=users, seed=_load_seed(spec, block)
        )
        for number, (block, configuration, users) in enumerate(places, 1)
    )
    return SweepPlan(
        sweep_id=sweep_id,
        command=command,
        target=target,
        spec=spec,
        configurations=_configurations(spec),
        runs=runs,
    )


def extended(plan: SweepPlan, blocks: int) -> SweepPlan:
    """The same sweep with ``blocks`` blocks in all; what was planned before stays as it was.

    Raises ``InputError`` when that is fewer than it has.
    """
    if blocks < plan.spec.blocks:
        raise InputError(
            f"{plan.sweep_id} has {plan.spec.blocks} blocks already; give that many or more, not {blocks}"
        )
    return plan_sweep(plan.target, plan.spec.with_(blocks=blocks), plan.sweep_id, plan.command)


def run_plan(
    plan: SweepPlan, planned: PlannedRun, at: datetime, prepared: Mapping[str, Any] = MappingProxyType({})
) -> RunPlan:
    """The plan of one run of a sweep; ``at`` is the time in its id, ``prepared`` what was done before."""
    load = plan.spec.load.model_copy(update={"virtual_users": planned.virtual_users, "seed": planned.seed})
    workload = plan.spec.workload or WorkloadSpec()
    return RunPlan(
        run_id=new_run_id(at, plan.target, workload, load),
        target=plan.target,
        workload=workload,
        load=load,
        sweep=SweepPlace(
            sweep_id=plan.sweep_id,
            number=planned.number,
            block=planned.block,
            configuration=planned.configuration,
            settings=plan.configurations[planned.configuration],
            **prepared,
        ),
    )


def estimated_run_s(spec: SweepSpec) -> float:
    """About how long one run of a sweep takes, in seconds."""
    return spec.load.rampup_s + spec.load.duration_s + spec.cooldown_s + ASSUMED_OVERHEAD_S


def new_sweep_id(at: datetime, spec: SweepSpec) -> str:
    """An id that sorts by time and tells what is swept: ``20261120-210400-memory-abc``."""
    letters = "".join(random.SystemRandom().choices(string.ascii_lowercase, k=3))
    return f"{at:%Y%m%d-%H%M%S}-{spec.name}-{letters}"


def _configurations(spec: SweepSpec) -> tuple[dict[str, str], ...]:
    """The full grid; the baseline's value of each setting comes first, so index 0 is the baseline."""
    columns = []
    for name, values in spec.settings.items():
        first = spec.baseline.get(name, values[0])
        columns.append([first, *(value for value in values if value != first)])
    return tuple(dict(zip(spec.settings, values, strict=True)) for values in itertools.product(*columns))


def _block_order(spec: SweepSpec, block: int, size: int) -> list[tuple[int, int]]:
    places = list(itertools.product(range(size), spec.virtual_users))
    random.Random(f"{spec.seed}/{block}").shuffle(places)
    return places


def _load_seed(spec: SweepSpec, block: int) -> int:
    return (spec.load.seed + block - 1) % 2**63
