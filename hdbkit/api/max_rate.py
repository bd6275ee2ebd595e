"""Finds the highest rate of an open loop at which a limit on latency holds.

The runs are the journal: they have the search's label, and each next rate follows from the results of those before it
(``analysis.statistics.limit_search``). So the same call continues a search that was interrupted at any point.
"""

from __future__ import annotations

import math
import shlex
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from hdbkit.analysis.run.limits import Limit
from hdbkit.analysis.statistics.limit_search import MIN_BLOCKS, Estimate, LimitNotFound, Trial, estimate, search
from hdbkit.api.alternating import Settled, new_label, require_word
from hdbkit.api.result import Result
from hdbkit.api.running import OnTick, RunVerbs, default_load
from hdbkit.charts.chart import Chart
from hdbkit.charts.max_rate_chart import max_rate_chart
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.load import RateOf
from hdbkit.config.metric import Measure
from hdbkit.errors import InputError, RunFailed, SearchFailed
from hdbkit.plan import RunPlan
from hdbkit.report import max_rate_report
from hdbkit.results.catalog import runs_under
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Status
from hdbkit.text import exact_number, many, number, plural
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workspace import BareWorkspace

DEFAULT_BLOCKS = 5
_MAX_RATE = 1e7


@dataclass(frozen=True)
class MaxRateRun:
    """A finished run of a search; ``block`` is 0 before the blocks, ``rate`` None for the first run (closed loop)."""

    label: str
    limit: Limit
    block: int
    rate: float | None
    result: Result
    measured: bool
    """Whether it was measured now; else it was kept from before."""

    @property
    def value_ms(self) -> float:
        """The quantile of its response time in milliseconds; NaN in a closed loop, and if none was completed."""
        return math.nan if self.rate is None else self.limit.value_ms(self.result.manifest)

    @property
    def within(self) -> bool:
        """Whether the limit held."""
        return self.rate is not None and self.limit.excess(self.result.manifest) <= 0


OnMaxRateRun = Callable[[MaxRateRun], None]


@dataclass(frozen=True)
class MaxRate:
    """The highest rate at which the limit holds, in ``rate_of`` per second of all users, with its 95 % interval."""

    limit: Limit
    found: Estimate
    made: list[MaxRateRun]
    load: Load
    """The load without the rates and seeds of the runs."""
    workspace: BareWorkspace

    @property
    def rate(self) -> float:
        """The estimate."""
        return self.found.level

    @property
    def low(self) -> float | None:
        """The lower end of the interval, a rate that was measured; None if no rate certainly keeps the limit."""
        return self.found.low or None

    @property
    def high(self) -> float | None:
        """The upper end of the interval, a rate that was measured; None if no rate certainly exceeds the limit."""
        return self.found.high if math.isfinite(self.found.high) else None

    @property
    def label(self) -> str:
        """The label of its runs."""
        return self.made[0].label

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

    @property
    def answer(self) -> str:
        """The result in one sentence."""
        ends = [None if end is None else number(end) for end in (self.low, self.high)]
        if None in ends:
            interval = f"above {ends[0]}" if ends[0] else f"below {ends[1]}" if ends[1] else "unknown"
        else:
            interval = f"{ends[0]} to {ends[1]}"
        blocks = many(max(one.block for one in self.made), "block")
        return (
            f"The highest rate at which the {self.limit.quantile} of the response time of {self._newest.headline} "
            f"stays within {exact_number(self.limit.max_ms)} ms is {number(self.rate)} {self.counted} per second "
            f"(95 % confidence interval: {interval}; {blocks})."
        )

    @property
    def counted(self) -> str:
        """What the rate counts, in the plural."""
        of_metric = self._newest.plan["load"]["rate_of"] == RateOf.METRIC
        return f"{plural(self._newest.noun)} of the metric" if of_metric else plural(self._newest.noun)

    @property
    def command(self) -> str:
        """The command that prints the result again, and that continues or repeats the search."""
        plan = RunPlan.model_validate(self._newest.plan).model_copy(update={"load": self.load})
        words = [*shlex.split(plan.command), "--limit", self.limit.text, "--blocks", str(self.made[-1].block)]
        return shlex.join(["hdbkit", "find-max", *words[2:]])

    def charts(self) -> dict[str, Chart]:
        """The chart ``max_rate``: the rate of each run against its latency, with the limit and the interval."""
        limit, names = (self.limit.quantile, self.limit.max_ms), (self.counted, self._newest.headline)
        return {"max_rate": max_rate_chart(self.runs, self.found, limit, names, self.answer)}

    def report(self) -> Path:
        """Write the one-page report; return its path."""
        return max_rate_report(
            self.workspace.results / "max-rates" / f"{self.label}.html",
            answer=self.answer,
            command=self.command,
            found=(self.rate, self.low, self.high),
            limit=self.limit.text,
            counted=self.counted,
            runs=self.runs,
            charts=list(self.charts().values()),
            within=[one.result.folder for one in self.made if one.within],
        )

    @property
    def _newest(self) -> Any:
        return self.made[-1].result.manifest


