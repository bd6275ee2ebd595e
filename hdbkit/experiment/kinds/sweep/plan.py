"""The plan of a sweep, whose cells are a grid of settings, factors and user counts, or those that a search selects.

A sweep consists of randomized complete blocks (``block_order``).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from hdbkit.config import Load, Preparation, SweepSpec, Target, WorkloadSpec, load_from, spec_from
from hdbkit.config.metric import Metric
from hdbkit.config.model import ConfigModel
from hdbkit.config.sweep_factors import factor_values, load_factors, schema_factors, target_options
from hdbkit.config.sweep_grid import grid_from
from hdbkit.config.sweep_spec import AbortRules, CompareBy, Strategy
from hdbkit.config.until_decided import UntilDecided
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.sweep.block_order import ComparedCell, block_order, numbered_runs, runs_of_blocks
from hdbkit.experiment.plan import ASSUMED_OVERHEAD_S, MAX_RUNS, Cell, Design, OneTargetPlan, PlannedRun
from hdbkit.run_order import baseline_runs
from hdbkit.slices import Slices
from hdbkit.text import duration_text, many
from hdbkit.workloads import metric_of, workload

ASSUMED_ROWS_PER_S = 160_000
"""Assumed speed of a schema rebuild."""

_MIN_BLOCKS = 2


class Decided(ConfigModel):
    """A comparison that was decided after a number of blocks and is not run in later ones."""

    configuration: int
    virtual_users: int
    blocks: int


class SweepPlan(OneTargetPlan):
    """The complete plan of a sweep: the configurations, and all runs in order."""

    keeps_failures: ClassVar[bool] = True
    """What fails with a configuration is a result."""

    kind: Literal["sweep"] = "sweep"
    spec: SweepSpec
    dropped: dict[str, int] = Field(
        default_factory=dict, description="number of excluded combinations, by violated constraint"
    )
    first_blocks: int | None = Field(
        default=None, description="the number of blocks before any were added; none were added without it"
    )
    decided: tuple[Decided, ...] = Field(
        default=(), description="the comparisons that a look decided and that later blocks do not run"
    )
    needs_restart: tuple[str, ...] = Field(default=(), description="settings of a search that require a restart")
    winners: tuple[int, ...] = Field(
        default=(), description="the configurations of the confirmation blocks, the fastest first"
    )

    @property
    def metric(self) -> Metric:
        """The metric that compares the configurations."""
        return metric_of(workload(self.spec.workload or spec_from({})), self.spec.load)

    @property
    def title(self) -> str:
        return f"the sweep '{self.spec.name}'"

    def cell(self, planned: PlannedRun) -> Cell:
        configuration = self.configurations[planned.configuration]
        return Cell(
            _target_in(self.target, configuration),
            self.workload_of(planned),
            self._load(configuration).with_(virtual_users=planned.virtual_users, seed=planned.seed),
            self.settings_in(planned.configuration),
            configuration,
        )

    @property
    def preparation(self) -> Preparation:
        return self.spec.preparation

    @property
    def tried(self) -> Mapping[str, tuple[str, ...]]:
        return self.spec.tried

    def settings_in(self, configuration: int) -> dict[str, str]:
        return self.spec.settings_in(self.configurations[configuration])

    @property
    def work(self) -> tuple[Target, WorkloadSpec | None, Load]:
        return self.target, self.spec.workload, self.spec.load

    @property
    def design(self) -> Design | None:
        spec = self.spec
        if spec.strategy is not Strategy.GRID or spec.compare_by is CompareBy.SLICES or self.until_decided:
            return None
        compared, looks = len(self.configurations) - 1, spec.looks or (spec.blocks,)
        return Design(compared, len(spec.virtual_users), looks, baseline_runs(compared))

    @property
    def made_of(self) -> str:
        """What a block runs at each number of virtual users: ``4 configurations with 2 runs of the baseline``."""
        count = len(self.configurations)
        return f"{many(count, 'configuration')}{_baseline_text(baseline_runs(count - 1))}"

    @property
    def abort(self) -> AbortRules:
        return self.spec.abort

    @property
    def schema_factors(self) -> tuple[str, ...]:
        return tuple(name for name in self.spec.factors if name in schema_factors())

    @property
    def found(self) -> WorkloadSpec | None:
        return self.spec.workload

    @property
    def decided_after(self) -> dict[ComparedCell, int]:
        """The blocks after which a comparison was decided, by virtual users and configuration."""
        return {(one.virtual_users, one.configuration): one.blocks for one in self.decided}

    @property
    def estimated_s(self) -> float | None:
        run_s = self.assumed_run_s
        if run_s is None:
            return None
        max_s = [self._load(one).max_duration_s for one in self.configurations]
        runs_s = sum(max_s[planned.configuration] for planned in self.runs)
        beside_s = run_s - self.spec.load.max_duration_s
        whole_s = runs_s + len(self.runs) * beside_s + sum(_assumed_build_s(one) for one in self.rebuilds.values())
        if self.spec.strategy is Strategy.GRID or self.winners:
            return whole_s
        return whole_s * self.spec.blocks / self.runs[-1].block

    @property
    def rebuilds(self) -> dict[int, WorkloadSpec]:
        """The schemas that the sweep builds, by the number of the first run that needs each."""
        each = [self._workload(one) for one in self.configurations]
        order = [self.spec.workload or spec_from({}), *(each[planned.configuration] for planned in self.runs)]
        numbers = (planned.number for planned in self.runs)
        pairs = zip(numbers, itertools.pairwise(order), strict=True)
        return {number: after for number, (before, after) in pairs if before != after}

    def load_of(self, planned: PlannedRun) -> Load:
        """The load of a run, except for virtual users and seed."""
        return self._load(self.configurations[planned.configuration])

    def workload_of(self, planned: PlannedRun) -> WorkloadSpec:
        """The schema that a run needs."""
        return self._workload(self.configurations[planned.configuration])

    @property
    def assumed_run_s(self) -> float | None:
        """Estimated duration of a run of the sweep's own load, in seconds; None where runs have no window of time."""
        if workload(self.spec.workload or spec_from({})).listed(self.spec.load):
            return None
        return self.spec.load.max_duration_s + (self.spec.cooldown_s or 0.0) + ASSUMED_OVERHEAD_S

    def extended(self, blocks: int, done: int = 0) -> SweepPlan:
        """The same sweep with a total of ``blocks`` blocks; existing blocks do not change.

        Of its looks remain those after the ``done`` blocks.

        Raises:
            InputError: the sweep already has more blocks, or takes no more blocks.
        """
        if blocks == self.spec.blocks:
            return self
        if self.ended_after is not None or self.winners:
            reason = (
                "has chosen its fastest configurations" if self.winners else "ended because everything was decided"
            )
            raise InputError(
                f"{self.experiment_id} {reason} and takes no more blocks; start a new sweep with more blocks"
            )
        if blocks < self.spec.blocks:
            raise InputError(
                f"{self.experiment_id} already has {self.spec.blocks} blocks; give that many or more, not {blocks}"
            )
        first = self.first_blocks or self.spec.blocks
        looks = tuple(look for look in self.spec.looks if look > done)
        looks = tuple(dict.fromkeys((*looks, blocks))) if looks else ()
        longer = self.spec.with_(blocks=blocks, looks=looks, time_budget_s=None)  # requested explicitly
        until = self.until_decided and UntilDecided()
        if longer.strategy is not Strategy.GRID:
            return self.model_copy(update={"spec": longer, "first_blocks": first})
        apart = self.configurations[:1] if self.slices else self.configurations
        more = runs_of_blocks(
            longer, apart, range(self.spec.blocks + 1, blocks + 1), self.decided_after, len(self.runs) + 1
        )
        if len(self.runs) + len(more) > MAX_RUNS:
            raise InputError(
                f"{self.experiment_id} would have more than the maximum of {MAX_RUNS} runs; give fewer blocks"
            )
        changed = {"spec": longer, "runs": (*self.runs, *more), "first_blocks": first, "until_decided": until}
        return self.model_copy(update=changed)

    def _load(self, configuration: Mapping[str, str]) -> Load:
        return load_from({**self.spec.load.given, **factor_values(load_factors(), configuration)})

    def _workload(self, configuration: Mapping[str, str]) -> WorkloadSpec:
        base = self.spec.workload or spec_from({})
        return base.with_(**factor_values(schema_factors(), configuration))


