"""Plans, executes and resumes sweeps, and reads their results."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import pandas as pd

from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.analysis.statistics.scalability import laws, laws_table
from hdbkit.analysis.statistics.sequential import Spending
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.interactions import changed_effects, interactions
from hdbkit.analysis.sweep.looks import decided_note
from hdbkit.analysis.sweep.observations import observations
from hdbkit.analysis.sweep.plans import ChangedPlan, changed_plans
from hdbkit.analysis.sweep.search import early_ends_note
from hdbkit.analysis.sweep.slices import slice_notes, slice_warnings
from hdbkit.analysis.sweep.starts import start_warnings
from hdbkit.analysis.sweep.together import latency_verdicts, operation_verdicts
from hdbkit.analysis.sweep.verdicts import answer, candidates_note
from hdbkit.analysis.sweep.warnings import failed_checks, next_step, rate_warnings, sweep_warnings, warnings_text
from hdbkit.analysis.sweep.winner import winner_answer, winners
from hdbkit.api.discovery import host_facts
from hdbkit.api.executing import executed
from hdbkit.api.left_settings import advised
from hdbkit.api.running import OnRun
from hdbkit.charts.chart import Chart
from hdbkit.charts.whole_sweep import whole_sweep
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.config.metric import Measure
from hdbkit.config.sweep_spec import CompareBy, Strategy
from hdbkit.contracts import ApplyBy
from hdbkit.experiment import Watcher
from hdbkit.experiment.deciding import judged, spending
from hdbkit.experiment.events import ignore_event
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.slicing import planned_slices, slices_for
from hdbkit.experiment.sweep import SweepPlan, plan_sweep
from hdbkit.report import sweep_card, sweep_report
from hdbkit.report.sweep_journal import restored
from hdbkit.results.experiment_folder import ENDED_EARLY, ExperimentFolder, each_run, find_experiment, runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.results.query_plans import read_plans
from hdbkit.servers import control
from hdbkit.workloads import workload
from hdbkit.workloads.present import present_schema, require_privileges
from hdbkit.workspace import BareWorkspace

_SPLIT_PLOT = (
    "Within a block the runs of one schema are consecutive; their common variation is not included in the intervals "
    "of comparisons between schemas, which may be too narrow"
)
"""The warning about a split-plot design, which the analysis treats as fully randomized within blocks."""


class SweepResult:
    """The result of a sweep, read from its folder without driver or server."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self.folder = folder
        self.plan = folder.read_plan(SweepPlan)

    @property
    def experiment_id(self) -> str:
        """The sweep's id."""
        return self.folder.experiment_id

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per planned run: place, settings and outcome; see ``results.experiment_folder.runs_frame``.

        Where configurations alternate within runs, one row per run and configuration.
        """
        return runs_frame(self.folder)

    @cached_property
    def observations(self) -> pd.DataFrame:
        """The rows that verdicts, effects and interactions are made of: runs, or stretches of runs by slices."""
        rows = observations(self.folder, self.plan.metric)
        return rows[~rows["fresh"]]

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """One row per configuration and user count: ratio to the baseline, 95 % interval, verdict.

        Where a look decided a comparison and later blocks did not run it, ratio and interval are those of this look
        (``decided_after``, in blocks).
        """
        return judged(self.plan, self.folder.journal.state, self.observations)

    @cached_property
    def effects(self) -> pd.DataFrame:
        """One row per value of a setting: its main effect over all pairs of the grid, with its interval."""
        spec, baseline = self.plan.spec, self.plan.configurations[0]
        return main_effects(
            self.observations, self.plan.metric, list(spec.grid), baseline, spec.smallest_effect, level=self.level
        )

    @cached_property
    def interactions(self) -> pd.DataFrame:
        """One row per pair of values: joint effect relative to the product of both effects, with its interval."""
        spec, baseline = self.plan.spec, self.plan.configurations[0]
        return interactions(
            self.observations, self.plan.metric, list(spec.grid), baseline, spec.smallest_effect, level=self.level
        )

    @cached_property
    def winners(self) -> pd.DataFrame:
        """One row per configuration repeated in fresh blocks, fastest first; empty without such blocks."""
        runs = self.runs[self.runs["fresh"]]
        return winners(self.verdicts, runs, self.plan.metric, self.plan.spec.smallest_effect)

    @cached_property
    def latencies(self) -> pd.DataFrame:
        """One row per operation, percentile (p95, p99), configuration and virtual users: the verdict on the latency.

        Columns as those of ``analysis.sweep.latencies.latency_verdicts``; values in ms.
        """
        runs = self._grid_runs
        manifests = [one for _, one in readable(self._finished()) if one.run_id in set(runs["run_id"])]
        return latency_verdicts(runs, manifests, self.plan.spec.smallest_effect, level=self.level)

    @cached_property
    def by_operation(self) -> pd.DataFrame:
        """One row per operation, configuration and user count, where the metric is a mean over operations.

        Columns as those of ``verdicts`` with ``operation``, values in s; all intervals hold together.
        """
        manifests = [one for _, one in readable(self._finished())]
        return operation_verdicts(
            self._grid_runs, manifests, self.plan.metric, self.plan.spec.smallest_effect, level=self.level
        )

    @cached_property
    def plans(self) -> list[ChangedPlan]:
        """The optimizer's plans that differ from the baseline's, beside these; empty where runs keep no plans."""
        labels = dict(zip(self.verdicts["configuration"], self.verdicts["label"], strict=True))
        return changed_plans(self._grid_runs, labels, lambda run_id: read_plans(self._run(run_id).plans))

    @cached_property
    def scaling(self) -> pd.DataFrame:
        """One row per configuration with enough user counts: the Universal Scalability Law and its peak."""
        labels = dict(zip(self.verdicts["configuration"], self.verdicts["label"], strict=True))
        measured = usable(self._grid_runs)
        named = measured.assign(label=measured["configuration"].map(labels))
        rate = self.plan.metric.measure is Measure.RATE
        return laws_table(laws(named, "label") if rate else {}, "label")

    @property
    def level(self) -> float:
        """The level of the intervals of the present look, so that those of all looks hold with 95 %."""
        ended = self._grid_runs[self._grid_runs["status"].isin(["done", "failed"])]
        return self.spending.level(int(ended["block"].max()) if len(ended) else 0)

    @cached_property
    def spending(self) -> Spending:
        """How the sweep spends its error rate over all looks at its results, also when blocks are added."""
        return spending(self.plan, self.folder.journal.state)

    @property
    def answer(self) -> str:
        """The strongest conclusion in one sentence, and in a second one the result of the winners' fresh blocks."""
        first = answer(self.verdicts, self.plan.metric, self.plan.spec.smallest_effect, self.effects)
        second = winner_answer(self.winners, self.plan.spec.winner_blocks)
        return f"{first} {second}" if second else first

    @property
    def notes(self) -> list[str]:
        """Notes on the verdicts: looks, early ends, and effects that depend on another setting."""
        spec = self.plan.spec
        effects = changed_effects(self.interactions, self.effects, self.plan.metric, spec.smallest_effect)
        split = [_SPLIT_PLOT] if len(self.plan.rebuilds) > 1 else []
        early = early_ends_note(self.runs)
        looks = self.spending.note(self.plan.ended_after, self.level)
        slices, decided = slice_notes(self._slice_runs, self.observations), decided_note(self.verdicts)
        return [*candidates_note(self.verdicts), *slices, *looks, *decided, *early, *split, *effects]

    @property
    def notice(self) -> str:
        """The notice that every result of its workload carries; empty until a run is finished."""
        first = readable(self._finished()[:1])
        return first[0][1].notice if first else ""

    @cached_property
    def warnings(self) -> list[str]:
        """Reasons why the result may be unreliable, one phrase each; empty if there are none."""
        manifests = [manifest for _, manifest in readable(self._finished())]
        return [
            *sweep_warnings(self.runs, self.plan.metric),
            *slice_warnings(self._slice_runs, self.observations, self.plan.metric),
            *rate_warnings(manifests),
            *start_warnings(manifests),
        ]

    @property
    def advice(self) -> str:
        """Warnings, notes, and the command that would settle undecided verdicts; often empty."""
        lines = [warnings_text(self.warnings), *self.notes, self._next_step]
        return "\n".join(one for one in lines if one)

    @property
    def restored(self) -> str:
        """A sentence if the server's settings are restored; empty if they are not or were never changed."""
        return restored(self.folder.journal.lines)

    @property
    def failed(self) -> int:
        """The number of planned runs without a result."""
        return int((~each_run(self.runs)["status"].isin(["done", ENDED_EARLY])).sum())

    @property
    def checks_failed(self) -> dict[str, int]:
        """The number of runs that failed each check, by name; empty if none did."""
        return failed_checks(self.runs)

    def charts(self) -> dict[str, Chart]:
        """The charts of its report, as far as its data allows.

        They are: effects, configurations, grid and interactions (two settings), scaling (several counts of virtual
        users), parallel (settings against the metric), throughput (over time) or slices (changes over time), latency;
        where the metric is a mean over operations, ratios (of each operation) and profile (its time).
        """
        spec, finished = self.plan.spec, readable(self._finished())
        charts = whole_sweep(
            self._grid_runs, self.verdicts, self.effects, list(spec.grid), spec.smallest_effect, self.plan.metric,
            finished, self.interactions, self.by_operation,
        )  # fmt: skip
        return {chart.key: chart for chart in charts}

    def report(self) -> Path:
        """Write the one-page report; return its path."""
        return sweep_report(
            self.folder.report,
            plan=self.plan.model_dump(mode="json"),
            metric=self.plan.metric,
            runs=self.runs,
            verdicts=self.verdicts,
            effects=self.effects,
            answer=self.answer,
            command=self._repeated(),
            folders=self._finished(),
            warnings=self.warnings,
            next_step=self._next_step,
            interactions=self.interactions,
            winners=self.winners,
            latencies=self.latencies,
            by_operation=self.by_operation,
            plans=self.plans,
            notes=self.notes,
            journal=self.folder.journal.lines,
        )

    def _repr_html_(self) -> str:
        advice = "\n".join(filter(None, [self.advice, self.restored]))
        return sweep_card(self.experiment_id, self.answer, self.verdicts, self.plan.metric, advice, self.notice)

    def __repr__(self) -> str:
        runs = each_run(self.runs)
        done = int((runs["status"] == "done").sum())
        return f"<SweepResult {self.experiment_id}: {done} of {len(runs)} runs done>"

    @property
    def _grid_runs(self) -> pd.DataFrame:
        """The runs without those of the fresh blocks, which are judged separately."""
        return self.runs[~self.runs["fresh"]]

    @property
    def _slice_runs(self) -> list[tuple[RunFolder, Manifest]]:
        """The finished runs in which configurations alternate."""
        return readable(self._finished()) if self.plan.slices else []

    @property
    def _next_step(self) -> str:
        """The command that would settle undecided verdicts; empty for a sweep that takes no more blocks."""
        fixed = self.plan.ended_after is not None or self.plan.winners
        return "" if fixed else next_step(self.verdicts, self._with_blocks)

    def _finished(self) -> list[RunFolder]:
        done = each_run(self.runs.loc[self.runs["status"] == "done"])["run_id"]
        return [self._run(run_id) for run_id in done]

    def _run(self, run_id: str) -> RunFolder:
        return RunFolder(self.folder.root / run_id)

    def _repeated(self) -> str:
        if self.plan.command:
            return self._with_blocks(self.plan.spec.blocks)
        return f"hdbkit sweep {self.plan.target.given} {self.folder.path / 'plan.json'}"

    def _with_blocks(self, blocks: int) -> str:
        return f"{self.plan.command or f'hdbkit resume {self.experiment_id}'} --blocks {blocks}"


