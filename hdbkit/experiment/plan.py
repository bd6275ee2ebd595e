"""What the plan of every experiment has: its runs in blocks, and the cell that each of them measures.

Pure: no clock, no server, no file. Each source of cells is a kind of plan, which states its cells and how a server is
prepared for them; ``kinds`` has a module for each. A run belongs to a block, a configuration and a number of virtual
users. What a configuration is, such as settings of a server or one of several targets, is the source's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import Field

from hdbkit.config import Load, Preparation, Target, WorkloadSpec
from hdbkit.config.model import ConfigModel
from hdbkit.config.sweep_spec import AbortRules
from hdbkit.config.until_decided import UntilDecided
from hdbkit.errors import InputError
from hdbkit.plan import ExperimentPosition, RequiredRate, RunLimits, RunPlan, new_run_id, random_letters
from hdbkit.slices import SideSlices, Slices
from hdbkit.text import duration_text
from hdbkit.workloads import workload

ASSUMED_OVERHEAD_S = 6.0
"""Assumed overhead of a run besides its phases: settings, data, clients, checks."""
MAX_RUNS = 100_000


class PlannedRun(ConfigModel):
    """One run of an experiment. ``number`` and ``block`` count from 1, ``configuration`` from 0 (the baseline)."""

    number: int
    block: int
    configuration: int
    virtual_users: int
    seed: int = Field(description="seed of the load")
    fresh: bool = Field(default=False, description="belongs to the confirmation blocks of the fastest configurations")


@dataclass(frozen=True)
class Cell:
    """What a run measures: a target, a workload and a load, and settings of the server applied before it."""

    target: Target
    workload: WorkloadSpec
    load: Load
    settings: Mapping[str, str] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=dict)
    """The settings and options that this experiment varies, for who reads the run alone."""
    label: str | None = None
    tags: tuple[str, ...] = ()


class Design(NamedTuple):
    """What is compared in complete blocks: the numbers of comparisons and of user counts, and the looks."""

    comparisons: int
    user_counts: int
    looks: tuple[int, ...]
    """Numbers of blocks."""
    baseline_runs: int = 1
    """In each block at each user count."""


class ExperimentPlan(ConfigModel):
    """The plan of an experiment: what the runner needs of any source of cells."""

    keeps_failures: ClassVar[bool] = False
    """Whether it goes on after a failed run; otherwise it ends there, and the run is repeated on resume."""
    own_servers: ClassVar[bool] = False
    """Whether the process that executes it starts the servers, and another one starts others in their place."""
    builds_programs: ClassVar[bool] = False
    """Whether it builds programs from source, with commands of a checkout."""

    kind: str
    experiment_id: str
    command: str = Field(default="", description="the command that repeats it, if not that of its kind")
    configurations: tuple[dict[str, str], ...]
    runs: tuple[PlannedRun, ...]
    slices: Slices | None = Field(default=None, description="all configurations alternate within each run")
    until_decided: UntilDecided | None = Field(
        default=None, description="it ends when all of its verdicts are decided; its blocks are the maximum"
    )
    ended_after: int | None = Field(
        default=None, description="the number of blocks after which it ended because all was decided"
    )

    # -- what a source states -------------------------------------------------------------------------------

    @property
    @abstractmethod
    def title(self) -> str:
        """The experiment as the subject of a sentence."""

    @property
    @abstractmethod
    def targets(self) -> tuple[Target, ...]:
        """The targets that it measures, each once."""

    @abstractmethod
    def at(self, targets: Sequence[Target]) -> Self:
        """The same experiment with these in place of its ``targets``, such as with their passwords."""

    @abstractmethod
    def cell(self, planned: PlannedRun) -> Cell:
        """What a run measures."""

    @property
    @abstractmethod
    def preparation(self) -> Preparation:
        """How the server is prepared before each run."""

    @property
    def tried(self) -> Mapping[str, tuple[str, ...]]:
        """The values of the server settings that differ between runs."""
        return {}

    def settings_in(self, configuration: int) -> dict[str, str]:
        """The server settings of a configuration."""
        return {name: self.configurations[configuration][name] for name in self.tried}

    def side_slices(self, _planned: PlannedRun, _origin_ns: int) -> SideSlices | None:
        """The slices of a run whose load alternates with that of the other run of its turn."""
        return None

    @property
    def abort(self) -> AbortRules:
        """The limits of a run."""
        return AbortRules()

    @property
    def schema_factors(self) -> tuple[str, ...]:
        """The factors that need another schema, which is built between runs."""
        return ()

    @property
    def found(self) -> WorkloadSpec | None:
        """The schema in the database as it was found, where there are such factors."""
        return None

    @property
    def work(self) -> tuple[Target, WorkloadSpec | None, Load]:
        """The target, workload and load of which its cells are variants; of several the first."""
        first = self.cell(self.runs[0])
        return first.target, first.workload, first.load

    @property
    def design(self) -> Design | None:
        """What it compares in complete blocks; None where it does not."""
        return None

    def turn(self, planned: PlannedRun) -> tuple[PlannedRun, ...]:
        """The runs that are executed at the same time as this one, with it."""
        return (planned,)

    def extended(self, blocks: int, done: int = 0) -> ExperimentPlan:
        """The same experiment with a total of ``blocks`` blocks; existing ones do not change. Raises ``InputError``.

        ``done`` blocks have been executed.
        """
        raise InputError(f"{self.experiment_id} takes no more blocks than it has (given: {blocks}, done: {done})")

    # -- what follows from that -----------------------------------------------------------------------------

    @property
    def changes_server(self) -> bool:
        """Whether it changes settings on the server, not only in the clients' sessions."""
        return bool(self.tried) and not (self.slices and self.slices.in_session)

    def changes(self, target: Target) -> bool:
        """Whether it may change the target's server; without settings and permission it changes nothing."""
        return self.changes_server or target.may_change_settings

    def configurations_of(self, planned: PlannedRun) -> tuple[int, ...]:
        """The configurations that a run executes: one, or all that alternate within it."""
        return self.slices.configurations if self.slices else (planned.configuration,)

    def described(self, planned: PlannedRun) -> str:
        """What a run executes, for people: its settings and factors, or how its configurations alternate."""
        if self.slices:
            return self.slices.described
        return ", ".join(f"{name}={value}" for name, value in self.configurations[planned.configuration].items())

    @property
    def assumed_run_s(self) -> float | None:
        """Estimated duration of a run, in seconds; None where runs have no window of time."""
        first = self.cell(self.runs[0])
        if workload(first.workload).listed(first.load):
            return None
        return first.load.max_duration_s + (self.preparation.cooldown_s or 0.0) + ASSUMED_OVERHEAD_S

    @property
    def estimated_s(self) -> float | None:
        """Estimated duration of the experiment, in seconds; None where runs have no window of time."""
        run_s = self.assumed_run_s
        return None if run_s is None else run_s * len({self.turn(one)[0].number for one in self.runs})

    @property
    def time_text(self) -> str:
        """The estimated duration of the experiment, in words."""
        known, until = self.estimated_s, self.until_decided
        if until is not None and until.within_s is not None:
            return f"at most {duration_text(min(until.within_s, known or until.within_s))}"
        if known is None:
            return "its duration is known after the first run"
        return f"{'at most' if until else 'about'} {duration_text(known)}"