def _baseline_text(times: int) -> str:
    """How often a block runs the baseline, behind the number of configurations; empty for once."""
    return f" with {times} runs of the baseline" if times > 1 else ""


def _target_in(target: Target, configuration: Mapping[str, str]) -> Target:
    """The target with the options of a configuration.

    Raises ``InputError`` for an option that the engine has no list of values for: it might name a file or another
    server, and a plan may come from elsewhere.
    """
    options = target_options(target.options, configuration)
    if options == target.options:
        return target
    engine, varied = database(target), {name for name, _ in options.items() ^ target.options.items()}
    if unknown := sorted(varied - engine.option_values.keys()):
        listed = ", ".join(engine.option_values) or "none"
        raise InputError(f"a sweep cannot vary the target's option {unknown[0]} of {engine.title}; it can: {listed}")
    found = target.model_copy(update={"options": options})
    engine.check_options(found)
    return found


def plan_sweep(
    target: Target,
    spec: SweepSpec,
    experiment_id: str,
    command: str = "",
    needs_restart: tuple[str, ...] = (),
    slices: Slices | None = None,
) -> SweepPlan:
    """The full grid of ``spec`` in randomized complete blocks.

    Args:
        target: the database.
        spec: the sweep.
        experiment_id: its id.
        command: the command that repeats it, if not `hdbkit sweep`.
        needs_restart: settings that require a restart; the blocks of a search group runs by their values.
        slices: how the configurations alternate within each run; a block then has one run at each number of users.

    Raises:
        InputError: the sweep would have more than ``MAX_RUNS`` runs, would exceed its time budget, or needs facts
            that are not known.
        ConfigErrors: the baseline violates a constraint, or an expression is invalid.
    """
    spec = spec.resolved()
    grid = grid_from(spec)
    apart = grid.configurations[:1] if slices else grid.configurations
    size = len(apart)
    times = baseline_runs(size - 1)
    count = (size - 1 + times) * len(spec.virtual_users) * spec.blocks
    if count > MAX_RUNS:
        raise InputError(
            f"the sweep '{spec.name}' would have {count} runs ({size} configurations{_baseline_text(times)} x "
            f"{len(spec.virtual_users)} counts of virtual users x {spec.blocks} blocks), more than the maximum of "
            f"{MAX_RUNS}; give fewer values"
        )
    _check_metric(spec, grid.configurations)
    for configuration in grid.configurations:
        _target_in(target, configuration)
    is_grid = spec.strategy is Strategy.GRID
    plan = SweepPlan(
        experiment_id=experiment_id,
        command=command,
        target=target,
        spec=spec,
        configurations=tuple(grid.configurations if is_grid else grid.configurations[:1]),
        dropped=grid.dropped,
        runs=runs_of_blocks(spec, apart, range(1, spec.blocks + 1)) if is_grid else (),
        needs_restart=() if is_grid else needs_restart,
        slices=slices if is_grid else None,
        until_decided=UntilDecided(within_s=spec.time_budget_s) if spec.until_decided else None,
    )
    if not is_grid:  # the first block of a search: the baseline, and configurations sampled from the whole grid
        others = grid.configurations[1:]
        draw = random.Random(f"{spec.seed}/first")
        plan = with_asked(plan, draw.sample(others, min(spec.asked, len(others))))
    _check_budget(plan)
    return plan


