"""What a planned experiment can find, and the load hosts that it needs, from recent results that are like it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final

from pydantic import BaseModel

from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.statistics.block_model import BlockModel
from hdbkit.analysis.statistics.carry_over import FEWEST_BLOCKS
from hdbkit.analysis.statistics.detection import Design, PooledNoise, detectable, detection, pooled_noise
from hdbkit.analysis.statistics.power import POWER
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.arrivals import rate_of
from hdbkit.charts.chart import Chart
from hdbkit.charts.power_chart import power_chart
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.errors import DamagedResult
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.later import numpy as np
from hdbkit.later import pandas as pd
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import experiment_folders
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.folder import run_folders
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, share
from hdbkit.workloads import specification
from hdbkit.workspace import BareWorkspace

ASSUMED = (0.01, 0.03, 0.1)
"""The noise of a run for which a plan is judged where none is known."""
_SWEEPS = 5
_RUNS = 50
_READ = 200
"""The newest sweeps and runs that are looked at for these."""
_POINTS = 61
_TIMES = (1, 2, 4)
USED: Final = 0.7
"""The share of a host's cores that clients may use: with more, operations wait for a core, and latencies grow."""
_OTHER: Final = {
    *("virtual_users", "seed", "cluster", "cut_off_hosts", "start_delay_ms", "connect_rate"),
    *("rampup_s", "rampup_max_s", "duration_s", "iterations", "counter_interval_s"),
    *("rate", "rate_of", "arrivals", "latency_limit_ms", "steps", "keying_scale", "thinking_scale"),
}
"""Fields of a load that change how many operations there are, but not what one costs the client."""