class OneTargetPlan(ExperimentPlan):
    """The plan of an experiment whose runs have one target."""

    target: Target

    @property
    def targets(self) -> tuple[Target, ...]:
        return (self.target,)

    def at(self, targets: Sequence[Target]) -> Self:
        return self.model_copy(update={"target": targets[0]})


def run_plan(
    plan: ExperimentPlan,
    planned: PlannedRun,
    at: datetime,
    prepared: Mapping[str, Any] = MappingProxyType({}),
    required: RequiredRate | None = None,
    origin_ns: int = 0,
) -> RunPlan:
    """The plan of one run of an experiment.

    Args:
        plan: the experiment.
        planned: the run.
        at: the time for its id.
        prepared: fields of :class:`~hdbkit.plan.ExperimentPosition` on how the server was prepared.
        required: the rate below which it ends early.
        origin_ns: when the first slice of its turn begins, on the monotonic clock.
    """
    cell = plan.cell(planned)
    return RunPlan(
        run_id=new_run_id(at, cell.target, cell.workload, cell.load),
        target=cell.target,
        workload=cell.workload,
        load=cell.load,
        label=cell.label,
        tags=cell.tags,
        experiment=ExperimentPosition(
            experiment_id=plan.experiment_id,
            number=planned.number,
            block=planned.block,
            configuration=planned.configuration,
            settings=dict(cell.configuration),
            **prepared,
        ),
        limits=RunLimits(abort=plan.abort, required=required),
        slices=plan.slices and plan.slices.model_copy(update={"seed": planned.seed}),
        side_slices=plan.side_slices(planned, origin_ns),
    )


def new_experiment_id(at: datetime, name: str) -> str:
    """An id that sorts by time, with a name: ``20261120-210400-memory-abcdef``."""
    return f"{at:%Y%m%d-%H%M%S}-{name}-{random_letters()}"