class SweepVerbs(BareWorkspace):
    """Verbs that plan and execute sweeps and read their results."""

    def plan_sweep(
        self,
        target: Target | str,
        spec: SweepSpec | Path | str,
        *,
        blocks: int | None = None,
    ) -> SweepPlan:
        """Plan every run of a sweep in order, with its duration; accesses no server, and an agent only for host
        facts.

        With ``compare_by: slices``, the slices are those of settings that sessions can set.

        Raises:
            InputError: the specification has errors, all reported together, needs unknown facts, or asks for slices
                that are not possible.
        """
        target = self.target(target)
        spec = _as_spec(spec, blocks)
        first = _plan_of_runs(target, spec.with_(time_budget_s=None))  # slices take less time than runs
        whole = first.spec.with_(time_budget_s=spec.time_budget_s)
        return plan_sweep(target, whole, first.experiment_id, slices=planned_slices(first))

    def sweep(
        self,
        target: Target | str,
        spec: SweepSpec | Path | str,
        *,
        blocks: int | None = None,
        watch: Watcher = ignore_event,
        watch_run: OnRun | None = None,
        command: str = "",
    ) -> SweepResult:
        """Measure a grid of server settings and compare each with the baseline.

        Args:
            target: the database: a private server, or a target with ``may_change_settings``.
            spec: a :class:`~hdbkit.SweepSpec`, or a file that contains one (YAML, or hammerpost's JSON).
            blocks: the total number of blocks.
            watch: called at each step of the sweep.
            watch_run: called several times per second with the present run.
            command: the command that repeats the sweep, if it is not ``hdbkit sweep``.

        Raises:
            InputError: the sweep is not possible; nothing was started or changed.
            KeyboardInterrupt: stopped; the settings are restored, and ``resume_experiment`` continues the sweep.
        """
        planned = plan_checked(target, spec, blocks, command, self)
        return SweepResult(executed(self, planned, watch, watch_run))

    def sweep_result(self, experiment_id: str = "last") -> SweepResult:
        """Read the result of a sweep, given by its id, a unique part of the id, or ``last``."""
        return SweepResult(find_experiment(self.results, experiment_id))