def with_asked(plan: SweepPlan, asked: Sequence[Mapping[str, str]]) -> SweepPlan:
    """The same search with one more block: the baseline, and configurations that have not run yet.

    Configurations with the same schema and the same values of settings that require a restart run consecutively.
    """
    spec, known = plan.spec, len(plan.configurations)
    block = plan.runs[-1].block + 1 if plan.runs else 1
    configurations = (*plan.configurations, *map(dict, asked))
    chosen = [0, *range(known, len(configurations))]
    order = block_order(spec, block, [configurations[one] for one in chosen], plan.needs_restart)
    more = numbered_runs(spec, ((block, chosen[position], users) for position, users in order), len(plan.runs) + 1)
    return plan.model_copy(update={"configurations": configurations, "runs": (*plan.runs, *more)})


def ended_at(plan: SweepPlan, blocks: int) -> SweepPlan:
    """The same sweep, ended after ``blocks`` blocks because all configurations were decided."""
    kept = tuple(planned for planned in plan.runs if planned.block <= blocks)
    return plan.model_copy(update={"runs": kept, "ended_after": blocks})


def cut_after(plan: SweepPlan, blocks: int) -> SweepPlan:
    """The same sweep, ended after ``blocks`` blocks because its time is over; it takes more blocks."""
    kept = tuple(planned for planned in plan.runs if planned.block <= blocks)
    return plan.model_copy(update={"runs": kept, "spec": plan.spec.with_(blocks=blocks)})


