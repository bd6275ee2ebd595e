"""The compare panel: groups of stored runs, two targets that are measured in turn, or a stored experiment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets

from hdbkit import api
from hdbkit.analysis.comparison.sides import DEFAULT_BLOCKS
from hdbkit.api.run_list import RunList
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.errors import InputError
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.sides import ComparisonPlan, EnginesPlan, ReleasesPlan, SlowCommitPlan
from hdbkit.text import many
from hdbkit.widgets.panels.loads import LoadPanel, blocks_field, text_field
from hdbkit.widgets.parts.base import Shared, State
from hdbkit.widgets.parts.compare_choice import RunsChoice
from hdbkit.widgets.parts.experiment_view import ExperimentView
from hdbkit.widgets.parts.layout import button, row
from hdbkit.widgets.parts.newest_first import newest_first
from hdbkit.widgets.parts.python_code import call_code, first_lines
from hdbkit.widgets.parts.run_view import Seen

_RUNS, _TARGETS, _STORED = "Groups of runs", "Two targets in turn", "An experiment"
_OF_SIDES = ("changes", "ratios")
"""The charts of a comparison that charts of groups do not have."""
_PLANS = (ComparisonPlan, ReleasesPlan, SlowCommitPlan, EnginesPlan)


class ComparePanel(LoadPanel[api.ExperimentResult | None]):
    """Choose stored runs, two targets to measure or a stored experiment, and see which is better and by how much.

    The arguments are those of ``LoadPanel``; the target is the base of what is measured.

    Example:
        >>> hdbkit.widgets.ComparePanel()  # doctest: +SKIP
    """

    title, noun = "Compare", "comparison"
    verb, plans = ("Compare", "compare what is chosen"), _PLANS
    view: ExperimentView

    def __init__(
        self,
        shared: Shared | None = None,
        *,
        target: Target | str | None = None,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
    ) -> None:
        self.mode = ipywidgets.ToggleButtons(options=[_RUNS, _TARGETS, _STORED])
        self.runs = RunsChoice(self._changed)
        wide = ipywidgets.Layout(width="100%", max_width="560px")
        self.stored = ipywidgets.Dropdown(description="Experiment", layout=wide)
        super().__init__(shared, target=target, workload=workload, load=load)
        again = button("Refresh the list", self.guarded(self.load), hint="read the results folder again")
        *measured, _ = self.body.children
        self._of_modes = {_RUNS: [self.runs.box], _TARGETS: measured, _STORED: [self.stored]}
        self.body.children = [self.mode, self.runs.box, self.stored, *measured, row(self.go, again)]
        self.mode.observe(self.guarded(self._show_mode), "value")
        self.stored.observe(self.guarded(self.refresh), "value")
        self.shared.observe(self.guarded(lambda: self.in_background(self.load)), "finished")
        self.shared.observe(self.guarded(self._take), "compared")
        self._show_mode()
        self.guarded(self.load)()

    def own_fields(self) -> list[ipywidgets.Widget]:
        """The target to compare with the one that is chosen, and the number of blocks."""
        self.new = text_field("New", hint="name or URL of the other target")
        self.blocks = blocks_field(DEFAULT_BLOCKS)
        return [self.new, self.blocks]

    def load(self) -> None:
        """Read the catalog, the newest runs first."""
        newest_first(self, lambda within_s: self.workspace.runs(within_s=within_s), self._offer)

    def start(self) -> None:
        """Compare what is chosen, as the button does."""
        if self.mode.value == _TARGETS:
            super().start()
            return
        read = self._compared() if self.mode.value == _RUNS else self._experiment()
        self._busy()
        self.say("comparing ...", State.BUSY)

        def work() -> None:
            try:
                result, words = read()
            except Exception as error:
                self._ended(None, error)
            else:
                self._ended(result, None, Seen(words, state=State.DONE))

        self.in_background(work)

    def asked(self, target: Target) -> Callable[[], api.RunningExperiment[api.Comparison]]:
        """Runs of both targets in turn."""
        new, load, workload = self._new, self.form.load(), self.choice.spec
        given: Any = {"blocks": self.blocks.value, "label": self.label}
        plan = self.workspace.plan_comparison
        return lambda: self.workspace.start_experiment(plan(target, new, workload=workload, load=load, **given))

    def code(self) -> str:
        """The call that compares what is chosen."""
        first, workspace = first_lines(self.workspace), self.workspace
        if self.mode.value == _TARGETS:
            return super().code()
        if self.mode.value == _STORED:
            return first + call_code(workspace, "experiment_result", repr(self._stored_id))
        groups = self._groups
        lines = [f"    {name!r}: {ids!r}," for name, ids in groups.items()]
        overlaid = f"charts = {call_code(workspace, 'overlay', 'groups')}"
        sides = self.runs.sides or {}
        named = ", ".join(f"{name!r}: groups[{name!r}]" for name in sides)
        compared = [call_code(workspace, "compare", f"**{{{named}}}")] if sides else []
        return "\n".join([f"{first}groups = {{", *lines, "}", overlaid, *compared])

    call = ("measure_in_turn", "found")

    def arguments(self) -> tuple[list[str], list[str]]:
        """Both targets, blocks and label."""
        label = f"label={self.label!r}" if self.label else ""
        return [self.at, repr(self._new)], [f"blocks={self.blocks.value}", label]

    def show_plan(self, plan: ExperimentPlan) -> None:
        """Fill the fields from a comparison of targets."""
        self.mode.value = _TARGETS
        if isinstance(plan, ComparisonPlan):
            base, new = plan.sides
            self.form.show(base.load)
            self.new.value, self.blocks.value = new.target.given, plan.blocks

    # -- stored results -------------------------------------------------------------------------------------

    def _compared(self) -> Callable[[], tuple[api.Comparison | None, str]]:
        groups, sides = self._groups, self.runs.sides

        def read() -> tuple[api.Comparison | None, str]:
            named: dict[str, Any] = sides or {}
            found = self.workspace.compare(**named) if named else None
            drawn = [*self.workspace.overlay(groups).values()]
            if found is not None:
                drawn[1:1] = [chart for key, chart in found.charts().items() if key in _OF_SIDES]
            card = found._repr_html_() if found else "<p>Only one group: nothing to compare it with.</p>"
            self.view.show_card(card, drawn, found)
            return found, f"{many(sum(map(len, groups.values())), 'run')} in {many(len(groups), 'group')}"

        return read

    def _experiment(self) -> Callable[[], tuple[api.ExperimentResult, str]]:
        experiment_id = self._stored_id

        def read() -> tuple[api.ExperimentResult, str]:
            result = self.workspace.experiment_result(experiment_id)
            self.view.show(result)
            return result, f"experiment {experiment_id}"

        return read

    @property
    def _groups(self) -> dict[str, list[str]]:
        if not (groups := self.runs.groups):
            raise InputError("select runs in the list first")
        return groups

    @property
    def _stored_id(self) -> str:
        if self.stored.value is None:
            raise InputError("the catalog has no experiment with a run")
        return str(self.stored.value)

    @property
    def _new(self) -> str:
        if not (new := str(self.new.value).strip()):
            raise InputError("name the target to compare with the one that is chosen")
        return new

    @property
    def needs_target(self) -> bool:
        """Only to measure."""
        return bool(self.mode.value == _TARGETS)

    def _offer(self, runs: RunList) -> None:
        self.runs.load(runs)
        kept, names = self.stored.value, runs["experiment_id"].dropna().unique().tolist()
        self.stored.options = names
        self.stored.value = kept if kept in names else names[0] if names else None

    def _take(self) -> None:
        """Select the runs that another panel has chosen."""
        self.mode.value = _RUNS
        self.runs.take(self.shared.compared)
        self.refresh()
        if not self.busy:
            self.start()

    def _changed(self) -> None:
        self.guarded(self.refresh)()

    def _show_mode(self) -> None:
        for mode, parts in self._of_modes.items():
            for part in parts:
                part.layout.display = "" if mode == self.mode.value else "none"
        self.refresh()
