"""Finds the highest rate of an open loop at which a limit on latency holds."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from pydantic import Field

from hdbkit.analysis.comparison.groups import Finished, metric_values
from hdbkit.analysis.comparison.sessions import times_of
from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.run.latency_limit import Limit
from hdbkit.analysis.statistics.limit_search import MIN_SEARCH_BLOCKS, RateEstimate, estimate_rate
from hdbkit.analysis.sweep.warnings import start_warnings
from hdbkit.api.executing import executing
from hdbkit.api.experiment_result import ExperimentResult, measured_cells
from hdbkit.api.result import Result
from hdbkit.api.running import RunVerbs, default_load
from hdbkit.api.sides import require_word, settled
from hdbkit.charts.chart import Chart
from hdbkit.charts.schedule_charts import max_rate_chart
from hdbkit.config import Load, Preparation, Target, WorkloadSpec
from hdbkit.config.load import RateOf
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.max_rate import MaxRatePlan, manifests_of, outcome_of, with_first_run
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.later import pandas as pd
from hdbkit.report.environment import environment
from hdbkit.report.experiment_report import Evidence
from hdbkit.report.tables import cell, frame_table
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.finding import Finding, Headline, More
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import known_settings
from hdbkit.results.manifest import Manifest
from hdbkit.text import duration_text, exact_number, many, number, plural
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workspace import BareWorkspace

SEARCH_BLOCKS = 5
_THESE_MINUTES = (
    " Response times at the same rate changed in the course of the search, so the interval is about these minutes: "
    "at another time the rate may be outside it."
)


@dataclass(frozen=True)
class MaxRateRun:
    """A finished run of a search; ``block`` is 0 before the blocks, ``rate`` None for the first run (closed loop)."""

    limit: Limit
    block: int
    rate: float | None
    result: Result

    @property
    def value_ms(self) -> float:
        """The quantile of its response time in milliseconds; NaN in a closed loop, and if none was completed."""
        return math.nan if self.rate is None else self.limit.value_ms(self.result.manifest)

    @property
    def within(self) -> bool:
        """Whether the limit held."""
        return self.rate is not None and self.limit.excess(self.result.manifest) <= 0


class RateMore(More):
    """What only findings of searches for a rate have."""

    rate: float
    low: float | None = Field(description="a rate that was measured; null if none is shown to keep the limit")
    high: float | None = Field(description="a rate that was measured; null if none is shown to exceed it")
    limit: str
    label: str = Field(description="that of its runs")


@dataclass(frozen=True, repr=False)
class MaxRate(ExperimentResult):
    """The highest rate at which the limit holds, in ``rate_of`` per second of all users, with its 95 % interval."""

    limit: Limit
    found: RateEstimate
    made: list[MaxRateRun]
    folder: ExperimentFolder
    plan: MaxRatePlan
    workspace: BareWorkspace

    @property
    def rate(self) -> float:
        """The estimate."""
        return self.found.level

    @property
    def low(self) -> float | None:
        """The lower end of the interval, a rate that was measured; None if no rate is shown to keep the limit."""
        return self.found.low or None

    @property
    def high(self) -> float | None:
        """The upper end of the interval, a rate that was measured; None if no rate is shown to exceed it."""
        return self.found.high if math.isfinite(self.found.high) else None

    @property
    def experiment_id(self) -> str:
        """The search's id."""
        return self.folder.experiment_id

    @property
    def label(self) -> str:
        """The label of its runs."""
        return self.plan.label

    @property
    def measured(self) -> pd.DataFrame:
        rates = [(f"{number(one.rate)} {self.counted} per second", one) for one in self.made if one.rate is not None]
        runs = {
            name: [(run.result.folder, run.result.manifest) for rate, run in rates if rate == name]
            for name, _ in rates
        }
        return metric_values(runs).rename(columns={"group": "cell"}).merge(self.runs, on="run_id")

    @property
    def runs(self) -> pd.DataFrame:
        """A row per run in an open loop, in order: run_id, block (0: search), rate, value_ms, within, saturated."""
        rows = [
            {"run_id": one.result.run_id, "block": one.block, "rate": one.rate, "value_ms": one.value_ms}
            | {
                "within": one.within,
                "saturated": bool((schedule := one.result.summary.schedule) and schedule.saturated),
            }
            for one in self.made
            if one.rate is not None
        ]
        return pd.DataFrame(rows)

    @cached_property
    def finding(self) -> Finding:
        return Finding(
            experiment_id=self.experiment_id,
            kind=self.plan.kind,
            question=f"Which rate keeps {self.limit}?",
            metric=self._newest.metric,
            cells=measured_cells(self.cells),
            ratios=(),
            headline=Headline(
                verdict="found",
                value=f"{cell(self.rate)}/s",
                of=f"{self.counted} per second with {self.limit}",
                interval=f"95 % interval: {self._interval} per second",
            ),
            answer=self._words,
            warnings=tuple(start_warnings([manifest for _, manifest in self.within])),
            notice=self._newest.notice,
            command=self.command,
            more=RateMore(rate=self.rate, low=self.low, high=self.high, limit=str(self.limit), label=self.label),
        )

    @property
    def _words(self) -> str:
        """The result in one sentence, and whether it is about the minutes of the search alone."""
        blocks = many(max(one.block for one in self.made), "block")
        return (
            f"The highest rate at which the {self.limit.quantile} of the response time of {self._newest.headline} "
            f"stays within {exact_number(self.limit.max_ms)} ms is {number(self.rate)} {self.counted} per second "
            f"(95 % confidence interval: {self._interval}; {blocks}{self._lasted}).{self._kept}"
            f"{_THESE_MINUTES if self.found.changed else ''}"
        )

    @property
    def _lasted(self) -> str:
        """In which time the blocks were measured, so that a reader knows what the interval is about."""
        times = [times_of(one.result.manifest) for one in self.made if one.block]
        lasted = max(one["ended"] for one in times) - min(one["started"] for one in times)
        return f" within {duration_text(lasted.total_seconds())}" if pd.notna(lasted) else ""

    @property
    def _kept(self) -> str:
        """How many runs stayed within the limit where its mean crosses it, and at the lower end, as a sentence."""
        nearest = min((one.rate for one in self.made if one.rate), key=lambda rate: abs(math.log(rate / self.rate)))
        parts = [self._share_within(rate) for rate in dict.fromkeys(filter(None, (self.low, nearest)))]
        return f" Within the limit were {'; '.join(parts)}."

    def _share_within(self, rate: float) -> str:
        runs = [one.within for one in self.made if one.rate == rate]
        return f"{sum(runs)} of {many(len(runs), 'run')} at {number(rate)}"

    @property
    def _interval(self) -> str:
        """The ends of the interval, as far as they are known."""
        low, high = (None if end is None else number(end) for end in (self.low, self.high))
        if low and high:
            return f"{low} to {high}"
        return f"above {low}" if low else f"below {high}" if high else "unknown"

    @property
    def counted(self) -> str:
        """What the rate counts, in the plural."""
        of_metric = self._newest.plan.load.rate_of is RateOf.METRIC
        return f"{plural(self._newest.noun)} of the metric" if of_metric else plural(self._newest.noun)

    @property
    def command(self) -> str:
        """The command that repeats the search."""
        plan = self._newest.plan.model_copy(update={"load": self.plan.load})
        words = [*shlex.split(plan.command), "--limit", str(self.limit), "--blocks", str(self.made[-1].block)]
        return shlex.join(["hdbkit", "find-max", *words[2:]])

    def charts(self) -> dict[str, Chart]:
        """The chart ``max_rate``: the rate of each run against its latency, with the limit and the interval."""
        limit, names = (self.limit.quantile, self.limit.max_ms), (self.counted, self._newest.headline)
        return {"max_rate": max_rate_chart(self.runs, self.found[:3], limit, names, self._words)}

    def listing(self, *, everything: bool = False) -> tuple[pd.DataFrame, str]:
        return self.runs, "block 0: search"

    @property
    def report_file(self) -> Path:
        return self.folder.report

    def evidence(self) -> Evidence:
        kept = self.within  # beyond the limit schedules are not kept by intention
        return Evidence(
            kicker=f"find-max {self.limit}",
            manifests=[manifest for _, manifest in kept],
            environment=environment(kept[-1][1], known_settings(kept[-1][0])) if kept else [],
            journal=[frame_table(self.runs, "The runs in their order (block 0: search)")],
        )

    @property
    def within(self) -> list[Finished]:
        """The runs in which the limit held."""
        return readable([one.result.folder for one in self.made if one.within])

    @property
    def _newest(self) -> Manifest:
        return self.made[-1].result.manifest


