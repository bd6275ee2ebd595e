"""All panels in tabs, with the runs and sweeps in progress on top."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import ClassVar

import ipywidgets

from hdbkit.api import DEFAULT, Workspace
from hdbkit.config import Target
from hdbkit.widgets.panels.compare import ComparePanel
from hdbkit.widgets.panels.max_rate import MaxRatePanel
from hdbkit.widgets.panels.run import RunPanel
from hdbkit.widgets.panels.runs import RunsPanel
from hdbkit.widgets.panels.schema import SchemaPanel
from hdbkit.widgets.panels.sweep import SweepPanel
from hdbkit.widgets.panels.target import TargetPanel
from hdbkit.widgets.parts.base import Panel, Shared
from hdbkit.widgets.parts.layout import button, row

_LOOK_S = 4.0
_NEWEST: dict[tuple[Path, Path], Workbench] = {}
"""The workbench of the last ``ui()`` for the results folder and targets file of a workspace."""


class Workbench(Panel):
    """The seven panels in tabs; they share target, workload, schema and the newest run."""

    title: ClassVar[str] = "hdbkit"

    def __init__(self, shared: Shared | None = None) -> None:
        super().__init__(shared)
        self.target = TargetPanel(self.shared)
        self.schema = SchemaPanel(self.shared)
        self.run = RunPanel(self.shared)
        self.max_rate = MaxRatePanel(self.shared)
        self.sweep = SweepPanel(self.shared)
        self.compare = ComparePanel(self.shared)
        self.runs = RunsPanel(self.shared)
        work: list[Panel] = [self.run, self.max_rate, self.sweep]
        self.panels: list[Panel] = [self.target, self.schema, *work, self.compare, self.runs]
        for panel in self.panels:
            panel.header.layout.display = "none"
            panel.slot = self.slot  # what a panel keeps for the notebook is kept where it is shown
        self.in_progress = ipywidgets.VBox().add_class("hdbkit-in-progress")
        self.tabs = ipywidgets.Tab([panel.root for panel in self.panels], titles=[one.title for one in self.panels])
        self.tabs.add_class("hdbkit-tabs")
        self.body.children = [self.in_progress, self.tabs]
        self.shared.observe(lambda _: self._open(self.compare), "compared")
        self._listed: list[str] = []
        self._looking = Lock()
        self.every(_LOOK_S, self.look)

    def look(self) -> None:
        """List the runs and sweeps in progress, whoever started them."""
        with self._looking:  # the ticker looks as well; an older list must not replace a newer one
            self._list()

    def _list(self) -> None:
        runs = [one.run_id for one in self.workspace.running_runs()]
        sweeps = [one.experiment_id for one in self.workspace.running_experiments()]
        if self._listed == [*sweeps, *runs]:
            return
        self._listed = [*sweeps, *runs]
        lines = [self._line("sweep", name, self._attach_sweep) for name in sweeps]
        self.in_progress.children = [*lines, *(self._line("run", name, self._attach_run) for name in runs)]

    def _line(self, what: str, name: str, attach: Callable[[str], None]) -> ipywidgets.Widget:
        note = ipywidgets.HTML(f"<span>The {what} <b>{name}</b> is in progress.</span>")
        return row(note, button("Attach", self.guarded(lambda: attach(name)), hint=f"watch this {what}"))

    def _attach_run(self, run_id: str) -> None:
        self.run.attach(run_id)
        self._open(self.run)

    def _attach_sweep(self, experiment_id: str) -> None:
        self.sweep.attach(experiment_id)
        self._open(self.sweep)

    def _open(self, panel: Panel) -> None:
        self.tabs.selected_index = self.panels.index(panel)

    def rest(self) -> None:
        """Stop listing runs in progress; the panels stay usable."""
        super().close()

    def close(self) -> None:
        """Stop the periodic work of all panels; their contents stay."""
        for panel in self.panels:
            panel.close()
        self.rest()


def ui(target: Target | str | None = None, *, workspace: Workspace | None = None) -> Workbench:
    """All panels in one cell, in tabs; runs in progress can be attached.

    Only the newest one of a workspace lists runs in progress, so that running the cell again leaves no work behind.

    Args:
        target: the target at first; a target, a URL without password, or a name in ``params/targets.yaml``.
        workspace: the workspace that the panels work in; by default that of this process.

    Example:
        >>> import hdbkit
        >>> hdbkit.ui("postgresql://bench@db1/tpcc")  # doctest: +SKIP
    """
    workspace = workspace or DEFAULT
    chosen = None if target is None else workspace.target(target)
    bench = Workbench(Shared(workspace=workspace))
    bench.shared.target = chosen
    folders = workspace.results, workspace.targets
    if folders in _NEWEST:
        _NEWEST[folders].rest()
    _NEWEST[folders] = bench
    return bench
