"""The view of a sweep in progress and of its result: progress bar, grid of runs, ranking, charts, answer.

Everything comes from the sweep's folder. Progress is read once a second; verdicts and charts are updated when a run
ends.
"""

from __future__ import annotations

import html
import math
import threading
from collections.abc import Callable
from typing import Any

import ipywidgets
import pandas as pd

from hdbkit import api
from hdbkit.analysis.sweep.looks import verdict_words
from hdbkit.analysis.wording import percent_within
from hdbkit.api import Workspace
from hdbkit.charts.chart import Chart
from hdbkit.charts.setting_charts import CURVE
from hdbkit.charts.sweep_charts import sweep_charts
from hdbkit.config.metric import Metric
from hdbkit.errors import HdbkitError
from hdbkit.results.experiment_folder import ENDED_EARLY
from hdbkit.results.manifest import Manifest
from hdbkit.text import all_per_s, duration_text, many, number
from hdbkit.widgets.parts.base import Panel, State
from hdbkit.widgets.parts.chart_box import ChartBox
from hdbkit.widgets.parts.layout import html_table
from hdbkit.widgets.parts.links import ReportLink
from hdbkit.widgets.parts.run_words import silence

MAX_ROWS = 40
"""Configurations that the grid shows; the ranking and the report have all."""
_LOOK_S = 1.0
_STYLES = {"done": "success", "failed": "danger", "killed": "danger", "stopped": "warning"}
_MARKS = {"planned": "·", "running": "▶ runs", "failed": "✕ failed", "missing": "missing"}
_END_CHARTS = (
    "configurations",
    "effects",
    "grid",
    "interactions",
    "scaling",
    "parallel",
    "pareto",
    "pairs",
    "counters",
    "slices",
    "ratios",
    "profile",
)


Ended = Callable[[api.SweepResult | None, Exception | None], None]
"""Called at the end of a sweep with its result and its error."""


class SweepView:
    """The widgets that show one sweep; ``panel`` has the state line and the timer."""

    def __init__(self, panel: Panel) -> None:
        self._panel, self._live = panel, LiveLine(panel.workspace)
        self._drawing = threading.Lock()
        self._seen = -1
        self.stopping = ""
        """What a stop that was asked for waits for; it is shown until the sweep has ended."""
        self.bar = ipywidgets.IntProgress(min=0, max=1, layout=ipywidgets.Layout(width="auto", max_width="720px"))
        self.outcome, self.ranking, self.grid = (ipywidgets.HTML() for _ in range(3))
        self.charts = ChartBox(panel)
        self.report = ReportLink(panel)
        self.box = ipywidgets.VBox(
            [self.bar, self.outcome, self.report.box, self.ranking, self.charts.box, self.grid]
        )
        self.box.layout.display = "none"

    def watch(self, running: api.RunningExperiment[api.SweepResult], ended: Ended) -> None:
        """Show a sweep from now on; call ``ended`` at its end with its result and its error."""
        for part in (self.outcome, self.ranking, self.grid):
            part.value = ""
        self.charts.show()
        self.report.hide()
        self.bar.value, self.bar.bar_style, self._seen, self.stopping = 0, "", -1, ""
        self.box.layout.display = ""

        def look() -> bool:
            try:
                return self._look(running, ended)
            except Exception as error:
                self.close()
                ended(None, error)
                return True

        self._panel.every(_LOOK_S, look)

    def close(self) -> None:
        """Close the view of the current run; the sweep continues."""
        self._live.close()

    def _look(self, running: api.RunningExperiment[api.SweepResult], ended: Ended) -> bool:
        """Show the progress; whether the sweep has ended. Verdicts and charts are made in a thread, one at a time."""
        now = running.progress()
        self.bar.max, self.bar.value = max(now.total, 1), now.ended_runs
        self.bar.bar_style = _STYLES.get(now.status.value, "")
        live = self._live.words(now)
        at_end = State.DONE if now.status.value == "done" else State.STOPPED
        stopping = "" if now.status.ended else self.stopping
        words = " | ".join(filter(None, [progress_words(now), live, stopping]))
        self._panel.say(words, at_end if now.status.ended else State.BUSY)
        if now.status.ended:
            self.close()
            self._panel.in_background(lambda: self._end(running, ended))
        elif now.ended_runs != self._seen and self._drawing.acquire(blocking=False):
            self._seen = now.ended_runs
            self._panel.in_background(lambda: self._draw_so_far(running.result))
        return now.status.ended

    def _draw_so_far(self, result: api.SweepResult) -> None:
        """The grid, and the ranking and charts that read no single operations, over the finished runs."""
        try:
            self.grid.value = grid_html(result.runs, result.verdicts, result.plan.metric)
            there = result.verdicts.query("runs > 0")
            if len(there):
                self.ranking.value = ranking_html(there, result.plan.metric)
                self.charts.show(_charts_so_far(result, there))
        finally:
            self._drawing.release()

    def _end(self, running: api.RunningExperiment[api.SweepResult], ended: Ended) -> None:
        """Show the whole result; ``ended`` is called in any case."""
        result: api.SweepResult | None = None
        failure: Exception | None = None
        try:
            with self._drawing:
                result = running.result
                self._show_whole(result)
            running.wait()
        except Exception as error:
            failure = error
        ended(result, failure)

    def _show_whole(self, result: api.SweepResult) -> None:
        self.grid.value = grid_html(result.runs, result.verdicts, result.plan.metric)
        if (result.runs["status"] == "done").any():
            self.outcome.value, self.ranking.value = (
                answer_html(result),
                ranking_html(result.verdicts, result.plan.metric),
            )
            self.charts.show(_charts_at_the_end(result))
            self.report.show(result.report)


