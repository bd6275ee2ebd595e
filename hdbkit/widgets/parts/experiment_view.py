"""What is shown of an experiment of any kind: its progress, a grid of its runs, the result with charts and report.

Everything comes from its folder. Progress is read once a second; the result so far is updated when a run ends.
"""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.api import Workspace
from hdbkit.charts.chart import Chart
from hdbkit.charts.view import ChartView
from hdbkit.errors import HdbkitError, InputError
from hdbkit.experiment.kinds import kind_of
from hdbkit.later import pandas as pd
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.text import duration_text, many
from hdbkit.widgets.parts.base import Panel, State
from hdbkit.widgets.parts.layout import FileLink, ReportLink, html_table, row
from hdbkit.widgets.parts.run_view import Seen, doing

MAX_ROWS = 40
"""Rows that the grid shows; the report has all."""
_MARKS = {"planned": "·", "running": "▶ runs", "failed": "✕ failed", "missing": "missing"}
_FIRST = "configurations"
"""The chart of a sweep that comes first."""


class ExperimentView:
    """The widgets that show one experiment; ``panel`` has the errors and the timer."""

    period_s: ClassVar[float] = 1.0

    def __init__(self, panel: Panel) -> None:
        self._panel, self._live = panel, LiveLine(panel.workspace)
        self._drawing, self._drawn, self._stopping = threading.Lock(), -1, ""
        self.outcome, self.grid = ipywidgets.HTML().add_class("hdbkit-outcome"), ipywidgets.HTML()
        self.charts, self.report = ChartBox(panel), ReportLink(panel)
        self.why = ReportLink(panel, "Why faster?", "writes a page of the differences to the baseline and links it")
        links = self.report.box, self.why.box
        self.parts: list[ipywidgets.Widget] = [self.outcome, *links, self.charts.box, self.grid]

    def begin(self, running: api.RunningExperiment[Any]) -> str:
        """Show this experiment from now on."""
        self.outcome.value = self.grid.value = self._stopping = ""
        self.charts.show()
        self._hide_links()
        self._drawn = -1
        return running.experiment_id

    def look(self, running: api.RunningExperiment[Any]) -> Seen:
        """Show the progress; grid and result so far are made in a thread, one at a time."""
        now = running.progress()
        words = " | ".join(filter(None, [progress_words(now), self._live.words(now), self._stopping]))
        share = now.ended_runs / max(now.total, 1)
        if now.status.ended:
            done = State.DONE if now.status is api.ExperimentStatus.DONE else State.STOPPED
            return Seen(progress_words(now), share, state=done)
        if now.ended_runs != self._drawn and self._drawing.acquire(blocking=False):
            self._drawn = now.ended_runs
            self._panel.in_background(lambda: self._draw_so_far(running))
        return Seen(words, share, left_words(now))

    def end(self, running: api.RunningExperiment[Any]) -> api.ExperimentResult:
        """Show the whole result. Raises what the experiment failed with, and ``InputError`` without a result."""
        self.close()
        with self._drawing:
            self.grid.value = grid_html(running)
            try:
                result: api.ExperimentResult = running.result
                self.show(result)
            finally:
                running.wait()  # raises what it failed with rather than that it has no result
        return result

    def show(self, result: api.ExperimentResult) -> None:
        """Show a result with its charts and its report, and have the notebook keep it."""
        self.show_card(result._repr_html_(), result.charts().values(), result)

    def show_card(self, card: str, charts: Iterable[Chart], of: api.ExperimentResult | None) -> None:
        """Show a card with charts, and the report of a result."""
        drawn = sorted(charts, key=lambda one: one.key != _FIRST)
        self.outcome.value = card
        self.charts.show(drawn)
        self._hide_links()
        if of is not None:
            self.report.show(of.report)
        if of is not None and of.difference_report:
            self.why.show(of.difference_report)
        self._panel.keep(card, drawn[0].image("png", title=True, dpi=110) if drawn else None)

    def _hide_links(self) -> None:
        self.report.hide()
        self.why.hide()

    def stop(self, running: api.RunningExperiment[Any], again: bool) -> str:
        """Stop it as Ctrl-C does; it can be resumed."""
        self._stopping = f"stopping; this waits for {running.stops_after}"
        running.stop()
        return self._stopping

    def close(self) -> None:
        """Let go of the files of the present run."""
        self._live.close()

    def _draw_so_far(self, running: api.RunningExperiment[Any]) -> None:
        """The grid, and of the finished runs the result and the charts that read no single operations."""
        try:
            self.grid.value = grid_html(running)
            try:
                result = running.result
                self.outcome.value = result._repr_html_()
            except InputError:  # there is none yet
                return
            self.charts.show(result.charts_so_far())
        finally:
            self._drawing.release()


