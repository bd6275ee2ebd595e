"""Plans, executes and resumes sweeps, and reads their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.statistics.block_model import usable
from hdbkit.api.compare import of_sides
from hdbkit.api.executing import executed, reading
from hdbkit.api.experiment_result import ExperimentResult, measured_cells, scaling_laws_of
from hdbkit.api.left_settings import advised
from hdbkit.api.prices import prices_of_cells
from hdbkit.api.result import Result
from hdbkit.api.running import OnRun
from hdbkit.charts.chart import Chart
from hdbkit.charts.sweep_charts import first_charts, whole_sweep
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.config.sweep_spec import CompareBy, Strategy
from hdbkit.config.until_decided import MAX_UNTIL_DECIDED, until_decided_of
from hdbkit.contracts import ApplyBy, Database, Setting
from hdbkit.databases import database
from hdbkit.errors import (
    CannotConnect,
    ConfigErrors,
    InputError,
    MissingDriver,
    NoAccess,
    Problem,
    SchemaProblem,
    ServerFailed,
)
from hdbkit.execution.server_host import host_facts
from hdbkit.experiment import Watcher
from hdbkit.experiment.events import ignore_event
from hdbkit.experiment.executing import check
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.experiment.kinds.sweep.slicing import planned_slices, slices_for
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.sweep_analysis import SweepAnalysis
from hdbkit.later import pandas as pd
from hdbkit.report.experiment_report import Evidence
from hdbkit.report.sweep_evidence import sweep_evidence
from hdbkit.report.sweep_journal import restored
from hdbkit.results.experiment_runs import each_run
from hdbkit.results.finding import Finding
from hdbkit.results.folder import RunFolder
from hdbkit.servers import control
from hdbkit.servers.permitted import unpermitted, unpermitted_here
from hdbkit.servers.values import same_value, with_unit
from hdbkit.text import listed
from hdbkit.workloads import workload
from hdbkit.workloads.present import present_schema, require_privileges
from hdbkit.workspace import BareWorkspace


class SweepResult(SweepAnalysis, ExperimentResult):
    """The result of a sweep, read from its folder without driver or server."""

    @cached_property
    def finding(self) -> Finding:
        spec, settings = self.plan.spec, listed(list(self.plan.spec.grid))
        return Finding(
            experiment_id=self.experiment_id,
            kind=self.plan.kind,
            question=spec.question or f"Which values of {settings} are fastest?",
            metric=self.metric,
            cells=measured_cells(self.cells),
            ratios=tuple(self.ratios),
            best=self.best,
            answer=self.answer,
            interim=self.interim,
            advice=self.next_step,
            prices=prices_of_cells(self.plan.target.kind, self.plan.configurations),
            notes=tuple(self.notes),
            warnings=tuple(self.warnings),
            smallest_effect=spec.smallest_effect,
            notice=self.notice,
            command=self.command,
            runs_failed=self.failed,
            checks_failed=self.checks_failed,
            scaling=scaling_laws_of(self.scaling, "label"),
        )

    @property
    def measured(self) -> pd.DataFrame:
        runs = usable(self.grid_runs)
        return runs.assign(cell=runs["configuration"].map(self.labels))

    @property
    def every_run(self) -> pd.DataFrame:
        return self.runs

    @property
    def restored(self) -> str:
        """A sentence if the server's settings are restored; empty if they are not or were never changed."""
        return restored(self.folder.journal.lines)

    def charts(self) -> dict[str, Chart]:
        """The charts of its report, as far as its data allows.

        They are: effects, configurations, grid and interactions (two settings), scaling (several counts of virtual
        users), pareto (throughput against latency), throughput (over time) or slices (changes over time), latency;
        where the metric is a mean over operations, ratios (of each operation) and profile (its time).
        """
        return {chart.key: chart for chart in whole_sweep(self)}

    def charts_so_far(self) -> list[Chart]:
        return [chart for chart in first_charts(self) if chart.key != "grid"]

    @property
    def report_file(self) -> Path:
        return self.folder.report

    def evidence(self) -> Evidence:
        return sweep_evidence(self)

    @property
    def difference_report(self) -> Callable[[], Path] | None:
        return self._report_difference if self.best_runs else None

    def _report_difference(self) -> Path:
        assert self.best is not None
        assert self.best_runs is not None
        workspace = BareWorkspace(results=self.folder.root)
        results = {
            side: [Result(RunFolder(workspace.results / run_id), workspace) for run_id in runs]
            for side, runs in zip((BASE, NEW), self.best_runs, strict=True)
        }
        names = (self.labels[0], self.best.label)
        return of_sides(results, names, workspace, self.plan.spec.smallest_effect).report()

    @property
    def _more_lines(self) -> tuple[str, ...]:
        return (self.restored,)

    def __repr__(self) -> str:
        runs = each_run(self.runs)
        done = int((runs["status"] == "done").sum())
        return f"<SweepResult {self.experiment_id}: {done} of {len(runs)} runs done>"


