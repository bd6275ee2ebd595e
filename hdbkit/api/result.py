"""What a run left, as DataFrames; and the list of all runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from hdbkit.analysis.run import quantiles
from hdbkit.analysis.run.records import read_table
from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.analysis.run.windows import window_of
from hdbkit.charts.chart import Chart
from hdbkit.charts.run_charts import run_charts
from hdbkit.config.metric import Metric
from hdbkit.errors import DamagedResult, InputError
from hdbkit.execution.handle import RunHandle
from hdbkit.report import run_card, run_report
from hdbkit.results.catalog import list_runs
from hdbkit.results.folder import RunFolder, find_run
from hdbkit.results.manifest import Manifest, Status
from hdbkit.workspace import DEFAULT, Workspace


class Result:
    """The result of one run; reads its folder and needs neither driver nor server."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.manifest: Manifest = folder.read()

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.manifest.run_id

    @property
    def summary(self) -> dict[str, Any]:
        """All figures of the measured window; empty when there was none."""
        return self.manifest.result

    @property
    def metric(self) -> Metric:
        """The metric of the run's workload: its name, its unit, and whether higher or lower is better."""
        return self.manifest.metric

    @property
    def metric_value(self) -> float | None:
        """The value of the run's metric; None when it is not known."""
        return self.summary.get("metric_value")

    @property
    def virtual_users(self) -> int:
        """How many virtual users it had."""
        return int(self.manifest.plan["load"]["virtual_users"])

    @property
    def latencies(self) -> pd.DataFrame:
        """A row a transaction: count, committed, failed, p50_us ... p999_us, max_us (service time)."""
        return pd.DataFrame.from_dict(self.summary.get("operations", {}), orient="index").rename_axis("operation")

    @property
    def checks(self) -> pd.DataFrame:
        """A row a check: name, passed (None: could not be decided), detail."""
        return pd.DataFrame(
            [check.model_dump() for check in self.manifest.checks], columns=["name", "passed", "detail"]
        )

    @property
    def doubts(self) -> list[str]:
        """What to know before believing that the run measured what was meant, one phrase each."""
        return list(run_warnings(self.manifest).values())

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.manifest.checks)

    @property
    def settings(self) -> pd.DataFrame:
        """The server's settings as read back at the start: value, unit, default, changed."""
        path = self.folder.settings
        try:
            return pd.DataFrame.from_dict(json.loads(path.read_bytes()), orient="index")
        except (OSError, ValueError, AttributeError) as error:
            raise DamagedResult(f"{path} cannot be read: {error}") from None

    def table(self, name: str) -> pd.DataFrame:
        """A table of the run folder: seconds, counters, host, server_host, clients, errors (see ARCHITECTURE.md)."""
        path = self.folder.table(name)
        if not path.is_file():
            raise InputError(f"run {self.run_id} has no table '{name}'")
        return read_table(path)

    def seconds(self) -> pd.DataFrame:
        """Count and exact p50_us, p95_us, p99_us by second and transaction."""
        return quantiles.by_second(self.folder, window_of(self.manifest))

    def charts(self) -> dict[str, Chart]:
        """The charts of its report: throughput, latency_over_time, latency and, if something failed, errors.

        With an agent also server_cpu, server_disks and server_network: what the database's host did.

        Raises:
            DamagedResult: there is no measured window, or a file cannot be read.

        Example:
            >>> hdbkit.result().charts()["throughput"].save("throughput.pdf")  # doctest: +SKIP
        """
        return {chart.key: chart for chart in run_charts(self.folder, self.manifest)}

    def report(self) -> Path:
        """Write the one-page report; where it is."""
        return run_report(self.folder)

    def tag(self, *tags: str, remove: bool = False) -> None:
        """Add tags to the run, or take them away; ``runs("tags like '%nightly%'")`` finds them.

        Raises:
            InputError: the run goes on, or a tag is no word.

        Example:
            >>> hdbkit.result().tag("nightly", "release-2")  # doctest: +SKIP
        """
        for tag in tags:
            if not re.fullmatch(r"[\w.:+-]+", tag):
                raise InputError(f"a tag is one word of letters, digits and . : + - _, not '{tag}'")
        kept = [tag for tag in self.folder.read().tags if tag not in tags]
        self._write(tags=kept if remove else [*kept, *dict.fromkeys(tags)])

    def note(self, text: str) -> None:
        """Keep a note with the run, in place of the one that is there. Raises ``InputError`` while the run goes on.

        Example:
            >>> hdbkit.result().note("with the new kernel")  # doctest: +SKIP
        """
        self._write(note=text)

    def remove(self) -> None:
        """Delete the run's folder for good. Raises ``InputError`` while the run goes on."""
        self._require_ended()
        shutil.rmtree(self.folder.path)

    def _write(self, **changes: Any) -> None:
        """Change what is not measured: the manifest has one writer, the supervisor while it lives and then this."""
        self._require_ended()
        self.manifest = self.folder.read().model_copy(update=changes)
        self.folder.write(self.manifest)

    def _require_ended(self) -> None:
        if not RunHandle(self.folder).status().ended:
            raise InputError(f"run {self.run_id} goes on; stop it first: hdbkit stop {self.run_id}")

    def _repr_html_(self) -> str:
        return run_card(self.manifest)

    def __repr__(self) -> str:
        value = "no measured window" if self.metric_value is None else self.manifest.metric.text(self.metric_value)
        return f"<Result {self.run_id}: {self.manifest.status.value}, {value}>"


def result(run_id: str = "last", *, workspace: Workspace | None = None) -> Result:
    """The result of a run, by its id, a unique part of it, a folder, or ``last``."""
    return Result(find_run((workspace or DEFAULT).results, run_id))


def runs(where: str | None = None, *, workspace: Workspace | None = None) -> pd.DataFrame:
    """All runs, newest first; ``where`` is a condition over the columns, such as ``virtual_users = 8``.

    Folders that cannot be read are left out; ``.attrs["damaged"]`` has a sentence for each of them.

    The status is that of now: a run whose supervisor died since is ``abandoned``.

    Raises:
        InputError: the condition is none, or names an unknown column.

    Example:
        >>> hdbkit.runs("label = 'nightly'")[["run_id", "metric_value"]]  # doctest: +SKIP
    """
    root = (workspace or DEFAULT).results
    listing = list_runs(root, where)
    listing.runs["status"] = [
        status if Status(status).ended else _status_now(RunFolder(root / run_id), status)
        for run_id, status in zip(listing.runs["run_id"], listing.runs["status"], strict=True)
    ]
    listing.runs.attrs["damaged"] = listing.damaged
    return listing.runs


def _status_now(folder: RunFolder, noted: str) -> str:
    try:
        return RunHandle(folder).status().value
    except DamagedResult:  # removed since it was listed
        return noted
