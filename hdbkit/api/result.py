"""The result of a run as DataFrames."""

from __future__ import annotations

import copy
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdbkit.analysis.run import quantiles, records
from hdbkit.analysis.run.bottleneck import Bottleneck, bottleneck
from hdbkit.analysis.run.events import events
from hdbkit.analysis.run.records import executions, window_of
from hdbkit.analysis.run.tail_intervals import tail_intervals
from hdbkit.analysis.run.waits import slow_plans
from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.config.metric import Metric
from hdbkit.errors import InputError
from hdbkit.execution.handle import RunHandle
from hdbkit.execution.restoring import left_changed
from hdbkit.later import pandas as pd
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import QueryPlan, kept_settings, read_plans
from hdbkit.results.manifest import Annotation, Manifest
from hdbkit.results.run_result import Latencies, OperationResult, RunResult
from hdbkit.workspace import BareWorkspace

if TYPE_CHECKING:
    from hdbkit.charts.chart import Chart

_COUNTS = ("count", "committed", "rolled_back", "failed", "retries")


class Result:
    """The result of one run, read from its folder without driver or server."""

    def __init__(self, folder: RunFolder, workspace: BareWorkspace) -> None:
        self.folder, self._workspace = folder, workspace
        self.manifest: Manifest = RunHandle(folder).manifest()

    def with_manifest(self, manifest: Manifest) -> Result:
        """The same run with another manifest, such as one with the metric over some of its operations."""
        found = copy.copy(self)
        found.manifest = manifest
        return found

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.manifest.run_id

    @property
    def summary(self) -> RunResult:
        """All figures of the measured window.

        Raises:
            DamagedResult: the run has no measured window; ``manifest.result`` then is None.

        Example:
            >>> hdbkit.result().summary.client_cpu_us_per_operation  # doctest: +SKIP
        """
        return self.manifest.measured

    @property
    def metric(self) -> Metric:
        """The metric of the run's workload: its name, its unit, and whether higher or lower is better."""
        return self.manifest.metric

    @property
    def metric_value(self) -> float | None:
        """The value of the run's metric; None if it is unknown."""
        return self.manifest.metric_value

    @property
    def operations_per_s(self) -> float | None:
        """Completed operations of all types per second; None if they are unknown."""
        return self.manifest.result and self.manifest.result.operations_per_s

    @property
    def virtual_users(self) -> int:
        """The number of virtual users."""
        return self.manifest.plan.load.virtual_users

    @property
    def latencies(self) -> pd.DataFrame:
        """One row per operation: count, committed, failed, p50_us ... p999_us, max_us (service time)."""
        return self._by_operation({name: dict(line) for name, line in self.by_operation.items()}, _COUNTS)

    @property
    def response_times(self) -> pd.DataFrame:
        """One row per operation: count, p50_us ... p999_us, max_us, from the scheduled start.

        It has no rows where operations begin as soon as the previous one has ended.
        """
        lines = self.by_operation.items()
        kept = {name: {"count": line.count, **dict(line.response)} for name, line in lines if line.response}
        return self._by_operation(kept, ("count",))

    @property
    def by_operation(self) -> Mapping[str, OperationResult]:
        """The figures of each operation; none without a measured window."""
        return self.manifest.result.operations if self.manifest.result else {}

    @staticmethod
    def _by_operation(lines: Mapping[str, Mapping[str, Any]], counts: Sequence[str]) -> pd.DataFrame:
        columns = [*counts, *Latencies.model_fields]
        return pd.DataFrame([*lines.values()], index=pd.Index([*lines], name="operation"), columns=columns)

    def executions(self) -> pd.DataFrame:
        """One row per execution: operation, virtual_user, start_s, elapsed_s, outcome, error, and the details.

        Raises:
            DamagedResult: there is no measured window, or a file cannot be read.

        Example:
            >>> hdbkit.result().executions().query("outcome == 'failed'")  # doctest: +SKIP
        """
        return executions(self.folder, self.manifest)

    @property
    def checks(self) -> pd.DataFrame:
        """One row per check: name, passed (None: not decidable), detail."""
        return pd.DataFrame(
            [check.model_dump() for check in self.manifest.checks], columns=["name", "passed", "detail"]
        )

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt that the run measured what was intended, one phrase each."""
        return list(run_warnings(self.manifest))

    @property
    def bottleneck(self) -> Bottleneck | None:
        """What limits the run, what would change that, and what its clients could do; None: not known.

        Example:
            >>> hdbkit.result().bottleneck.resource  # doctest: +SKIP
        """
        return bottleneck(self.manifest)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.manifest.checks)

    @property
    def plans(self) -> dict[str, QueryPlan]:
        """The optimizer's plan of each query: ``text``, ``content`` (the engine's JSON), ``arguments``.

        Empty where the workload keeps none or the engine shows none. Raises ``DamagedResult``.

        Example:
            >>> print(hdbkit.result().plans["q05"].text)  # doctest: +SKIP
        """
        return read_plans(self.folder.plans)

    @property
    def slow_plans(self) -> pd.DataFrame:
        """The slowest execution of each statement that took ``slow_plans_ms`` or more, with the plan that ran.

        Columns: operation, ms, t_us (since the run's start), virtual_user, statement, plan. Empty without it.

        Example:
            >>> print(hdbkit.result().slow_plans.plan[0])  # doctest: +SKIP
        """
        return slow_plans(self.folder, self.manifest)

    @property
    def settings(self) -> pd.DataFrame:
        """The server's settings as read at the start of the run: value, unit, default, changed."""
        found = {name: one.model_dump() for name, one in kept_settings(self.folder).items()}
        return pd.DataFrame.from_dict(found, orient="index")

    def table(self, name: str) -> pd.DataFrame:
        """A table of the run folder, such as seconds, counters, host, server_host, clients (see docs/results.md)."""
        found = records.table(self.folder, name)
        if found is None:
            raise InputError(f"run {self.run_id} has no table '{name}'")
        return found

    @property
    def events(self) -> pd.DataFrame:
        """What happened in the run: time_s (since its start), kind (such as ``checkpoint``), text and source.

        ``Chart.mark`` draws them. Raises ``DamagedResult`` if there is no measured window.
        """
        return events(self.folder, self.manifest)

    @property
    def counters(self) -> pd.DataFrame:
        """The samples of the server's counters, a column each, by second since the start of the run.

        Raises:
            InputError: the run has no samples.
        """
        found = self.table("counters").assign(second=lambda rows: rows["t_returned_us"] / 1e6)
        return found.pivot_table("value", "second", "name", aggfunc="last").rename_axis(columns=None)

    def seconds(self) -> pd.DataFrame:
        """Operation by name, count n and exact p50_us, p95_us and p99_us per second of the window and operation."""
        found = quantiles.by_second(self.folder, window_of(self.manifest))
        return found.assign(operation=found["operation"].map(dict(enumerate(self.manifest.operations))))

    def tails(self) -> pd.DataFrame:
        """A row per operation and quantile (p95, p99): us, its 95 % interval low_us to high_us, operations beyond.

        Example:
            >>> hdbkit.result().tails()  # doctest: +SKIP
        """
        found = tail_intervals(self.folder, window_of(self.manifest), list(self.manifest.operations))
        rows = [
            {"operation": operation, "quantile": quantile, **asdict(tail)}
            for operation, quantiles_of in found.items()
            for quantile, tail in quantiles_of.items()
        ]
        return pd.DataFrame(rows, columns=["operation", "quantile", "us", "low_us", "high_us", "beyond"])

    def users(self) -> pd.DataFrame:
        """A row per virtual user and operation of the window: n, mean_us, exact p50_us, p95_us and p99_us, max_us.

        Example:
            >>> hdbkit.result().users().query("virtual_user == 3")  # doctest: +SKIP
        """
        found = quantiles.by_user(self.folder, window_of(self.manifest))
        return found.assign(operation=found["operation"].map(dict(enumerate(self.manifest.operations))))

    def charts(self) -> dict[str, Chart]:
        """The charts of its report: throughput, latency_over_time, latency and, if there were any, errors.

        Of the load host those that show something: host_cpu, host_cores, host_threads, host_switches, host_disks and
        host_network; with an agent the same of the database host: server_cpu and so on.

        Raises:
            DamagedResult: there is no measured window, or a file cannot be read.

        Example:
            >>> hdbkit.result().charts()["throughput"].save("throughput.pdf")  # doctest: +SKIP
        """
        from hdbkit.charts.run_charts import run_charts

        return {chart.key: chart for chart in run_charts(self.folder, self.manifest)}

    def report(self) -> Path:
        """Write the one-page report; return its path."""
        from hdbkit.report.run_report import run_report

        return run_report(self.folder)

    def tag(self, *tags: str, remove: bool = False) -> None:
        """Add tags to the run, or remove them; ``runs("tags like '%nightly%'")`` finds tagged runs.

        Raises:
            InputError: the run is still running, or a tag is not a single word.

        Example:
            >>> hdbkit.result().tag("nightly", "release-2")  # doctest: +SKIP
        """
        for tag in tags:
            if not re.fullmatch(r"[\w.:+-]+", tag):
                raise InputError(f"a tag is one word of letters, digits and . : + - _, not '{tag}'")
        kept = [tag for tag in self.folder.read().tags if tag not in tags]
        self._write(tags=kept if remove else [*kept, *dict.fromkeys(tags)])

    def note(self, text: str, at_s: float | None = None) -> None:
        """Set the note of the run, replacing the present one; with ``at_s``, that of a time, which is an event.

        ``at_s`` is in seconds since the run's start. An empty text removes the note of the run or of that time.
        Raises ``InputError`` while the run is running.

        Example:
            >>> hdbkit.result().note("backup began", at_s=12.5)  # doctest: +SKIP
        """
        if at_s is None:
            return self._write(note=text)
        if not math.isfinite(at_s):
            raise InputError(f"{at_s} is no time of a run; give seconds since its start")
        others = [one for one in self.folder.read().annotations if one.time_s != at_s]
        return self._write(annotations=[*others, *([Annotation(time_s=at_s, text=text)] if text else [])])

    def remove(self) -> None:
        """Delete the run's folder permanently. Raises ``InputError`` as :meth:`require_removable`."""
        self.require_removable()
        shutil.rmtree(self.folder.path)

    def require_removable(self) -> None:
        """Check that the run can be deleted.

        Raises:
            InputError: the run is running, has left changes that are to be undone, or its folder is not one of the
                results folder of its workspace.
        """
        self._require_ended()
        if left_changed(self.folder):
            raise InputError(f"run {self.run_id} left changes; undo them first: hdbkit recover {self.run_id}")
        path, results = self.folder.path, self._workspace.results
        if path.is_symlink() or path.parent.resolve() != results.resolve() or path.name != self.run_id:
            raise InputError(f"{path} is not a run in the results folder {results}; nothing was deleted")

    def _write(self, **changes: Any) -> None:
        """Change fields of the manifest, whose only other writer, the supervisor, must have ended."""
        self._require_ended()
        self.manifest = self.folder.read().model_copy(update=changes)
        self.folder.write(self.manifest)

    def _require_ended(self) -> None:
        if not RunHandle(self.folder).status().ended:
            raise InputError(f"run {self.run_id} is still running; stop it first: hdbkit stop {self.run_id}")

    def _repr_html_(self) -> str:
        from hdbkit.report.run_report import run_card

        return run_card(self.manifest)

    def _ipython_display_(self) -> None:
        from hdbkit.api.experiment_result import show

        show(self._repr_html_(), repr(self), self.charts)

    def __repr__(self) -> str:
        reason = (self.manifest.result and self.manifest.result.metric_unknown) or "no measured window"
        value = reason if self.metric_value is None else self.manifest.metric.text(self.metric_value)
        return f"<Result {self.run_id}: {self.manifest.status.value}, {value}>"
