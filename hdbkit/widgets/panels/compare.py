"""The compare panel: the charts, differences and verdict of groups of runs, or of one sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

import ipywidgets
import pandas as pd

from hdbkit import api
from hdbkit.charts.chart import Chart
from hdbkit.errors import InputError
from hdbkit.text import many
from hdbkit.widgets.parts.base import Panel, Shared, State
from hdbkit.widgets.parts.chart_box import ChartBox
from hdbkit.widgets.parts.compare_choice import RunsChoice
from hdbkit.widgets.parts.layout import button, row
from hdbkit.widgets.parts.links import ReportLink
from hdbkit.widgets.parts.newest_first import newest_first
from hdbkit.widgets.parts.python_code import call_code, first_lines
from hdbkit.widgets.parts.sweep_view import answer_html, ranking_html

_RUNS, _SWEEP = "Groups of runs", "A sweep"
_FIRST = "configurations"
"""The chart of a sweep that comes first."""
_OF_SIDES = ("changes", "ratios")
"""The charts of a comparison that charts of groups do not have."""


class ComparePanel(Panel):
    """Choose runs or a sweep from the catalog, and see which is better and by how much."""

    title: ClassVar[str] = "Compare"

    def __init__(self, shared: Shared | None = None) -> None:
        super().__init__(shared)
        self.mode = ipywidgets.ToggleButtons(options=[_RUNS, _SWEEP])
        self.choice = RunsChoice(self.guarded(self._show_call))
        self.sweep = ipywidgets.Dropdown(
            description="Sweep", layout=ipywidgets.Layout(width="100%", max_width="560px")
        )
        self.compare = button(
            "Compare", self.guarded(self.start), style="primary", hint="draw the chosen runs or sweep"
        )
        self.refresh = button("Refresh the list", self.guarded(self.load), hint="read the results folder again")
        self.outcome, self.charts, self.report = ipywidgets.HTML(), ChartBox(self), ReportLink(self)
        self.body.children = [
            self.mode,
            self.choice.box,
            self.sweep,
            row(self.compare, self.refresh),
        ]
        self.show_below(self.outcome, self.report.box, self.charts.box)
        self.mode.observe(self.guarded(self._show_mode), "value")
        self.sweep.observe(self.guarded(self._show_call), "value")
        self.shared.observe(self.guarded(lambda: self.in_background(self.load)), "finished")
        self.shared.observe(self.guarded(self._take), "compared")
        self._show_mode()
        self.guarded(self.load)()

    def load(self) -> None:
        """Read the catalog, the newest runs first."""
        newest_first(self, lambda within_s: self.workspace.runs(within_s=within_s), self._offer)

    def _offer(self, runs: pd.DataFrame) -> None:
        self.choice.load(runs)
        kept = self.sweep.value
        names = runs["experiment_id"].dropna().unique().tolist()
        self.sweep.options = names
        self.sweep.value = kept if kept in names else names[0] if names else None

    def _take(self) -> None:
        """Select the runs that another panel has chosen."""
        self.mode.value = _RUNS
        self.choice.take(self.shared.compared)

    def start(self) -> None:
        """Compare what is chosen, as the button does."""
        work = self._compare_runs() if self.mode.value == _RUNS else self._show_sweep()
        self.say("comparing ...", State.BUSY)
        self.compare.disabled = True

        def compare() -> None:
            try:
                self.say(work())
            except Exception:
                self.say("")
                raise
            finally:
                self.compare.disabled = False

        self.in_background(compare)

    def _compare_runs(self) -> Callable[[], str]:
        groups, sides = self.choice.groups, self.choice.sides
        if not groups:
            raise InputError("select runs in the list first")

        def work() -> str:
            comparison = self.workspace.compare(*sides) if sides else None
            card = comparison._repr_html_() if comparison else "<p>Only one group: nothing to compare it with.</p>"
            charts = self.workspace.overlay(groups)
            drawn = [*charts.values()]
            if comparison is not None:
                drawn[1:1] = [chart for key, chart in comparison.charts().items() if key in _OF_SIDES]
            self._show(card, drawn, comparison)
            return f"{many(sum(map(len, groups.values())), 'run')} in {many(len(groups), 'group')}"

        return work

    def _show_sweep(self) -> Callable[[], str]:
        experiment_id = self.sweep.value
        if experiment_id is None:
            raise InputError("the catalog has no sweep with a run")

        def work() -> str:
            result = self.workspace.sweep_result(experiment_id)
            drawn = sorted(result.charts().values(), key=lambda chart: chart.key != _FIRST)
            card = answer_html(result) + ranking_html(result.verdicts, result.plan.metric)
            self._show(card, drawn, result)
            return f"sweep {experiment_id}: {many(result.runs['number'].nunique(), 'run')}"

        return work

    def _show(self, card: str, charts: Iterable[Chart], of: api.Comparison | api.SweepResult | None) -> None:
        drawn = list(charts)
        self.outcome.value = card
        self.charts.show(drawn)
        self.report.hide()
        if of is not None:
            self.report.show(of.report)
        self.keep(card, drawn[0].image("png", title=True, dpi=110) if drawn else None)

    def _show_mode(self) -> None:
        runs = self.mode.value == _RUNS
        self.choice.box.layout.display = "" if runs else "none"
        self.sweep.layout.display = "none" if runs else ""
        self._show_call()

    def _show_call(self) -> None:
        first, workspace = first_lines(self.workspace), self.workspace
        if self.mode.value == _SWEEP:
            shown = call_code(workspace, "sweep_result", repr(self.sweep.value))
            self.show_call(first + shown if self.sweep.value else "")
            return
        groups = self.choice.groups
        lines = [f"    {name!r}: {ids!r}," for name, ids in groups.items()]
        sides = [f"groups[{side.value!r}]" for side in (self.choice.base, self.choice.new)]
        overlaid = f"charts = {call_code(workspace, 'overlay', 'groups')}"
        compared = [call_code(workspace, "compare", *sides)] if len(groups) > 1 else []
        code = [f"{first}groups = {{", *lines, "}", overlaid, *compared]
        self.show_call("\n".join(code) if groups else "")