@dataclass(frozen=True)
class PlannedPower:
    """What a planned sweep of complete blocks can find.

    ``noise`` is None where nothing is known of it; ``source`` states what it was found in. Effects are fractions of
    the metric, probabilities those that a configuration with this effect is called different in the right direction.

    Example:
        >>> import hdbkit
        >>> spec = hdbkit.SweepSpec(settings={"flush": ["on", "off"]}, blocks=5)
        >>> hdbkit.planned_power(hdbkit.plan_sweep("nulldb:///lab", spec)).blocks
        5
    """

    comparisons: int
    counts: int
    looks: tuple[int, ...]
    noise: PooledNoise | None
    source: str = ""
    baseline_runs: int = 1

    @property
    def blocks(self) -> int:
        """The planned number of blocks."""
        return self.looks[-1]

    @property
    def effects(self) -> pd.DataFrame:
        """The effect that is found with a probability of 80 %, a row per noise: noise, effect, low, high.

        ``low`` and ``high`` are the effects at both ends of the range of the noise; NaN where the noise is assumed.
        """
        unit = detectable(self._design(1))
        if self.noise is None:
            rows = [(one, np.expm1(unit * one), np.nan, np.nan) for one in ASSUMED]
        else:
            estimate, low, high = self.noise.estimate, self.noise.low, self.noise.high
            rows = [(estimate, np.expm1(unit * estimate), np.expm1(unit * low), np.expm1(unit * high))]
        return pd.DataFrame(rows, columns=["noise", "effect", "low", "high"])

    @property
    def sentence(self) -> str:
        """What the sweep finds, without a full stop."""
        effects, probability = self.effects, f"with a probability of {share(POWER)}"
        blocks = many(self.blocks, "block")
        if self.noise is None:
            found, noises = (_listed(effects[name]) for name in ("effect", "noise"))
            return (
                f"{blocks} find an effect of {found} {probability}, at noise of {noises} between runs; no recent "
                "sweep or runs of the same target, workload and load show how large it is"
            )
        of = effects.iloc[0]
        return (
            f"{blocks} find an effect of {share(of['effect'])} ({share(of['low'])} to {share(of['high'])}) "
            f"{probability}, given the noise of {share(self.noise.estimate)} ({share(self.noise.low)} to "
            f"{share(self.noise.high)}) in {self.source} of this target, workload and load"
        )

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The probability against the effect, for the planned and for more blocks, or for each assumed noise.

        A row each with name, blocks, noise, effect, probability, low and high (of the probability).
        """
        if self.noise is None:
            lines = [(f"noise of {share(one)}", 1, PooledNoise(one, np.nan, np.nan)) for one in ASSUMED]
            most = float(np.expm1(1.6 * detectable(self._design(1)) * ASSUMED[1]))
        else:
            lines = [(many(self.blocks * times, "block"), times, self.noise) for times in _TIMES]
            most = float(np.expm1(1.6 * detectable(self._design(1)) * self.noise.estimate))
        effects = np.linspace(0, most, _POINTS)
        parts = []
        for name, times, noise in lines:
            found = {
                column: detection(self._design(times), np.log1p(effects) / one)
                for column, one in (("probability", noise.estimate), ("low", noise.high), ("high", noise.low))
                if np.isfinite(one) and (times == 1 or column == "probability")
            }
            head = {"name": name, "blocks": self.blocks * times, "noise": noise.estimate, "effect": effects}
            parts.append(pd.DataFrame({"low": np.nan, "high": np.nan, **head, **found}))
        columns = ["name", "blocks", "noise", "effect", "probability", "low", "high"]
        return pd.concat(parts, ignore_index=True)[columns]

    @property
    def chart(self) -> Chart:
        """The probability against the effect."""
        return power_chart(self.curves, self.sentence, POWER)

    def _design(self, times: int) -> Design:
        """The sweep with ``times`` as many blocks, planned so at first."""
        looks = self.looks if times == 1 else (self.blocks * times,)
        level = Spending(looks[-1], looks).level(looks[-1])
        return Design(self.comparisons, self.counts, looks[-1], level, self.baseline_runs)


@dataclass(frozen=True)
class PlannedHosts:
    """The load hosts that a number of virtual users needs.

    Args:
        virtual_users: the largest number of users in the plan.
        client_cpu_us: CPU time of clients per operation, in microseconds, as measured.
        operations_per_s: the largest rate to expect: that of an open loop, else the measured one, in proportion to
            the users if the plan has more.
        cores: of a load host in the measured run.
        run_id: the measured run.
        measured_users: its number of users.

    Example:
        >>> PlannedHosts(2000, 310.0, 40_000.0, 8, "some-run", 200).hosts
        3
    """

    virtual_users: int
    client_cpu_us: float
    operations_per_s: float
    cores: int
    run_id: str
    measured_users: int

    @property
    def cores_used(self) -> float:
        """The cores that clients keep busy."""
        return self.client_cpu_us * self.operations_per_s / 1e6

    @property
    def hosts(self) -> int:
        """The number of load hosts like the measured one."""
        return max(1, math.ceil(self.cores_used / (USED * self.cores)))

    @property
    def sentence(self) -> str:
        """What is needed, and what it follows from, without a full stop."""
        users, cores = many(self.virtual_users, "virtual user"), many(self.cores, "core")
        return (
            f"load hosts for {users}: {self.hosts} of {cores}, at {share(USED)} of their CPU time; clients use up to "
            f"{self.cores_used:.2g} cores, {self.client_cpu_us:.0f} us per operation at {self.operations_per_s:,.0f} "
            f"operations/s, from {many(self.measured_users, 'user')} of {self.run_id}"
        )


class PlanningVerbs(BareWorkspace):
    """Verbs about what a planned experiment can find and needs."""

    def planned_power(self, planned: ExperimentPlan) -> PlannedPower | None:
        """What a planned experiment can find, from the noise of recent results; accesses no server.

        Recent are the newest five sweeps of the same target, workload and load, and without any the newest runs, of
        which neighbours with the same number of virtual users are compared.

        Args:
            planned: the sweep, comparison, profile or test of releases, as :func:`hdbkit.plan_sweep`,
                :func:`hdbkit.plan_comparison` and others give it. A profile compares its numbers of virtual users.

        Returns:
            None where nothing is compared in two or more complete blocks, in three or more if two configurations are
            compared: for a search, and for a sweep without a configuration besides the baseline or whose
            configurations alternate within runs.
        """
        design = planned.design
        if design is None or design.comparisons < 1:
            return None
        if design.looks[-1] < (FEWEST_BLOCKS if design.comparisons == 1 else 2):
            return None
        root = self.results
        noises, source = list(islice(_of_sweeps(root, planned), _SWEEPS)), "recent sweep"
        count = len(noises)
        if not noises:
            noises, count = _of_runs(root, planned)
            source = "recent run"
        noise = pooled_noise(*zip(*noises, strict=True)) if noises else None
        named = many(count, source) if noise else ""
        return PlannedPower(*design[:3], noise, named, design.baseline_runs)

    def planned_hosts(self, planned: SweepPlan) -> PlannedHosts | None:
        """The load hosts that the largest number of users of a sweep needs; accesses no server.

        It follows from a stored run of the same target, workload and load, with as many users if there is one, else
        with the most. None if there is no such run.

        Args:
            planned: the sweep, as :func:`hdbkit.plan_sweep` gives it.
        """
        users = max(planned.spec.virtual_users)
        stored = readable(list(islice(run_folders(self.results), _READ)))
        runs = [
            one for _, one in stored if _cpu_us(one) and _alike(planned, _work_of_run(one.plan), except_for=_OTHER)
        ]
        if not runs:
            return None
        enough = [one for one in runs if _users(one) >= users]
        run = min(enough, key=_users) if enough else max(runs, key=_users)
        rate = rate_of(planned.spec.workload or specification(), planned.spec.load)
        if rate is None:
            rate = (run.measured.operations_per_s or 0.0) * max(1.0, users / _users(run))
        cores = [one.cores for one in run.load_hosts] or [run.host.cores or 1]
        return PlannedHosts(users, _cpu_us(run) or 0.0, rate, int(median(cores)), run.run_id, _users(run))


def _of_sweeps(root: Path, planned: ExperimentPlan) -> Iterator[tuple[float, float]]:
    """The noise of the newest sweeps that are like the planned one, each with its degrees of freedom."""
    for folder in islice(experiment_folders(root, "sweep"), _READ):
        try:
            found = folder.read_plan(SweepPlan)
            if found.slices or not _alike(planned, (found.target, found.spec.workload, found.spec.load)):
                continue
            runs = runs_frame(folder)
        except DamagedResult:
            continue
        model = BlockModel.fitted(runs[~runs["fresh"]], found.metric)
        if model.df > 0 and model.noise > 0:
            yield model.noise, float(model.df)


def _of_runs(root: Path, planned: ExperimentPlan) -> tuple[list[tuple[float, float]], int]:
    """The noise between neighbouring runs outside of sweeps with its degrees of freedom, and their number.

    Its square is half the mean square of their differences: neighbours share what changes slowly, as the runs of a
    block do (von Neumann 1941, Ann. Math. Statist. 12, 367-395).
    """
    values: dict[int, list[float]] = {}
    newest = [one for _, one in readable(list(islice(run_folders(root), _READ)))]
    kept = [one for one in newest if one.plan.experiment is None or not one.plan.experiment.settings]
    for manifest in kept[:_RUNS]:
        value = manifest.metric_value
        if value and _alike(planned, _work_of_run(manifest.plan)):
            values.setdefault(manifest.plan.load.virtual_users, []).append(float(np.log(value)))
    squares = np.concatenate([np.diff(logs) ** 2 for logs in values.values()] or [np.zeros(0)])
    noise = float(np.sqrt(squares.mean() / 2)) if len(squares) > 1 else 0.0
    count = sum(len(logs) for logs in values.values() if len(logs) > 1)
    return ([(noise, 2 * len(squares) / 3)] if noise else []), count


def _listed(fractions: Iterable[float]) -> str:
    *first, last = (f"{float(f'{100 * one:.2g}'):g}" for one in fractions)  # 800, not 8e+02
    return f"{', '.join(first)} and {last} %"


def _users(run: Manifest) -> int:
    return run.plan.load.virtual_users


def _cpu_us(run: Manifest) -> float | None:
    result = run.result
    return result.client_cpu_us_per_operation if result and result.operations_per_s else None


_Work = tuple[Target, WorkloadSpec | None, Load]

_OF_A_RUN = frozenset({"virtual_users", "seed"})
"""Fields of a load that differ between the runs of a sweep."""


def _alike(planned: ExperimentPlan, found: _Work, except_for: Set[str] = _OF_A_RUN) -> bool:
    """Whether target, workload and load are those of the planned experiment; a scale that is not given may be any.

    Args:
        planned: the experiment; with several targets, the first.
        found: those of a run or a sweep.
        except_for: fields of the load that may differ.
    """
    target, workload, load = found
    at, asked, driven = planned.work
    wanted = {} if asked is None else asked.model_dump(exclude_unset=True)
    return (
        target.url == at.url and _agree(wanted, workload) and _agree(driven.model_dump(exclude=set(except_for)), load)
    )


def _work_of_run(plan: RunPlan) -> _Work:
    """What a run measured."""
    return plan.target, plan.workload, plan.load


def _agree(wanted: Mapping[str, Any], found: BaseModel | None) -> bool:
    known = {} if found is None else found.model_dump()
    return all(known[name] == value for name, value in wanted.items() if name in known)
