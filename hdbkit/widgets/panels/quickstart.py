"""The quickstart panel: one button from nothing to a report, with the state of each step."""

from __future__ import annotations

import html
import time
from typing import Any, ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.api import Quickstart, QuickStep, StepState
from hdbkit.config import Target
from hdbkit.config.notebook import PRIVATE
from hdbkit.errors import HdbkitError, InputError
from hdbkit.text import duration_text
from hdbkit.widgets.parts.base import Panel, Shared, State, call_code, first_lines, target_code
from hdbkit.widgets.parts.layout import FileLink, button, row

_LOOK_S = 1.0
_MARKS = {StepState.WAITING: "○", StepState.RUNNING: "▶", StepState.DONE: "✓", StepState.FAILED: "✕"}
_STAYS = "The server stays until this kernel, and the runs and sweeps in progress on it, have ended."


class QuickstartPanel(Panel):
    """Start a server, build a schema, run, sweep two values, write the report; the state of each step is visible.

    The target is then that of all panels that share with this one, unless they have another. ``start()`` and
    ``wait()`` do what the button does; ``target`` and other arguments are those of ``hdbkit.Quickstart``.

    Example:
        >>> panels = hdbkit.ui()  # doctest: +SKIP
        >>> hdbkit.widgets.QuickstartPanel(panels.shared)  # doctest: +SKIP
    """

    title: ClassVar[str] = "First result"

    def __init__(self, shared: Shared | None = None, *, target: Target | str = PRIVATE, **given: Any) -> None:
        super().__init__(shared)
        self._target, self._given = target, given
        self._made: Quickstart | None = None
        self._running, self._begun_s = False, 0.0
        self.result: api.QuickstartResult | None = None
        self.about = ipywidgets.HTML().add_class("hdbkit-note")
        self.go = button("Start", self.guarded(self.start), style="primary", hint="all steps, one after the other")
        self.stop = button("Stop", self.guarded(self._stop), hint="end the step in progress; results are kept")
        self.steps, self.outcome, self.report = ipywidgets.HTML(), ipywidgets.HTML(), FileLink()
        self.body.children = [self.about, self.steps, row(self.go, self.stop)]
        self.show_below(self.outcome, self.report)
        self._show_buttons()
        self.guarded(self._show_plan)()

    def start(self) -> None:
        """Do all steps in the background. Raises ``InputError`` where that is not possible."""
        if self._running:
            raise InputError("the quickstart is in progress; stop it first")
        made = self._made = self._planned()
        self.result, self.outcome.value, self._begun_s, self._running = None, "", time.monotonic(), True
        self._show_buttons()
        ticker = self.every(_LOOK_S, lambda: self._show(made))

        def work() -> None:
            try:
                result = made.run(self._follow)
                ticker.cancel()
                self._show_result(result)
            except Exception as error:
                self.say("stopped; what was measured is kept" if made.stopped else "", State.STOPPED)
                if not (made.stopped and isinstance(error, HdbkitError)):
                    raise
            finally:
                ticker.cancel()
                self._ended(made)

        self.in_background(work)

    def _planned(self) -> Quickstart:
        return Quickstart(self.workspace, self._target, **self._given)

    def _show_plan(self) -> None:
        """What the button does, and how long that takes."""
        planned = self._planned()
        expected = duration_text(planned.expected_s)
        self.go.description = f"Start (about {expected})"
        private = self._target == PRIVATE
        self.about.value = html.escape(f"From nothing to a report in about {expected}. {_STAYS if private else ''}")
        self.steps.value = steps_html(planned.steps)
        target = "" if private else target_code(planned.target, self.workspace)
        self.show_call(first_lines(self.workspace) + call_code(self.workspace, "quickstart", target))

    def _follow(self, step: QuickStep) -> None:
        assert self._made is not None
        self.steps.value = steps_html(self._made.steps)

    def _show(self, made: Quickstart) -> None:
        """Called by the ticker: the time that the step in progress has taken, and the time left."""
        self.steps.value = steps_html(made.steps)
        if not made.stopped:
            spent_s = time.monotonic() - self._begun_s
            left_s = made.expected_s - spent_s
            left = f"about {duration_text(left_s)} left" if left_s > 0 else "longer than expected; this host is busy"
            self.say(f"{duration_text(spent_s)} so far, {left}", State.BUSY)

    def _show_result(self, result: api.QuickstartResult) -> None:
        card = result.sweep._repr_html_()
        self.keep(card)
        self.outcome.value = card
        self.report.offer_report("open the report", result.report)
        self.result = result
        self.say(f"done: run {result.run.run_id} and sweep {result.sweep.experiment_id}", State.DONE)

    def _ended(self, made: Quickstart) -> None:
        """The other panels get the target only now: what they ask of its server would disturb the runs."""
        self._running = False
        self.steps.value = steps_html(made.steps)
        self._show_buttons()
        if self.shared.target is None:
            self.shared.target = made.target
        self.shared.finished += 1

    def _stop(self) -> None:
        assert self._made is not None
        self._made.stop()
        self.stop.disabled = True
        self.say("stopping ...", State.BUSY)

    def _show_buttons(self) -> None:
        self.go.disabled, self.stop.disabled = self._running, not self._running
        self.stop.layout.display = "" if self._running else "none"


def steps_html(steps: list[QuickStep]) -> str:
    """The steps as a list: state, title, what was found, and the time it took or is expected to take."""
    return f'<ol class="hdbkit-steps">{"".join(map(_step, steps))}</ol>'


def _step(step: QuickStep) -> str:
    expected = f"about {duration_text(step.expected_s)}"
    taken = {StepState.WAITING: expected, StepState.RUNNING: f"{duration_text(step.spent_s)} of {expected}"}
    detail = f"<small>{html.escape(step.detail)}</small>" if step.detail else ""
    return (
        f'<li class="hdbkit-{step.state}"><span role="img" aria-label="{step.state}">{_MARKS[step.state]}</span>'
        f"<span>{html.escape(step.title)}{detail}</span>"
        f"<span>{taken.get(step.state, duration_text(step.spent_s))}</span></li>"
    )
