"""The panel of a first result: one button from nothing to the report of a sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from hdbkit import api
from hdbkit.config import Target
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.widgets.panels.experiment import ExperimentPanel
from hdbkit.widgets.parts.base import Shared, State, call_code, first_lines, target_code
from hdbkit.widgets.parts.run_view import Seen

_STAYS = "The server stays until this kernel, and the runs and sweeps in progress on it, have ended."


class DemoPanel(ExperimentPanel[api.SweepResult]):
    """Start a private server, build a schema, sweep two values, and write the report.

    The server is then the target of all panels that share with this one, unless they have another.

    Args:
        shared: what the panels share.
        target: measure this target, whose settings may be changed, instead of a private server.

    Example:
        >>> panels = hdbkit.ui()  # doctest: +SKIP
        >>> hdbkit.widgets.DemoPanel(panels.shared)  # doctest: +SKIP
    """

    title, noun = "First result", "demo"
    verb, plans = ("Start", "all steps, one after the other: one to three minutes"), (SweepPlan,)

    def __init__(self, shared: Shared | None = None, *, target: Target | str | None = None) -> None:
        super().__init__(shared)
        self._at = target
        about = ipywidgets.HTML("" if target else _STAYS).add_class("hdbkit-note")
        self.lay_out(about, chooses=False)

    @property
    def needs_target(self) -> bool:
        """It has a private server, or its own."""
        return False

    def start(self) -> None:
        """Do all steps in the background, as the button does."""
        self._begin(self.asked(None))

    def asked(self, target: Target | None) -> Callable[[], api.RunningExperiment[api.SweepResult]]:
        def begin() -> api.RunningExperiment[api.SweepResult]:
            planned = self.workspace.plan_demo(self._at, quick=True, say=lambda line: self.say(line, State.BUSY))
            return self.workspace.start_experiment(planned)

        return begin

    def code(self) -> str:
        """The equivalent call."""
        given = "" if self._at is None else f"{target_code(self.workspace.target(self._at), self.workspace)}, "
        return first_lines(self.workspace) + call_code(self.workspace, "demo", f"{given}quick=True, say=print")

    def show_plan(self, plan: Any) -> None:
        """There is nothing to fill in."""

    def use_shared(self) -> None:
        """It asks for nothing that panels share."""
        self.refresh()

    def _ended(self, result: Any, error: Exception | None, seen: Seen | None = None) -> None:
        """The other panels get the target only now: what they ask of its server would disturb the runs."""
        if self.shared.target is None and result is not None:
            self.shared.target = result.plan.target
        super()._ended(result, error, seen)
