"""The charts of a panel: a click on the dot of a run writes and links its report."""

from __future__ import annotations

import html
from collections.abc import Iterable

import ipywidgets

from hdbkit.charts.chart import Chart
from hdbkit.charts.view import ChartView
from hdbkit.widgets.parts.base import Panel
from hdbkit.widgets.parts.layout import row
from hdbkit.widgets.parts.links import FileLink


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
            self.link.offer("open its report", path.read_bytes(), "text/html", opens=True)
            self._line.children = (self.words, self.link)

        self._panel.in_background(work)
