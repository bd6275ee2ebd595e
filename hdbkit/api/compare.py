"""Compares two runs or two groups of runs, which it measures in turn on request."""

from __future__ import annotations

import hashlib
import math
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import Field

from hdbkit.analysis.comparison.advice import DEFAULT_BLOCKS, Again
from hdbkit.analysis.comparison.by_operation import compared_by_operation, compared_cost, compared_quantiles
from hdbkit.analysis.comparison.explaining import Level, explain
from hdbkit.analysis.comparison.explanation import Explanation
from hdbkit.analysis.comparison.gate import Gate, gate
from hdbkit.analysis.comparison.groups import metric_values
from hdbkit.analysis.comparison.history import HOST_FACTS
from hdbkit.analysis.comparison.plans import PlanPair, plan_pairs, plans_note
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sessions import runs_of
from hdbkit.analysis.comparison.shared_operations import comparable_runs, of_shared_operations
from hdbkit.analysis.comparison.side_slices import run_blocks, sliced_sides
from hdbkit.analysis.comparison.sides import (
    SETTING,
    Compared,
    compared,
    comparison_warnings,
    plain_names,
    settings_apart,
)
from hdbkit.analysis.run.server_cost import SERVER_COST, cost_note
from hdbkit.analysis.statistics.sequential import Anytime
from hdbkit.analysis.wording import without_verdict
from hdbkit.api.executing import executing
from hdbkit.api.experiment_result import ExperimentResult, measured_cells
from hdbkit.api.prices import prices_of_sides
from hdbkit.api.result import Result
from hdbkit.api.running import RunVerbs
from hdbkit.api.sides import Work, counts_of, ends_of, results_of_sides, sides_of, work_of
from hdbkit.caution import Caution, Kind
from hdbkit.charts.chart import Chart
from hdbkit.charts.compare_charts import compare_charts
from hdbkit.charts.wait_charts import explained
from hdbkit.config import Load, Preparation, Target, WorkloadSpec
from hdbkit.config.metric import Measure, Metric
from hdbkit.config.target import target_names
from hdbkit.config.until_decided import MAX_UNTIL_DECIDED, until_decided_of
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.comparison import SLICE_S, ComparisonPlan, require_sliceable
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.sides import in_blocks
from hdbkit.later import pandas as pd
from hdbkit.report.experiment_report import Evidence
from hdbkit.report.sides_evidence import sides_evidence
from hdbkit.report.tables import cell
from hdbkit.results.catalog import find_run, profile_tag, rows_of, runs_of_profile, runs_under
from hdbkit.results.differences import differing_values, side_names
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.finding import Finding, More, Of, Ratio, Verdict, finite, frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import known_settings
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import Figures
from hdbkit.servers.private import is_server_folder
from hdbkit.workspace import BareWorkspace

Side = str | Sequence[str]
SLICED_BLOCKS = run_blocks(1)
"""The default number of blocks by slices: their runs suffice at each count of virtual users."""


class Difference(Figures):
    """What differs between the first runs of both sides."""

    what: str
    base: str
    new: str


class SidesMore(More):
    """What only findings of two sides have."""

    unit: str = Field(
        description="what is replicated: shared sessions, sessions, blocks of one session, cycles of slices, none"
    )
    session_noise: float | None = Field(description="share of the metric by which sessions differ")
    run_noise: float | None = Field(description="share of the metric by which runs of a session differ")
    differences: tuple[Difference, ...]
    plans: dict[str, bool] = Field(description="whether both sides have the same plan, by operation")