def _plan_of_runs(target: Target, spec: SweepSpec) -> SweepPlan:
    """The plan of a sweep that compares runs, with the facts and the load of its target and workload."""
    if spec.missing_facts:
        spec = spec.resolved(host_facts(target))
    if spec.workload is not None:
        spec = spec.with_(load=workload(spec.workload).load(spec.load))
    return plan_sweep(target, spec, new_experiment_id(datetime.now(UTC), spec.name))


def plan_checked(
    target: Target | str,
    spec: SweepSpec | Path | str,
    blocks: int | None,
    command: str,
    workspace: BareWorkspace,
) -> SweepPlan:
    """Plan a new sweep for the schema in the database.

    Raises:
        InputError: there is no such schema, the account lacks privileges on it, or the specification has errors.
    """
    target, spec = workspace.target(target), _as_spec(spec, blocks)
    with advised(workspace.results, target):
        present = present_schema(target, spec.workload)
    spec = spec.with_(workload=present)
    budget_s = spec.time_budget_s
    first = _plan_of_runs(target, spec.with_(time_budget_s=None))  # slices take less time than runs
    require_privileges(target, present, _loads_on(first, present))
    asked = first.spec.compare_by is CompareBy.SLICES
    slices = slices_for(first, control(target)) if first.spec.settings or asked else None
    whole = first.spec.with_(time_budget_s=budget_s)
    needs_restart = () if whole.strategy is Strategy.GRID else _needing_restart(target, whole)
    return plan_sweep(target, whole, first.experiment_id, command, needs_restart, slices)


def _loads_on(plan: SweepPlan, spec: WorkloadSpec) -> list[Load]:
    """The different loads of a sweep on one schema, without those on schemas that it builds itself."""
    runs = [one for one in plan.runs if one.block == 1] if plan.spec.factors else plan.runs[:1]
    loads = [plan.load_of(one) for one in runs if plan.workload_of(one) == spec]
    return [load for position, load in enumerate(loads) if load not in loads[:position]]


def _needing_restart(target: Target, spec: SweepSpec) -> tuple[str, ...]:
    """The settings of a sweep for which the server needs a restart."""
    known = control(target).settings() if spec.settings else {}
    return tuple(name for name in spec.settings if name in known and known[name].apply_by is ApplyBy.RESTART)


def _as_spec(spec: SweepSpec | Path | str, blocks: int | None) -> SweepSpec:
    spec = spec if isinstance(spec, SweepSpec) else SweepSpec.read(Path(spec))
    return spec if blocks is None else spec.with_(blocks=blocks)
