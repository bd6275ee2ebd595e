"""All panels in tabs, with what is in progress on top."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import ipywidgets

from hdbkit.api import DEFAULT, Running, Workspace
from hdbkit.config import Target
from hdbkit.errors import InputError
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.widgets.panels.compare import ComparePanel
from hdbkit.widgets.panels.experiment import ExperimentPanel
from hdbkit.widgets.panels.loads import MaxRatePanel, ProfilePanel, RunPanel
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
    """The eight panels in tabs; they share target, workload, schema and the newest run."""

    title: ClassVar[str] = "hdbkit"

    def __init__(self, shared: Shared | None = None) -> None:
        super().__init__(shared)
        self.target = TargetPanel(self.shared)
        self.schema = SchemaPanel(self.shared)
        self.run = RunPanel(self.shared)
        self.max_rate = MaxRatePanel(self.shared)
        self.profile = ProfilePanel(self.shared)
        self.sweep = SweepPanel(self.shared)
        self.compare = ComparePanel(self.shared)
        self.runs = RunsPanel(self.shared)
        self.work: list[ExperimentPanel[Any]] = [self.run, self.max_rate, self.profile, self.sweep]
        self.panels: list[Panel] = [self.target, self.schema, *self.work, self.compare, self.runs]
        for panel in self.panels:
            panel.header.layout.display = "none"
            panel.slot = self.slot  # what a panel keeps for the notebook is kept where it is shown
        self.others = ipywidgets.HTML().add_class("hdbkit-note")
        shape = ipywidgets.Layout(width="auto", max_width="420px")
        self.choose = ipywidgets.Dropdown(description="Watch", layout=shape, style={"description_width": "initial"})
        self.attach = button("Attach", self.guarded(self._attach), hint="watch it in its panel")
        self.in_progress = row(self.others, self.choose, self.attach).add_class("hdbkit-in-progress")
        self.tabs = ipywidgets.Tab([panel.root for panel in self.panels], titles=[one.title for one in self.panels])
        self.tabs.add_class("hdbkit-tabs")
        self.body.children = [self.in_progress, self.tabs]
        self.shared.observe(lambda _: self._open(self.compare), "compared")
        self._looking = Lock()
        self.attach.disabled = True
        self.every(_LOOK_S, self.look)

    def look(self) -> None:
        """List the runs and experiments in progress, whoever started them."""
        with self._looking:  # the ticker looks as well; an older list must not replace a newer one
            self._list()

    def _list(self) -> None:
        experiments = [one.experiment_id for one in self.workspace.running_experiments()]
        alone = (one.run_id for one in self.workspace.running_runs() if _experiment_of(one) not in experiments)
        listed = (*experiments, *alone)
        self.others.value = f"In progress: {len(listed) or 'nothing'}"
        self.attach.disabled = not listed
        self.attach.tooltip = "watch it in its panel" if listed else "nothing is in progress"
        self.choose.layout.visibility = "visible" if listed else "hidden"
        if self.choose.options != listed:
            kept = self.choose.value
            self.choose.options = listed
            self.choose.value = kept if kept in listed else next(iter(listed), None)

    def _attach(self) -> None:
        """Watch the chosen run or experiment in the panel of its kind."""
        wanted = str(self.choose.value)
        plan: ExperimentPlan | None = None
        with suppress(InputError):  # it is a run
            plan = self.workspace.attach_experiment(wanted).plan
        of_kind = (panel for panel in self.work if isinstance(plan, panel.plans))
        panel = self.run if plan is None else next(of_kind, self.compare)
        panel.attach(wanted)
        self._open(panel)

    def _open(self, panel: Panel) -> None:
        self.tabs.selected_index = self.panels.index(panel)

    def rest(self) -> None:
        """Stop listing runs in progress; the panels stay usable."""
        super().close()

    def close(self) -> None:
        for panel in self.panels:
            panel.close()
        self.rest()


def _experiment_of(run: Running) -> str:
    """The id of the experiment that a run belongs to; empty for none."""
    place = run.manifest.plan.experiment
    return place.experiment_id if place else ""


def ui(target: Target | str | None = None, *, workspace: Workspace | None = None, panel: str = "Target") -> Workbench:
    """All panels in one cell, in tabs; runs in progress can be attached.

    Only the newest one of a workspace lists runs in progress, so that running the cell again leaves no work behind.

    Args:
        target: the target at first; a target, a URL without password, or a name in ``params/targets.yaml``.
        workspace: the workspace that the panels work in; by default that of this process.
        panel: the panel in front at first, by its title; an unknown one is the first.

    Example:
        >>> import hdbkit
        >>> hdbkit.ui("postgresql://bench@db1/tpcc")  # doctest: +SKIP
    """
    workspace = workspace or DEFAULT
    chosen = None if target is None else workspace.target(target)
    bench = Workbench(Shared(workspace=workspace))
    bench.shared.target = chosen
    bench.tabs.selected_index = next((i for i, one in enumerate(bench.panels) if one.title == panel), 0)
    folders = workspace.results, workspace.targets
    if folders in _NEWEST:
        _NEWEST[folders].rest()
    _NEWEST[folders] = bench
    return bench