@dataclass(frozen=True, repr=False)
class Comparison(ExperimentResult):
    """The comparison of ``new`` with ``base``; ``names`` are the names of both sides as requested."""

    base: list[Result]
    new: list[Result]
    compared: Compared
    names: tuple[str, str]
    workspace: BareWorkspace
    """The workspace for its report."""
    operation_ratios: list[Ratio]
    """Of the mean time of each operation, in s; all intervals hold together."""
    left_out: str
    """Which operations the metric lacks here because not all runs completed them, and which runs; empty: none."""
    slice_warnings: tuple[str, ...] = ()
    """Reasons to doubt the slices of both sides, where their loads alternate."""
    experiment_id: str = ""
    kind: str = "comparison"
    interim: str = ""
    """Its place before the number of blocks that judges it; empty at that."""

    @cached_property
    def finding(self) -> Finding:
        base, new = self.sides
        lower = self.metric.measure is Measure.QUANTILE
        undecided = self.ratio.verdict is Verdict.UNDECIDED
        noise = self.compared.noise
        more = SidesMore(
            unit=self.compared.design.unit.value,
            session_noise=finite(noise.session),
            run_noise=finite(noise.run),
            differences=tuple(
                Difference(what=str(what), base=first, new=other)
                for what, first, other in self.differences.itertuples()
            ),
            plans={pair.operation: pair.alike for pair in self.plans},
        )
        return Finding(
            experiment_id=self.experiment_id,
            kind=self.kind,
            question=f"Is {new} {'lower' if lower else 'faster'} than {base}?",
            metric=self.metric,
            cells=measured_cells(self.cells),
            ratios=(
                *self.compared.each, *self.operation_ratios, self._operations_per_s,
                *filter(None, [self.cost_ratio]), *self.quantile_ratios,
            ),
            best=self.ratio,
            answer=self.answer,
            basis=self.basis,
            interim=self.interim,
            explanation=self.explanation.sentence if self.explanation else "",
            advice=self.compared.advice if undecided else "",
            prices=prices_of_sides(
                [side[0].manifest.plan.target.kind for side in (self.base, self.new)], (base, new), self.differences
            ),
            notes=tuple(filter(None, [*cost_note(self.cost_ratio), plans_note(self.plans)])),
            warnings=tuple(self.warnings),
            smallest_effect=self.compared.smallest_effect,
            confidence=self.compared.confidence,
            notice=self.base[0].manifest.notice,
            command=self.command,
            more=more,
        )  # fmt: skip

    @property
    def ratio(self) -> Ratio:
        """New over base with its interval, verdict and sentence; with several user counts the mean over them."""
        return self.compared.ratio

    @property
    def answer(self) -> str:
        """The verdict and what it is based on."""
        return self.compared.answer

    @property
    def basis(self) -> str:
        """What the interval is made of, such as ``3 sessions against 3``, and the noise of sessions and runs."""
        return self.compared.basis

    @property
    def measured(self) -> pd.DataFrame:
        return metric_values(self.sides).rename(columns={"group": "cell"})

    @property
    def metric(self) -> Metric:
        """The metric of all its runs."""
        return self.base[0].manifest.metric

    @property
    def by_operation(self) -> pd.DataFrame:
        """One row per operation: ``operation``, ``base`` and ``new`` (mean times in s), ``ratio`` (above 1: faster),
        ``low`` and ``high`` (all intervals hold together), ``verdict``, ``sentence``."""
        columns = ("operation", "base", "new", "ratio", "low", "high", "verdict", "sentence")
        return frame(self.operation_ratios, columns=columns)

    def charts(self) -> dict[str, Chart]:
        """Charts of both sides: users (the metric over virtual users), throughput (over time), latency.

        Where something is replicated: changes (of the metric and each latency, with their intervals).
        Where what sessions wait for was sampled: explanation (the parts of the time of an operation).

        Where the metric is a mean over operations: ratios (of each operation) and profile (its time on both sides).
        """
        charts = compare_charts(self.sides, self.finding)
        why = [explained(self.explanation, *plain_names(self.names))] if self.explanation else []
        return {chart.key: chart for chart in [*charts[:1], *why, *charts[1:]]}

    def listing(self, *, everything: bool = False) -> tuple[pd.DataFrame, str]:
        """What differs between the sides; without ``everything`` not the settings that one side lacks."""
        differences, apart = (self.differences, "") if everything else settings_apart(self.differences)
        return differences.reset_index(), apart and f"{apart}; list them with --all"

    @property
    def report_file(self) -> Path:
        mark = hashlib.sha256("\n".join(self._ids).encode()).hexdigest()[:8]
        name = f"{self.new[0].run_id}-against-{self.base[0].run_id}-{mark}.html"
        return self.workspace.results / "comparisons" / name

    def evidence(self) -> Evidence:
        return sides_evidence(self.finding, self.sides, self.differences, self.explanation, self.plans)

    @cached_property
    def explanation(self) -> Explanation | None:
        """Why one side is faster: the parts of the time of an operation, each with an interval, and a sentence.

        None where what sessions wait for was not sampled in all runs. Raises ``DamagedResult``.

        Example:
            >>> print(hdbkit.compare("before", "after").explanation.sentence)  # doctest: +SKIP
        """
        base, new = self.sides.values()
        at_most_users = (self.compared.by_users or (self.ratio,))[-1]
        return explain(base, new, Level.of(at_most_users, self.compared.level))

    @property
    def command(self) -> str:
        """The command that compares these runs again."""
        return shlex.join(["hdbkit", "compare", *self._ids, "--report"])

    @property
    def _ids(self) -> list[str]:
        return [",".join(result.run_id for result in side) for side in (self.base, self.new)]

    @property
    def sides(self) -> dict[str, list[tuple[RunFolder, Manifest]]]:
        """Base and new, each by its name and its runs."""
        return _finished(dict(zip(plain_names(self.names), (self.base, self.new), strict=True)))

    @cached_property
    def quantile_ratios(self) -> list[Ratio]:
        """Quantiles of the latency of each operation, in ms; their intervals hold together.

        Latencies are service times; where operations have a scheduled start, both times are listed and named.
        """
        first, results = self.base[0].manifest, (*self.base, *self.new)
        paced = any(result.manifest.paced for result in results)
        times: dict[str, tuple[str, ...]] = {" response": ("response",), " service": ()} if paced else {"": ()}
        keys: dict[str, tuple[str, ...]] = {}
        for name in () if first.one_by_one else first.planned:
            for (time, key), quantile in product(times.items(), ("p50_us", "p95_us", "p99_us")):
                keys[f"{name}{time} {quantile}"] = ("operations", name, *key, quantile)
        rows = {
            result.run_id: {name: _figure(figures, where) for name, where in keys.items()}
            for result in results
            for figures in [result.summary.model_dump()]
        }
        manifests = {
            side: [result.manifest for result in runs] for side, runs in ((BASE, self.base), (NEW, self.new))
        }
        latencies_us = pd.DataFrame.from_dict(rows, orient="index", columns=list(keys))
        ratios = compared_quantiles(runs_of(manifests), latencies_us, self.compared, self.compared.level)
        return [without_verdict(ratio, self.metric, self.interim) for ratio in ratios]

    @cached_property
    def cost_ratio(self) -> Ratio | None:
        """The server's CPU time per operation, in us: a verdict of its own. None unless every run knows it."""
        sides = {side: [result.manifest for result in runs] for side, runs in ((BASE, self.base), (NEW, self.new))}
        ratio = compared_cost(runs_of(sides), [*sides[BASE], *sides[NEW]], self.compared)
        return ratio and without_verdict(ratio, SERVER_COST, self.interim)

    @property
    def _operations_per_s(self) -> Ratio:
        base, value = (
            finite(_geometric_mean([result.operations_per_s for result in side])) for side in (self.base, self.new)
        )
        return Ratio(
            of=Of.COUNT, figure="operations_per_s", label=self.ratio.label, against=self.ratio.against,
            virtual_users=None, base=base, value=value, ratio=value / base if value and base else None,
            verdict=Verdict.UNDECIDED,
        )  # fmt: skip

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per figure: the geometric means of both sides, and the change from base to new (-0.2: 20 % less).

        The change of the metric is that of ``ratio``. ``low`` and ``high`` are the interval of the change; that of a
        latency holds together with those of all latencies. They are NaN where nothing is replicated, and for other
        figures.
        """
        latency = Metric(name="latency", title="latency", unit="us", measure=Measure.QUANTILE)
        figures = {
            "metric_value": (self.ratio, self.metric),
            "operations_per_s": (self._operations_per_s, self.metric.rate),
        }
        figures |= {f"{ratio.figure} {ratio.quantile}_us": (ratio, latency) for ratio in self.quantile_ratios}
        rows = {name: _changed(ratio, metric) for name, (ratio, metric) in figures.items()}
        columns = [BASE, NEW, "change", "low", "high"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype(float).rename_axis("figure")
        table.loc[table.index.str.endswith("_us"), [BASE, NEW]] *= 1000
        return table

    @property
    def differences(self) -> pd.DataFrame:
        """The settings, plan fields, software and host that differ between the sides: a row each, base and new.

        Compared are the first run of the base and the first new run with the same number of virtual users.
        ``load.virtual_users`` lists all user counts of a side.
        """
        first, alike = self._alike()
        sides = [
            _facts(one) | {"load.virtual_users": ", ".join(map(str, sorted({run.virtual_users for run in side})))}
            for one, side in ((first, self.base), (alike, self.new))
        ]
        names = [name for name in sides[0].keys() | sides[1].keys() if sides[0].get(name) != sides[1].get(name)]
        rows = {name: [side.get(name, "") for side in sides] for name in sorted(names, key=str.lower)}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["base", "new"]).rename_axis("what")

    @cached_property
    def plans(self) -> list[PlanPair]:
        """The optimizer's plans of each query on both sides, line by line; those of the runs in ``differences``.

        Empty where not both sides kept plans. Raises ``DamagedResult``.
        """
        first, alike = self._alike()
        return plan_pairs(first.plans, alike.plans)

    def _alike(self) -> tuple[Result, Result]:
        """The first run of the base, and the first new run with the same number of virtual users."""
        first = self.base[0]
        return first, next((one for one in self.new if one.virtual_users == first.virtual_users), self.new[0])

    @property
    def warnings(self) -> list[str]:
        """What the ratio reflects beside the servers, a sentence without its full stop each."""
        sides = zip(self.names, (self.base, self.new), strict=True)
        manifests = {name: [result.manifest for result in side] for name, side in sides}
        found = comparison_warnings(self.differences, manifests)
        left_out = [Caution(self.left_out, Kind.LEFT_OUT)] if self.left_out else []
        return [*left_out, *self.slice_warnings, *found]

    def gate(self, below: float) -> Gate:
        """Whether the metric became worse by more than ``below`` (such as -0.02), at any of the user counts.

        ``analysis.comparison.gate`` defines the rule.

        Raises:
            InputError: ``below`` is not above -1 and at most 0, or not all runs completed the same operations.

        Example:
            >>> hdbkit.compare("before", "after").gate(-0.02).verdict  # doctest: +SKIP
            'held'
        """
        if self.left_out:
            raise InputError(f"a gate needs runs that completed the same operations. {self.left_out}")
        if self.interim:
            return Gate("undecided", f"undecided: {self.interim}; resume it to the end")
        return gate(self.compared.each, self.metric, below, self.compared.advice, self.compared.confidence)


class ComparisonVerbs(RunVerbs):
    """Verbs that compare runs."""

    def compare(
        self,
        base: Side | Target = (),
        new: Side | Target = (),
        *,
        smallest_effect: float = 0.02,
        **sides: Side | Target,
    ) -> Comparison:
        """Compare stored runs; ``measure_in_turn`` measures both sides first.

        Args:
            base: a run id, a unique part of one, several of them in a list or separated by commas, or a label or
                profile, which selects all its runs.
            new: as ``base``.
            smallest_effect: the smallest relevant relative difference.
            sides: base and new by the names that the comparison shall use, in place of ``base`` and ``new``. Without,
                runs that were given by ids are named by what differs between them.

        Raises:
            InputError: a run does not exist or has no measured window, the metrics of the runs differ in more than
                the operations of a mean, or no operation was completed by all runs.

        Example:
            >>> hdbkit.compare("before", "after").ratio.sentence  # doctest: +SKIP
            >>> hdbkit.compare(postgresql="1120-2104", mariadb="1120-2107").ratio.sentence  # doctest: +SKIP
        """
        if sides:
            if len(sides) != 2 or base or new:
                raise InputError(f"name both sides, base first, and nothing else; not {', '.join(sides)}")
            base, new = sides.values()
        found = {BASE: _results(base, self), NEW: _results(new, self)}
        names = tuple(sides) if len(sides) == 2 else _names_of(base, new, found)
        again = _again((_words(base), _words(new)), found)
        return of_sides(found, (names[0], names[1]), self, smallest_effect, again=again)

    def plan_comparison(
        self,
        base: Side | Target,
        new: Side | Target,
        *,
        together: bool = False,
        slices: bool = False,
        slice_s: float = SLICE_S,
        blocks: int | None = None,
        until_decided: bool = False,
        within_s: float | None = None,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        virtual_users: Sequence[int] = (),
        label: str | None = None,
        preparation: Preparation | None = None,
        smallest_effect: float = 0.02,
    ) -> ComparisonPlan:
        """Plan runs of two sides in turn, which ``measure_in_turn`` executes in this process, and
        ``start_experiment`` in one of its own.

        Args:
            base: a target (a URL, a name, or a :class:`~hdbkit.Target`), or runs as for :func:`compare`, whose
                target, workload and load are measured again; runs come first where a name is both.
            new: as ``base``.
            together: measure both sides at the same time instead, on two servers. On a busy host this needs far fewer
                blocks; each side is measured under the load of the other.
            slices: let the load alternate between both sides, slice by slice, in two runs at the same time: users
                keep their connections to both servers, and those of one side pause in the slices of the other. What
                disturbs the host meets both alike, so this needs the least time.
            slice_s: the length of a slice, in seconds.
            blocks: the number of runs of each side at each user count; by default 7 with slices, else 6. Until it is
                decided the maximum, by default 60.
            until_decided: end after the block that decides every verdict. The intervals hold at every number of
                blocks, so they are wider than those of a number of blocks that was chosen before.
            within_s: with ``until_decided``: the maximum duration, in seconds.
            workload: replaces that of both sides; a target takes the other side's, else the default workload.
            load: its given fields replace those of both sides; a target takes the other side's load, else the
                default.
            virtual_users: the user counts; by default those that the runs of both sides have.
            label: a word; the runs are labelled ``LABEL-base`` and ``LABEL-new``. By default the experiment's id.
                Comparisons under one label share one error rate of 5 %, so each of them has wider intervals.
            preparation: how the servers are prepared before each run; by default as in a sweep.
            smallest_effect: the smallest relevant relative difference.

        Raises:
            InputError: a run does not exist, a side cannot be measured, or ``until_decided`` is not possible.

        Example:
            >>> planned = hdbkit.plan_comparison("server-17", "server-18", blocks=8)  # doctest: +SKIP
            >>> hdbkit.start_experiment(planned).wait().gate(-0.02).verdict  # doctest: +SKIP
        """
        until = until_decided_of(until_decided, within_s)
        if together and slices:
            raise InputError(
                "both sides are measured at the same time, or in slices that alternate; give one of both"
            )
        if until and together:
            raise InputError(
                "until it is decided both sides are measured in turn or in slices: blocks at the same time are not "
                "independent"
            )
        works = {side: _work(given, self) for side, given in ((BASE, base), (NEW, new))}
        experiment_id = new_experiment_id(datetime.now(UTC), "compare")
        if blocks is None:
            blocks = MAX_UNTIL_DECIDED if until else SLICED_BLOCKS if slices else DEFAULT_BLOCKS
        counts = counts_of(works, load, virtual_users, blocks)
        sides = sides_of(self, works, workload=workload, load=load, label=label or experiment_id)
        if (together or slices) and len({one.target.url for one in sides}) < len(sides):
            way = "in slices" if slices else "together"
            raise InputError(f"both sides are the same target: its runs can be measured in turn, but not {way}")
        if slices:
            require_sliceable(sides, slice_s)
        seed = label or experiment_id
        before = ends_of(self, ComparisonPlan, "label", sides[0].label)
        if until and before:
            raise InputError(f"a comparison until it is decided needs a label of its own; '{label}' has runs already")
        return ComparisonPlan(
            experiment_id=experiment_id,
            configurations=tuple({"side": one.name} for one in sides),
            runs=in_blocks(sides, counts, range(1, blocks + 1), seed),
            sides=sides,
            virtual_users=counts,
            blocks=blocks,
            seed=seed,
            prepared=preparation or Preparation(),
            before=before,
            until_decided=until,
            together=together or slices,
            names=_names(base, new),
            smallest_effect=smallest_effect,
            slice_s=slice_s if slices else None,
        )

    @executing(plan_comparison, ComparisonPlan)
    def measure_in_turn(self, folder: ExperimentFolder) -> Comparison:
        """Measure two sides in turn, in one session, and compare them.

        The arguments are those of :func:`plan_comparison`.

        Raises:
            InputError: a run does not exist, or a side cannot be measured.
            ExperimentFailed: a run failed; ``resume_experiment`` continues.
            KeyboardInterrupt: stopped; ``resume_experiment`` continues.

        Example:
            >>> hdbkit.measure_in_turn("server-17", "server-18", blocks=8).gate(-0.02).verdict  # doctest: +SKIP
        """
        plan = folder.read_plan(ComparisonPlan)
        sides = results_of_sides(self, folder, plan)
        if not all(sides.values()):
            raise InputError(f"{folder.experiment_id} has not measured both sides yet; see: hdbkit experiments")
        base, new = plan.sides
        slices = "" if plan.slice_s else _again((base.label, new.label), sides).slices
        again = Again(
            slices=slices,
            resume=f"hdbkit resume {plan.experiment_id}",
            level=plan.confidence_after,
            unfinished=not folder.journal.state.finished,
        )
        return of_sides(
            sides,
            plan.names,
            self,
            plan.smallest_effect,
            again=again,
            confidence=plan.confidence,
            anytime=plan.anytime,
            interim=plan.interim(folder.journal.state),
            experiment_id=plan.experiment_id,
        )

    def overlay(self, groups: Mapping[str, Side]) -> dict[str, Chart]:
        """Chart any number of groups of runs together; ``groups`` maps a name to runs, given as for ``compare``.

        The charts are users (the metric over virtual users, with intervals), throughput (over time) and latency.

        Raises:
            InputError: a run does not exist.

        Example:
            >>> hdbkit.overlay({"on": "durable", "off": ["1120-2104", "1120-2107"]})["users"]  # doctest: +SKIP
        """
        results = {name: _results(side, self) for name, side in groups.items()}
        shared, _ = of_shared_operations({name: [one.manifest for one in side] for name, side in results.items()})
        finished = _finished(_with_manifests(results, shared))
        return {chart.key: chart for chart in compare_charts(finished)}


def of_sides(
    sides: Mapping[str, list[Result]],
    names: tuple[str, str],
    workspace: BareWorkspace,
    smallest_effect: float = 0.02,
    *,
    again: Again | None = None,
    confidence: float = 0.95,
    anytime: Anytime | None = None,
    interim: str = "",
    experiment_id: str = "",
    kind: str = "comparison",
) -> Comparison:
    """The comparison of the sides ``base`` and ``new``; ``again`` measures them again.

    ``experiment_id`` and ``kind`` are those of the experiment that measured them.

    Raises:
        InputError: as :func:`compare`.
    """
    timed = [one.manifest for results in sides.values() for one in results]
    manifests, metric, left_out = comparable_runs(_finished(sides))
    shared, runs = _with_manifests(sides, manifests), runs_of(manifests)
    sliced = sliced_sides(_finished(shared), metric)
    measured, design = (runs, None) if sliced is None else (sliced.runs(runs), sliced.design)
    found = compared(measured, metric, smallest_effect, confidence, again, plain_names(names), design, anytime)
    operations = compared_by_operation(runs, timed, metric, found, found.level)
    each = [without_verdict(ratio, metric, interim) for ratio in operations]
    if interim:
        found = found.before_its_end(metric, interim)
    return Comparison(
        shared[BASE], shared[NEW], found, names, workspace, each, left_out, sliced.warnings if sliced else (),
        experiment_id, kind, interim,
    )  # fmt: skip


def _finished(sides: Mapping[str, list[Result]]) -> dict[str, list[tuple[RunFolder, Manifest]]]:
    return {name: [(one.folder, one.manifest) for one in side] for name, side in sides.items()}


def _with_manifests(
    sides: Mapping[str, list[Result]], manifests: Mapping[str, list[Manifest]]
) -> dict[str, list[Result]]:
    return {
        name: [one.with_manifest(manifest) for one, manifest in zip(side, manifests[name], strict=True)]
        for name, side in sides.items()
    }


def _words(side: Side | Target) -> str:
    """A side as it is typed."""
    if isinstance(side, Target):
        return side.given
    return side if isinstance(side, str) else ",".join(side)


def _names(base: Side | Target, new: Side | Target) -> tuple[str, str]:
    """The names of both sides: as requested if each is one word, else ``base`` and ``new``."""
    words = [_words(side) for side in (base, new)]
    short = all("," not in word and word != "last" for word in words) and words[0] != words[1]
    return (f"{words[0]} (base)", f"{words[1]} (new)") if short else ("base", "new")


def _names_of(base: Side | Target, new: Side | Target, results: Mapping[str, list[Result]]) -> tuple[str, str]:
    """The names of both sides: as requested if each is a label or a profile, else by what differs between them."""
    words = [_words(side) for side in (base, new)]
    each = [(word, one.manifest) for word, side in zip(words, results.values(), strict=True) for one in side]
    if all(word == one.plan.label or profile_tag(word) in one.tags for word, one in each):
        found = _names(base, new)
        if found != (BASE, NEW):
            return found
    listing = rows_of([(one.folder, one.manifest) for side in results.values() for one in side])
    sides = [at for at, side in enumerate(results.values()) for _ in side]
    return side_names(listing.runs, differing_values(listing.runs, listing.details), sides)


def _again(words: tuple[str, str], sides: Mapping[str, list[Result]]) -> Again:
    """The commands that measure both sides; none for runs of a sweep, which cannot be repeated alone."""
    plans = {side: [one.manifest.plan for one in results] for side, results in sides.items()}
    if any(one.experiment and one.experiment.settings for several in plans.values() for one in several):
        return Again()
    command = shlex.join(["hdbkit", "compare", *words, "--run"])
    base, new = ({one.target.url for one in plans[side]} for side in (BASE, NEW))
    closed = not any(one.load.paced or one.load.steps for several in plans.values() for one in several)
    by_slices = shlex.join(["hdbkit", "compare", *words, "--slices"])
    return Again(command, by_slices if closed and not base & new else "")


def _results(side: Side | Target, workspace: BareWorkspace) -> list[Result]:
    if isinstance(side, Target):
        raise InputError(f"target {side.given} is no run; to measure it now, use measure_in_turn")
    if isinstance(side, str) and "," in side and runs_under(workspace.results, side):
        return _named(side, workspace)  # a label with a comma
    words = side.split(",") if isinstance(side, str) else list(side)
    found = [one for word in words for one in _named(word.strip(), workspace)]
    if not found:
        raise InputError("give at least one run for each side; see: hdbkit runs list")
    return found


def _work(side: Side | Target, workspace: BareWorkspace) -> Work:
    """What a side measures: that of its runs, or a target."""
    if isinstance(side, Target) or (isinstance(side, str) and "://" in side):
        return Work(workspace.target(side))
    try:
        runs = _results(side, workspace)
    except InputError as error:
        if isinstance(side, str) and (side in target_names(workspace.targets) or is_server_folder(Path(side))):
            return Work(workspace.target(side))
        raise InputError(f"{error}; nor is there a target of this name") from None
    return work_of(workspace, runs)


def _named(word: str, workspace: BareWorkspace) -> list[Result]:
    root = workspace.results
    labelled = runs_of_profile(root, word) or runs_under(root, word)
    return [Result(find_run(root, run_id), workspace) for run_id in labelled or [word]]


def _geometric_mean(values: Sequence[float | None]) -> float:
    """NaN where a value is unknown or 0."""
    known = [value for value in values if value]
    return statistics.geometric_mean(known) if known and len(known) == len(values) else math.nan


def _changed(ratio: Ratio, metric: Metric) -> list[float]:
    """Both levels of a figure, its change, and the interval of the change; NaN where they are unknown."""
    change, *ends = (
        math.nan if value is None else float(metric.from_score(value)) - 1
        for value in (ratio.ratio, ratio.low, ratio.high)
    )
    levels = [math.nan if level is None else level for level in (ratio.base, ratio.value)]
    return [*levels, change, *sorted(ends)]


def _figure(figures: Mapping[str, Any], keys: tuple[str, ...]) -> float:
    value: Any = figures
    for key in keys:
        value = value.get(key) or {}
    return float(value) if isinstance(value, int | float) else float("nan")


def _facts(one: Result) -> dict[str, str]:
    plan = one.manifest.plan
    host = one.manifest.host.model_dump(include=HOST_FACTS)
    parts = {"workload": one.manifest.schema_facts, "load": plan.load.model_dump(mode="json"), "host": host}
    facts = {f"{part}.{name}": str(value) for part, values in parts.items() for name, value in values.items()}
    facts |= {f"software.{name}": value for name, value in one.manifest.software.items()}
    facts["server.version"] = str(one.manifest.server.version)
    facts |= {f"{SETTING}{name}": cell(kept.text(kept.value)) for name, kept in known_settings(one.folder).items()}
    return facts