def without_decided(plan: SweepPlan, cells: Collection[ComparedCell], blocks: int) -> SweepPlan:
    """The same sweep in which comparisons that are decided after ``blocks`` blocks are not run in later ones.

    The baseline is run as long as a comparison at the same count of virtual users is.
    """
    known = plan.decided_after
    new = [cell for cell in cells if cell not in known]
    kept = tuple(planned for planned in plan.runs if planned.block <= blocks)
    later = range(blocks + 1, plan.spec.blocks + 1)
    more = runs_of_blocks(plan.spec, plan.configurations, later, {*known, *new}, len(kept) + 1)
    decided = [Decided(configuration=one, virtual_users=users, blocks=blocks) for users, one in new]
    return plan.model_copy(update={"runs": (*kept, *more), "decided": (*plan.decided, *decided)})


def with_winners(plan: SweepPlan, winners: Sequence[int]) -> SweepPlan:
    """The same sweep with confirmation blocks of ``winners`` (the fastest first) and the baseline."""
    spec, last, chosen = plan.spec, plan.runs[-1].block, sorted({0, *winners})
    configurations = [plan.configurations[one] for one in chosen]
    positions = (
        (last + fresh, chosen[position], users)
        for fresh in range(1, spec.winner_blocks + 1)
        for position, users in block_order(spec, fresh, configurations)
    )
    more = numbered_runs(spec, positions, len(plan.runs) + 1, fresh=True)
    return plan.model_copy(update={"runs": (*plan.runs, *more), "winners": tuple(winners)})


def _assumed_build_s(spec: WorkloadSpec) -> float:
    return sum(part.rows for part in workload(spec).parts()) / ASSUMED_ROWS_PER_S


def _check_metric(spec: SweepSpec, configurations: Sequence[Mapping[str, str]]) -> None:
    """Raise ``InputError`` if a factor of the load gives configurations a metric that cannot be compared."""
    work, names = workload(spec.workload or spec_from({})), load_factors().keys() & spec.factors.keys()
    loads = {tuple(one[name] for name in names): one for one in configurations} if names else {}
    own = metric_of(work, spec.load)
    for one in loads.values():
        other = metric_of(work, load_from({**spec.load.given, **factor_values(names, one)}))
        if not own.comparable(other):
            raise InputError(
                f"configurations with different metrics cannot be compared: {own.title} and {other.title}; "
                f"remove one of the factors {', '.join(sorted(names))}"
            )


def _check_budget(plan: SweepPlan) -> None:
    """Raise ``InputError`` if the plan exceeds its time budget, with the number of blocks that fit."""
    budget_s, blocks, estimated_s = plan.spec.time_budget_s, plan.spec.blocks, plan.estimated_s
    if plan.until_decided is not None:
        return
    if budget_s is not None and estimated_s is None:
        raise InputError("how long a run of this workload takes is not known before it; remove time_budget_s")
    if budget_s is None or estimated_s is None or estimated_s <= budget_s:
        return
    fit = int(budget_s / (estimated_s / blocks))
    advice = f"write blocks: {fit}" if fit >= _MIN_BLOCKS else "give fewer values, shorter phases, or more time"
    raise InputError(
        f"the sweep '{plan.spec.name}' takes about {duration_text(estimated_s)} for {blocks} blocks, more than "
        f"its time_budget_s of {budget_s:.0f} ({duration_text(budget_s)}), enough for {fit}; {advice}"
    )