def _charts_at_the_end(result: api.SweepResult) -> list[Chart]:
    drawn = result.charts()
    curves = [chart for key, chart in drawn.items() if key.startswith(CURVE)]
    return [*(drawn[key] for key in _END_CHARTS if key in drawn), *curves]


def _charts_so_far(result: api.SweepResult, verdicts: pd.DataFrame) -> list[Chart]:
    """The charts that read no single operations."""
    spec = result.plan.spec
    drawn = sweep_charts(
        result.runs, verdicts, result.effects, list(spec.grid), spec.smallest_effect, result.plan.metric
    )
    return [chart for chart in drawn if chart.key in ("configurations", "effects")]


class LiveLine:
    """The state of the current run, in a few words."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._run_id = workspace, ""
        self._view: api.LiveView | None = None
        self._manifest: Manifest | None = None

    def words(self, now: api.ExperimentProgress) -> str:
        """Rate and p95 of the headline operation, or what of the lists is finished; errors. Empty between runs."""
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
        if tick.status.ended or self._manifest is None:
            return ""
        if tick.in_lists:
            return tick.in_lists.text(tick.noun)
        if not tick.p95_us:
            return f"{tick.status.value}{silence(tick, self._manifest)}"
        p95_ms = tick.p95_us.get(tick.headline, math.nan) / 1000
        rate = f"{tick.metric.text(tick.metric_value)}, {all_per_s(tick.operations_per_s, tick.noun)}"
        return f"{tick.status.value}: {rate}, p95 {p95_ms:.2f} ms ({tick.time} time), {tick.failed} errors"

    def close(self) -> None:
        """Close the view of the last run."""
        if self._view is not None:
            self._view.close()
        self._run_id, self._view = "", None


def progress_words(now: api.ExperimentProgress) -> str:
    """The progress of the sweep in a sentence."""
    if now.status.ended:
        end = f"{now.status.value}: {now.done} of {now.total} runs done"
        early = f", {now.ended_early} ended early" if now.ended_early else ""
        failed = f", {now.failed} failed" if now.failed else ""
        return f"{end}{early}{failed}{'; ' + now.note if now.note else ''}"
    left = (
        "the time left is known after the first run"
        if now.left_s is None
        else f"about {duration_text(now.left_s)} left"
    )
    one = now.planned
    if one is None:
        return f"saving the server's settings, then {now.total} runs in {now.blocks} blocks; {left}"
    users = many(one.virtual_users, "user")
    return f"block {one.block} of {now.blocks}, run {one.number} of {now.total} ({users}, {now.described}); {left}"


def answer_html(result: api.SweepResult) -> str:
    """The sweep's answer, its warnings, the next steps, whether the server is restored, and the workload's notice."""
    advice = "".join(f"<p>{html.escape(line)}</p>" for line in result.advice.splitlines())
    small = html.escape(f"Sweep {result.experiment_id}. {result.notice}")
    back = f"<p>{html.escape(result.restored)}</p>" if result.restored else ""
    return f"<p><b>{html.escape(result.answer)}</b></p>{advice}{back}<p><small>{small}</small></p>"


def ranking_html(verdicts: pd.DataFrame, metric: Metric) -> str:
    """Configurations from the best to the worst, each with its interval against the baseline."""
    scored = verdicts.assign(score=metric.score(verdicts["metric_value"]))
    ordered = scored.sort_values(["virtual_users", "score"], ascending=[True, False], na_position="last")
    several = verdicts["virtual_users"].nunique() > 1
    heads = ["configuration", *(["users"] if several else []), metric.heading, "operations/s"]
    heads += ["against the baseline", "verdict", "runs"]
    rows = [
        [
            row["label"],
            *([row["virtual_users"]] if several else []),
            metric.number(row["metric_value"]) if math.isfinite(row["metric_value"]) else "",
            number(row["operations_per_s"], 3) if math.isfinite(row["operations_per_s"]) else "",
            _change(row, metric),
            row["sentence"].rpartition(": ")[2] if row["verdict"] == ENDED_EARLY else verdict_words(row),
            row["runs"],
        ]
        for row in ordered.to_dict("records")
    ]
    return html_table(heads, rows, "Ranking over the finished runs, with simultaneous 95 % intervals")


def _change(row: dict[Any, Any], metric: Metric) -> str:
    if row["verdict"] == "baseline" or not math.isfinite(row["ratio"]):
        return ""
    return percent_within(row["ratio"], row["low"], row["high"], metric)


def grid_html(runs: pd.DataFrame, verdicts: pd.DataFrame, metric: Metric) -> str:
    """A row per configuration and count of virtual users, a column per block; each run by its result or its state."""
    labels = dict(zip(verdicts["configuration"], verdicts["label"], strict=True))
    blocks = sorted(runs["block"].unique())
    places = sorted({(int(u), int(c)) for u, c in zip(runs["virtual_users"], runs["configuration"], strict=True)})
    cells = {(row.virtual_users, row.configuration, row.block): _cell(row, metric) for row in runs.itertuples()}
    rows = [
        [labels[configuration], users, *(cells.get((users, configuration, block), "") for block in blocks)]
        for users, configuration in places[:MAX_ROWS]
    ]
    more = f"; {len(places) - MAX_ROWS} more rows are in the report" if len(places) > MAX_ROWS else ""
    return html_table(
        ["configuration", "users", *(f"block {one}" for one in blocks)], rows, f"{metric.name} of each run{more}"
    )


def _cell(row: Any, metric: Metric) -> str:
    return metric.number(row.metric_value) if row.status == "done" else _MARKS.get(row.status, row.status)