reading(SweepPlan)(lambda _, folder: SweepResult(folder))


class SweepVerbs(BareWorkspace):
    """Verbs that plan and execute sweeps and read their results."""

    def plan_sweep(
        self,
        target: Target | str,
        spec: SweepSpec | Path | str,
        *,
        blocks: int | None = None,
        until_decided: bool = False,
        within_s: float | None = None,
    ) -> SweepPlan:
        """Plan every run of a sweep in order, with its duration; accesses no server, and an agent only for host
        facts.

        With ``compare_by: slices``, the slices are those of settings that sessions can set.

        Raises:
            InputError: the specification has errors, all reported together, needs unknown facts, or asks for slices
                that are not possible.
        """
        target = self.target(target)
        spec = as_spec(spec, blocks, until_decided, within_s)
        first = _plan_of_runs(target, spec.with_(time_budget_s=None))  # slices take less time than runs
        whole = first.spec.with_(time_budget_s=spec.time_budget_s)
        return plan_sweep(target, whole, first.experiment_id, slices=planned_slices(first))

    def sweep(
        self,
        target: Target | str,
        spec: SweepSpec | Path | str,
        *,
        blocks: int | None = None,
        until_decided: bool = False,
        within_s: float | None = None,
        watch: Watcher = ignore_event,
        watch_run: OnRun | None = None,
        command: str = "",
    ) -> SweepResult:
        """Measure a grid of server settings and compare each with the baseline.

        Args:
            target: the database: a private server, or a target with ``may_change_settings``.
            spec: a :class:`~hdbkit.SweepSpec`, or a file that contains one (YAML, or hammerpost's JSON).
            blocks: the total number of blocks; until it is decided the maximum.
            until_decided: end after the block that decides every verdict, as the field of the specification.
            within_s: with ``until_decided``: the maximum duration, in seconds.
            watch: called at each step of the sweep.
            watch_run: called several times per second with the present run.
            command: the command that repeats the sweep, if it is not ``hdbkit sweep``.

        Raises:
            InputError: the sweep is not possible; nothing was started or changed.
            KeyboardInterrupt: stopped; the settings are restored, and ``resume_experiment`` continues the sweep.
        """
        wanted = as_spec(spec, blocks, until_decided, within_s)
        planned = plan_checked(target, wanted, None, command, self)
        return SweepResult(executed(self, planned, watch, watch_run))


def planned_as_measured(
    target: Target | str, spec: SweepSpec, blocks: int | None, workspace: SweepVerbs
) -> tuple[SweepPlan, str]:
    """The plan of a sweep with the checks that ``sweep`` begins with, and why the server could not be asked.

    Raises:
        InputError: the sweep would be refused.
    """
    try:
        planned = plan_checked(target, spec, blocks, "", workspace)
        check(planned, control)
    except (CannotConnect, MissingDriver, ServerFailed) as error:
        return workspace.plan_sweep(target, spec, blocks=blocks), str(error)
    except SchemaProblem as error:
        if isinstance(error, NoAccess):
            raise
        return workspace.plan_sweep(target, spec, blocks=blocks), str(error)
    return planned, ""


def _plan_of_runs(target: Target, spec: SweepSpec) -> SweepPlan:
    """The plan of a sweep that compares runs, with the facts and the load of its target and workload."""
    if spec.missing_facts:
        spec = spec.resolved(host_facts(target))
    if spec.workload is not None:
        spec = spec.with_(load=workload(spec.workload).load(spec.load))
    return plan_sweep(target, spec, new_experiment_id(datetime.now(UTC), spec.name))


