"""Progress on the screen: lines of a run and of a sweep, the progress bar of a build."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from hdbkit.analysis.wording import about
from hdbkit.api import Running
from hdbkit.cli.show import notes
from hdbkit.execution.handle import RunHandle
from hdbkit.execution.live import LiveView
from hdbkit.experiment import EventKind, ExperimentEvent
from hdbkit.loading import Stage
from hdbkit.results.journal import RESTORED
from hdbkit.results.manifest import Status
from hdbkit.text import all_per_s

_EVERY_S = 5.0


class RunLines:
    """A line every 5 s for one run after another: elapsed time, rate, p95 of the headline operation, errors.

    With a schedule, or several sessions in a process: also offered rate, lateness, backlog, busy sessions.

    Where users have lists of operations: elapsed time, and what of them is finished, failed and running.
    A line above the first states what the figures are; it is repeated when that changes.
    """

    def __init__(self) -> None:
        self._run_id = ""
        self._due = 0.0
        self._view: LiveView | None = None
        self._about = ""
        self._warned: set[str] = set()

    @property
    def run_id(self) -> str:
        """The run that was looked at last; empty if there was none."""
        return self._run_id

    def __enter__(self) -> RunLines:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the files of the last run."""
        if self._view:
            self._view.close()
            self._view = None

    def __call__(self, running: Running | RunHandle) -> None:
        """Look at the run, and print a line when it is due."""
        if running.run_id != self._run_id:
            self.close()
            self._run_id, self._due = running.run_id, time.monotonic() + _EVERY_S
            self._warn(running.warnings)
        if time.monotonic() < self._due:
            return
        self._due += _EVERY_S
        self._view = self._view or running.live()
        tick = self._view.tick()
        if tick.status not in (Status.RAMPUP, Status.MEASURING):
            notes.print(f"  {tick.elapsed_s:6.1f} s  {tick.status.value}  {tick.doing}".rstrip(), markup=False)
            return
        if tick.in_lists:
            notes.print(f"  {tick.elapsed_s:6.1f} s  {tick.in_lists.text(tick.noun)}", markup=False)
            return
        described = f"  {about(tick.metric)}; p95: 95 % quantile of the {tick.time} time of {tick.headline}"
        if described != self._about:
            self._about = described
            notes.print(described, markup=False)
        p95_ms = tick.p95_us.get(tick.headline, float("nan")) / 1000
        notes.print(
            f"  {tick.elapsed_s:6.1f} s  {tick.status.value:9}  {tick.metric.text(tick.metric_value):>16}  "
            f"{all_per_s(tick.operations_per_s, tick.noun)}  p95 {p95_ms:7.2f} ms  errors {tick.failed}"
            + (f"  {tick.schedule.text}" if tick.schedule else ""),
            markup=False,
        )

    def _warn(self, warnings: Sequence[str]) -> None:
        """Print what was not printed for an earlier run of the same sweep."""
        for warning in warnings:
            if warning not in self._warned:
                notes.print(f"  [yellow]warning[/]: {escape(warning)}")
        self._warned.update(warnings)


class BuildBar:
    """The progress bar of a build, with rows per second and time left."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("  {task.description:10}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=notes,
        )
        self._task = self._bar.add_task("build", total=None, rate="")
        self._started = time.monotonic()
        self._first_rows: int | None = None

    def __enter__(self) -> BuildBar:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._bar.live.is_started:
            self._bar.stop()

    def stage(self, stage: Stage) -> None:
        """A step begins; the bar appears with the first, so that an error before it stands alone."""
        self._bar.start()
        self._bar.update(self._task, description="built" if stage is Stage.DONE else stage.value)
        if stage is Stage.DONE:
            self._bar.stop()

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        """Rows are loaded."""
        if self._first_rows is None:
            self._first_rows, self._started = rows, time.monotonic()
        elapsed_s = max(time.monotonic() - self._started, 1e-3)
        rate = f"{(rows - self._first_rows) / elapsed_s:,.0f} rows/s, {size_bytes / elapsed_s / 1e6:,.0f} MB/s"
        self._bar.update(self._task, completed=rows, total=total_rows, rate=rate)

    def checking(self, what: str) -> None:
        """A statement of a check is sent."""
        self._bar.update(self._task, rate=what)


class ExperimentLines:
    """A line per finished run of an experiment, and per change of a server."""

    def __call__(self, step: ExperimentEvent) -> None:
        """Print what has just happened."""
        if step.kind in (EventKind.SETTLED, EventKind.WAITING, EventKind.DECIDED, EventKind.SPENT):
            notes.print(f"  {escape(step.note)}")
        elif step.kind is EventKind.RESTORED:
            notes.print(f"  {escape(step.note or RESTORED)}")
        elif step.kind in (EventKind.FINISHED, EventKind.ENDED_EARLY, EventKind.FAILED) and step.planned:
            notes.print(f"  run {step.planned.number:3} of {step.total}  {escape(_outcome(step))}")


def _outcome(step: ExperimentEvent) -> str:
    planned, manifest = step.planned, step.manifest
    assert planned is not None
    place = f"block {planned.block}  {planned.virtual_users} users"
    if step.kind is EventKind.FAILED:
        return f"{place}  {step.described}  FAILED: {step.note}"
    result, value = (manifest.result, manifest.metric_value) if manifest else (None, None)
    shown = manifest.metric.text(value) if manifest and value is not None else "no result"
    all_types = result and result.operations_per_s
    if manifest and all_types is not None:
        shown += f"  {all_per_s(all_types, manifest.noun)}"
    unusable = result and result.slices and result.slices.unusable
    added = [f"not used: {unusable}"] if unusable else []
    return "  ".join([place, f"{shown:>16}", step.described, *added, *([step.note] if step.note else [])])