class MaxRateVerbs(RunVerbs):
    """Verbs that search for the highest rate."""

    def plan_max_rate(
        self,
        target: Target | str,
        limit: Limit | str,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        *,
        blocks: int = SEARCH_BLOCKS,
        label: str | None = None,
        preparation: Preparation | None = None,
    ) -> MaxRatePlan:
        """Plan a search, which ``find_max`` executes in this process, and ``start_experiment`` in one of its own.

        Args:
            target, workload, load: as for :func:`run`. Each run has a schedule of its own: its seed is that of the
                load plus its number. With a ``rate`` the search begins there, without the run in a closed loop.
            limit: the maximum of a quantile of the response time of the headline's operation, such as ``p95=20ms``.
            blocks: the number of runs at each rate, at least 2.
            label: a word, the label of the runs. By default the search's id.
            preparation: how the server is prepared before each run; by default as in a sweep.

        Raises:
            InputError: the limit or the load is not possible.

        Example:
            >>> hdbkit.start_experiment(hdbkit.plan_max_rate("lab", "p95=20ms")).wait().rate  # doctest: +SKIP
        """
        wanted, experiment_id = Limit.given(limit), new_experiment_id(datetime.now(UTC), "find-max")
        require_word(label or experiment_id)
        if blocks < MIN_SEARCH_BLOCKS:
            raise InputError(f"give {MIN_SEARCH_BLOCKS} blocks or more, not {blocks}")
        at, asked = self.target(target), specification(workload)
        _require_open_loop(asked, load or default_load(at))
        spec, base = settled(self, at, asked, load or default_load(at))
        return with_first_run(
            MaxRatePlan(
                experiment_id=experiment_id,
                configurations=(),
                runs=(),
                target=at,
                workload=spec,
                load=base,
                limit=wanted,
                blocks=blocks,
                label=label or experiment_id,
                prepared=preparation or Preparation(),
            )
        )

    @executing(plan_max_rate, MaxRatePlan)
    def find_max(self, folder: ExperimentFolder) -> MaxRate:
        """Find the highest rate of an open loop at which a limit on the response time holds.

        Runs at doubled or halved rates bracket the limit and bisect the bracket, from half of what a first run in a
        closed loop reaches. Then each block has a run at each of four rates around that place, in random order; the
        result and its interval come from the blocks alone (``analysis.statistics.limit_search`` states the method).
        The arguments are those of :func:`plan_max_rate`.

        Raises:
            InputError: the limit, the load or a run is not possible.
            ExperimentFailed: a run failed; ``resume_experiment`` continues.
            SearchFailed: the limit holds at every rate, or at none.
            KeyboardInterrupt: stopped; ``resume_experiment`` continues.

        Example:
            >>> found = hdbkit.find_max("lab", "p95=20ms", load=hdbkit.Load(virtual_users=50))  # doctest: +SKIP
            >>> found.rate, found.low, found.high  # doctest: +SKIP
        """
        plan = folder.read_plan(MaxRatePlan)
        manifests = manifests_of(plan, folder)
        found = outcome_of(plan, manifests) if manifests else None
        if found is None or found.next is not None:
            raise InputError(
                f"{folder.experiment_id} has not found the rate yet; continue it with: hdbkit resume "
                f"{folder.experiment_id}"
            )
        results = (Result(RunFolder(folder.root / one.run_id), self) for one in manifests)
        made = [
            MaxRateRun(plan.limit, one.block, plan.rate(one), result)
            for one, result in zip(plan.runs, results, strict=True)
        ]
        return MaxRate(plan.limit, estimate_rate(found.blocks), made, folder, plan, self)


def _require_open_loop(spec: WorkloadSpec, load: Load) -> None:
    """Raise ``InputError`` if the rate of such runs cannot be searched."""
    work = workload_of(spec)
    base = work.load(load)
    if work.listed(base):
        raise InputError(f"users of {work.title} execute a list, at no rate; use another workload")
    for option in ("steps", "keying_and_thinking"):
        if getattr(base, option):
            raise InputError(f"find-max sets the rate of each run itself; omit {option}")
    work.load(base.with_(rate=base.rate or 1.0))  # a load without a rate of its own is an error now
    if base.iterations or base.latency_limit_ms:
        raise InputError("find-max needs whole windows and all operations; omit iterations and latency_limit_ms")
