"""All panels in one place, with what is going on right now on top."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.config import Target
from hdbkit.widgets.panels.compare import ComparePanel
from hdbkit.widgets.panels.run import RunPanel
from hdbkit.widgets.panels.runs import RunsPanel
from hdbkit.widgets.panels.schema import SchemaPanel
from hdbkit.widgets.panels.sweep import SweepPanel
from hdbkit.widgets.panels.target import TargetPanel
from hdbkit.widgets.parts.base import Panel, Shared
from hdbkit.widgets.parts.layout import button, row

_LOOK_S = 4.0
_NEWEST: list[Workbench] = []
"""The bench of the last ``ui()``."""


class Workbench(Panel):
    """The six panels in tabs; they share target, schema and the newest run. What goes on is listed on top."""

    title: ClassVar[str] = "hdbkit"

    def __init__(self, shared: Shared | None = None) -> None:
        super().__init__(shared)
        self.target = TargetPanel(self.shared)
        self.schema = SchemaPanel(self.shared)
        self.run = RunPanel(self.shared)
        self.sweep = SweepPanel(self.shared)
        self.compare = ComparePanel(self.shared)
        self.runs = RunsPanel(self.shared)
        self.panels: list[Panel] = [self.target, self.schema, self.run, self.sweep, self.compare, self.runs]
        for panel in self.panels:
            panel.header.layout.display = "none"
            panel.slot = self.slot  # what a panel keeps for the notebook is kept where it is shown
        self.going_on = ipywidgets.VBox().add_class("hdbkit-going-on")
        self.tabs = ipywidgets.Tab([panel.root for panel in self.panels], titles=[one.title for one in self.panels])
        self.tabs.add_class("hdbkit-tabs")
        self.body.children = [self.going_on, self.tabs]
        self._listed: list[str] = []
        self._looking = Lock()
        self.every(_LOOK_S, self.look)

    def look(self) -> None:
        """List the runs and sweeps that are going on now, whoever started them."""
        with self._looking:  # the ticker looks as well: what it saw earlier must not be shown later
            self._list()

    def _list(self) -> None:
        runs = [one.run_id for one in api.running_runs()]
        sweeps = [one.sweep_id for one in api.running_sweeps()]
        if self._listed == [*sweeps, *runs]:
            return
        self._listed = [*sweeps, *runs]
        lines = [self._line("sweep", name, self._attach_sweep) for name in sweeps]
        self.going_on.children = [*lines, *(self._line("run", name, self._attach_run) for name in runs)]

    def _line(self, what: str, name: str, attach: Callable[[str], None]) -> ipywidgets.Widget:
        note = ipywidgets.HTML(f"<span>The {what} <b>{name}</b> is going on.</span>")
        return row(note, button("Attach", self.guarded(lambda: attach(name)), hint=f"watch this {what}"))

    def _attach_run(self, run_id: str) -> None:
        self.run.attach(run_id)
        self.tabs.selected_index = self.panels.index(self.run)

    def _attach_sweep(self, sweep_id: str) -> None:
        self.sweep.attach(sweep_id)
        self.tabs.selected_index = self.panels.index(self.sweep)

    def rest(self) -> None:
        """Look no more at what goes on; the panels stay usable, and watch on what they watch."""
        super().close()

    def close(self) -> None:
        """End what all panels do again and again; what they show stays."""
        for panel in self.panels:
            panel.close()
        self.rest()


def ui(target: Target | str | None = None) -> Workbench:
    """All panels in one cell: target, schema, run, sweep, compare and runs; running runs and sweeps can be attached.

    Only the newest one lists what goes on, so that a cell that is run again leaves nothing behind that looks.

    Args:
        target: what the panels begin with; a target, a URL without password, or a name in ``params/targets.yaml``.

    Example:
        >>> import hdbkit
        >>> hdbkit.ui("postgresql://bench@db1/tpcc")  # doctest: +SKIP
    """
    chosen = Target.parse(target) if isinstance(target, str) else target
    bench = Workbench()
    bench.shared.target = chosen
    while _NEWEST:
        _NEWEST.pop().rest()
    _NEWEST.append(bench)
    return bench