def plan_checked(
    target: Target | str, spec: SweepSpec | Path | str, blocks: int | None, command: str, workspace: BareWorkspace
) -> SweepPlan:
    """Plan a new sweep for the schema in the database.

    Raises:
        InputError: there is no such schema, the account lacks privileges on it, or the specification has errors.
    """
    target, spec = workspace.target(target), as_spec(spec, blocks)
    with advised(workspace.results, target):
        present = present_schema(target, spec.workload)
    spec = spec.with_(workload=present)
    if spec.settings_file:
        spec = _completed(spec, control(target).settings(), database(target))
    budget_s = spec.time_budget_s
    first = _plan_of_runs(target, spec.with_(time_budget_s=None))  # slices take less time than runs
    require_privileges(target, present, _loads_on(first, present))
    if refused := unpermitted_here(target, first.tried, lambda: control(target).settings()):
        raise ConfigErrors("the sweep", [Problem("settings", one) for one in refused])
    asked = first.spec.compare_by is CompareBy.SLICES
    slices = slices_for(first, control(target)) if first.tried or asked else None
    whole = first.spec.with_(time_budget_s=budget_s)
    needs_restart = () if whole.strategy is Strategy.GRID else _needing_restart(target, whole)
    return plan_sweep(target, whole, first.experiment_id, command, needs_restart, slices)


def _completed(spec: SweepSpec, known: Mapping[str, Setting], engine: Database) -> SweepSpec:
    """The same sweep, whose files all state each setting that one of them changes.

    What a file leaves out keeps the value that the server has. Raises ``InputError`` if all files are alike, or if
    one changes a setting that may name a program or file, or guards access: it may come from elsewhere.
    """
    own, files = {name.lower(): name for name in known}, {}
    for file, given in spec.settings_file.items():
        files[file] = {own.get(name.lower(), name): value for name, value in given.items()}
    now = {name: known[name].value for given in files.values() for name in given if name in known}
    before = {name: with_unit(known[name], value) for name, value in now.items()}
    whole = {file: {**before, **given} for file, given in files.items()}
    same = {
        name
        for name, value in now.items()
        if all(same_value(known[name], given[name], value) for given in whole.values())
    }
    kept = {file: {name: value for name, value in of.items() if name not in same} for file, of in whole.items()}
    first, *others = kept.values()
    for file, given in kept.items():
        changed = {name: [value] for name, value in given.items() if name in files[file] and name in known}
        if elsewhere := list(unpermitted(engine, known, changed, ())):
            raise InputError(
                f"{file} changes {elsewhere[0]}, which may name a program, file or address, or guards access; omit "
                "it, or give it in 'settings'"
            )
    if others and all(one == first for one in others):
        raise InputError(f"{listed(list(files))} give the server the same settings; there is nothing to compare")
    return spec.with_(settings_file=kept)


def _loads_on(plan: SweepPlan, spec: WorkloadSpec) -> list[Load]:
    """The different loads of a sweep on one schema, without those on schemas that it builds itself."""
    runs = [one for one in plan.runs if one.block == 1] if plan.spec.factors else plan.runs[:1]
    loads = [plan.load_of(one) for one in runs if plan.workload_of(one) == spec]
    return [load for position, load in enumerate(loads) if load not in loads[:position]]


def _needing_restart(target: Target, spec: SweepSpec) -> tuple[str, ...]:
    """The settings of a sweep for which the server needs a restart."""
    known = control(target).settings() if spec.settings else {}
    return tuple(name for name in spec.settings if name in known and known[name].apply_by is ApplyBy.RESTART)


def as_spec(
    spec: SweepSpec | Path | str, blocks: int | None, until_decided: bool = False, within_s: float | None = None
) -> SweepSpec:
    """The specification with these arguments in place of its fields."""
    spec = spec if isinstance(spec, SweepSpec) else SweepSpec.read(Path(spec))
    until = until_decided_of(until_decided or spec.until_decided, within_s)
    changed: dict[str, Any] = {} if blocks is None else {"blocks": blocks}
    if until is not None and not spec.until_decided:
        changed = {"until_decided": True, "looks": (), "blocks": MAX_UNTIL_DECIDED, **changed}
    if within_s is not None:
        changed["time_budget_s"] = within_s
    return spec.with_(**changed) if changed else spec