class LiveLine:
    """The state of the current run, in a few words."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._run_id = workspace, ""
        self._view: api.LiveView | None = None
        self._manifest: Manifest | None = None

    def words(self, now: api.ExperimentProgress) -> str:
        """What the present run does; empty between runs."""
        if now.status.ended or not now.run_id:
            self.close()
            return ""
        try:
            if self._view is None or now.run_id != self._run_id:
                self.close()
                running = self._workspace.attach(now.run_id)
                self._view, self._manifest, self._run_id = running.live(), running.manifest, now.run_id
            tick = self._view.tick()
        except HdbkitError:  # the folder is not there yet
            return ""
        return "" if tick.status.ended or self._manifest is None else doing(tick, self._manifest)

    def close(self) -> None:
        """Close the view of the last run."""
        if self._view is not None:
            self._view.close()
        self._run_id, self._view = "", None


def progress_words(now: api.ExperimentProgress) -> str:
    """What the experiment does, or how it ended."""
    if now.status.ended:
        end = f"{now.status.value}: {now.done} of {now.total} runs done"
        early = f", {now.ended_early} ended early" if now.ended_early else ""
        failed = f", {now.failed} failed" if now.failed else ""
        return f"{end}{early}{failed}{'; ' + now.note if now.note else ''}"
    one = now.planned
    if one is None:
        return f"preparing the first of {many(now.total, 'run')} in {many(now.blocks, 'block')}"
    what = ", ".join(filter(None, [many(one.virtual_users, "user"), now.described]))
    return f"block {one.block} of {now.blocks}, run {one.number} of {now.total} ({what})"


def left_words(now: api.ExperimentProgress) -> str:
    """The time left, as far as it is known."""
    known = now.left_s is not None
    return f"about {duration_text(now.left_s or 0.0)} left" if known else "time left known after the first run"


def grid_html(running: api.RunningExperiment[Any]) -> str:
    """A row per configuration and count of virtual users, a column per block; each run by its result or its state."""
    plan, folder = running.plan, running.folder
    labels = {at: ", ".join(f"{k}={v}" for k, v in one.items()) for at, one in enumerate(plan.configurations)}
    figure = kind_of(plan).figure(plan)

    def text(row: Any) -> str:
        return figure.text(RunFolder(folder.root / row.run_id), row.metric_value)

    return runs_table(runs_frame(folder), labels, text, figure.heading)


def runs_table(runs: pd.DataFrame, labels: Mapping[int, str], figure: Callable[[Any], str], what: str) -> str:
    """The grid of a frame of runs; ``figure`` is the text of a finished run."""
    blocks = sorted(runs["block"].unique())
    places = sorted({(int(u), int(c)) for u, c in zip(runs["virtual_users"], runs["configuration"], strict=True)})
    cells = {
        (row.virtual_users, row.configuration, row.block): figure(row)
        if row.status == "done"
        else _MARKS.get(str(row.status), str(row.status))
        for row in runs.itertuples()
    }
    rows = [
        [labels[configuration], users, *(cells.get((users, configuration, block), "") for block in blocks)]
        for users, configuration in places[:MAX_ROWS]
    ]
    more = f"; {len(places) - MAX_ROWS} more rows are in the report" if len(places) > MAX_ROWS else ""
    heads = ["configuration", "users", *(f"block {one}" if one else "search" for one in blocks)]
    return html_table(heads, rows, f"{what} of each run{more}")


class ChartBox:
    """Shows charts in ``box``; the line about the run whose dot was clicked stays in sight above them."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self.view = ChartView(opened=self._open)
        self.words, self.link = ipywidgets.HTML().add_class("hdbkit-note"), FileLink()
        self._line = row(self.words, self.link).add_class("hdbkit-opened")
        self._line.layout.display = "none"
        self.box = ipywidgets.VBox([self._line, self.view])

    def show(self, charts: Iterable[Chart] = ()) -> None:
        """Show these charts in place of those that are shown; none by default."""
        self._line.layout.display = "none"
        self.view.show(charts)

    def _open(self, run_id: str) -> None:
        self.words.value = f"Run {html.escape(run_id)}: writing its report ..."
        self._line.children = (self.words,)
        self._line.layout.display = ""

        def work() -> None:
            path = self._panel.workspace.result(run_id).report()
            self.words.value = f"Run {html.escape(run_id)}:"
            self.link.offer_report("open its report", path)
            self._line.children = (self.words, self.link)

        self._panel.in_background(work)