class MaxRateVerbs(RunVerbs):
    """Verbs that search for the highest rate."""

    def find_max(
        self,
        target: Target | str,
        limit: str,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        *,
        blocks: int = DEFAULT_BLOCKS,
        label: str | None = None,
        watch: OnMaxRateRun = lambda _: None,
        watch_run: OnTick | None = None,
    ) -> MaxRate:
        """Find the highest rate of an open loop at which a limit on the response time holds.

        Runs at doubled or halved rates bracket the limit and bisect the bracket, from half of what a first run in a
        closed loop reaches. Then each block has a run at each of four rates around that place, in random order; the
        result and its interval come from the blocks alone (``analysis.statistics.limit_search`` states the method).

        Args:
            target, workload, load: as for :func:`run`. Each run has a schedule of its own: its seed is that of the
                load plus its number. With a ``rate`` the search begins there, without the run in a closed loop.
            limit: the maximum of a quantile of the response time of the headline's operation, such as ``p95=20ms``.
            blocks: the number of runs at each rate, at least 2.
            label: a word, the label of the runs. Runs that have it already and measured the same are kept, so the
                same call continues after an interruption. By default made of the time.
            watch: called after each run.
            watch_run: called several times per second with the present run.

        Raises:
            InputError: the limit, the load or a run is not possible.
            RunFailed: a run failed; finished runs are kept.
            SearchFailed: the limit holds at every rate, or at none.
            KeyboardInterrupt: stopped; finished runs are kept.

        Example:
            >>> found = hdbkit.find_max("lab", "p95=20ms", load=hdbkit.Load(virtual_users=50))  # doctest: +SKIP
            >>> found.rate, found.low, found.high  # doctest: +SKIP
        """
        wanted, label = Limit.parse(limit), label or new_label("find-max")
        require_word(label)
        if blocks < MIN_BLOCKS:
            raise InputError(f"give {MIN_BLOCKS} blocks or more, not {blocks}")
        at, spec = self.target(target), specification(workload)
        base = workload_of(spec).load(load or default_load(at))
        if workload_of(spec).listed(base):
            raise InputError(f"users of {workload_of(spec).title} execute a list, at no rate; use another workload")
        for option in ("steps", "keying_and_thinking"):
            if getattr(base, option):
                raise InputError(f"find-max sets the rate of each run itself; omit {option}")
        workload_of(spec).load(base.with_(rate=base.rate or 1.0))  # a load without a rate of its own is an error now
        if base.iterations or base.latency_limit_ms:
            raise InputError("find-max needs whole windows and all operations; omit iterations and latency_limit_ms")
        made = _Made(Settled(at, None if workload is None else spec, base), wanted, label, watch, watch_run, self)
        bounds = (wanted.min_operations / base.duration_s, _MAX_RATE)
        trials = search(base.rate or made.capacity() / 2, blocks, zlib.crc32(label.encode()), bounds)
        try:
            trial = next(trials)
            while True:
                trial = trials.send(made.excess(trial))
        except LimitNotFound as error:
            raise SearchFailed(_not_found(wanted, error)) from None
        except StopIteration as end:
            return MaxRate(wanted, estimate(end.value), made.runs, base, self)


def _not_found(limit: Limit, error: LimitNotFound) -> str:
    if error.within:
        return f"{limit.text} holds even at {number(error.level)} per second, the highest rate that is tried"
    return (
        f"{limit.text} does not hold even at {number(error.level)} per second, and at lower rates a window has "
        "too few operations; raise the limit, or lengthen the window"
    )


class _Made:
    """The runs of a search: those that are kept from before, then new ones."""

    def __init__(
        self, work: Settled, limit: Limit, label: str, watch: OnMaxRateRun, watch_run: OnTick | None, lab: RunVerbs
    ) -> None:
        self.runs: list[MaxRateRun] = []
        self._work, self._limit, self._label, self._lab = work, limit, label, lab
        self._watch, self._watch_run = watch, watch_run
        for one in lab.running_runs():
            if one.manifest.plan.get("label") == label:  # its search was killed
                with suppress(RunFailed):
                    one.wait(watch_run)
        found = [Result(RunFolder(lab.results / run_id), lab) for run_id in runs_under(lab.results, label)]
        self._kept = [one for one in reversed(found) if one.manifest.status is Status.DONE]

    def capacity(self) -> float:
        """The rate of a closed loop, in what the rate of an open loop counts."""
        done = self._run(0, None)
        metric = done.metric
        if self._work.load.rate_of is RateOf.METRIC and metric.measure is Measure.RATE and done.metric_value:
            return done.metric_value / metric.per_s
        return done.operations_per_s or 0.0

    def excess(self, trial: Trial) -> float:
        """What a trial found."""
        return self._limit.excess(self._run(trial.block, trial.level).manifest)

    def _run(self, block: int, rate: float | None) -> Result:
        own = self._work.load
        load = own.with_(rate=rate, seed=own.seed + len(self.runs))
        work = replace(self._work, load=load)
        result = next((one for one in self._kept if work.measured_by(_plan(one), load.virtual_users)), None)
        measured = result is None
        if result is None:
            result = self._lab.run(work.target, work.workload, load, label=self._label, watch=self._watch_run)
        else:
            self._kept.remove(result)
        if result.manifest.status is Status.STOPPED:
            raise KeyboardInterrupt(f"{result.run_id} was stopped, which also stops the search")
        self.runs.append(MaxRateRun(self._label, self._limit, block, rate, result, measured))
        self._watch(self.runs[-1])
        return result


def _plan(one: Result) -> RunPlan:
    return RunPlan.model_validate(one.manifest.plan)
