"""The panel of all work in processes of its own: a run, and experiments of every kind.

A subclass states what is asked, by its fields, and which verb starts it; the start, the strip with progress, time
left, Stop and Resume, attaching and waiting are here. The panel only watches the folder of the work, so that a
restarted kernel or a closed browser loses nothing: ``attach`` watches it again.
"""

from __future__ import annotations

import html
import threading
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import ipywidgets

from hdbkit import api
from hdbkit.config import Target, WorkloadSpec
from hdbkit.errors import ConfigErrors, HdbkitError, InputError
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.plan import RunPlan
from hdbkit.widgets.parts.base import Panel, Shared, State, call_code, panel_code
from hdbkit.widgets.parts.experiment_view import ExperimentView
from hdbkit.widgets.parts.layout import button, group, row
from hdbkit.widgets.parts.model_form import FieldErrors
from hdbkit.widgets.parts.run_view import RunView, Seen
from hdbkit.widgets.parts.workload_choice import WorkloadChoice
from hdbkit.workloads import specification

ShownResult = TypeVar("ShownResult")


class ExperimentPanel(Panel, Generic[ShownResult]):
    """A form, a button that starts what it asks for, and what is to be seen of that until its result.

    ``start()`` and ``wait()`` do what the buttons do; ``attach()`` watches work that is in progress anywhere.
    """

    noun: ClassVar[str] = "experiment"
    verb: ClassVar[tuple[str, str]] = ("Start", "start it")
    """The words of the button that starts it, and its hint."""
    shows: ClassVar[type[ExperimentView | RunView]] = ExperimentView
    plans: ClassVar[tuple[type[ExperimentPlan | RunPlan], ...]]
    """The plans of the work that it shows."""
    attaches: ClassVar[str] = "attach_experiment"

    def __init__(
        self,
        shared: Shared | None = None,
        *,
        target: Target | str | None = None,
        workload: WorkloadSpec | Path | str | None = None,
    ) -> None:
        super().__init__(shared)
        if target is not None:
            self.shared.target = self.workspace.target(target)
        if workload is not None:
            self.shared.workload = specification(workload).identity
        words, hint = self.verb
        self.wrong_fields = FieldErrors()
        self.choice = WorkloadChoice(self.shared, self.guarded)
        self.go = button(words, self.guarded(self.start), style="primary", hint=hint)
        self.stop = button("Stop", self.guarded(self._stop), hint=f"stop this {self.noun}; what it measured is kept")
        self.resume = button("Resume", self.guarded(self._resume), hint="run what is missing")
        self.aim = ipywidgets.HTML().add_class("hdbkit-aim")
        self.progress = ipywidgets.HTML().add_class("hdbkit-progress")
        self.view: Any = type(self).shows(self)
        self.result: ShownResult | None = None
        self._running: Any = None
        self._failure: BaseException | None = None
        self._watched, self._stops, self._why, self._said_why = False, 0, "", False
        self._idle = threading.Event()
        self._idle.set()

    def lay_out(self, *fields: ipywidgets.Widget, chooses: bool = True) -> None:
        """Show these fields, behind the choice of a workload if it ``chooses``; follow what the panels share."""
        choice = [group("Workload"), self.choice.box] if chooses else []
        self.body.children = [*choice, *fields, row(self.go), self.wrong_fields]
        strip = row(self.aim, self._state, self.progress, self.resume, self.stop).add_class("hdbkit-strip")
        self.root.children = [strip if part is self._state else part for part in self.root.children]
        self.show_below(*self.view.parts)
        self.shared.observe(self.guarded(self.use_shared), ["target", "workload"])
        self.use_shared()

    # -- what a subclass states -----------------------------------------------------------------------------

    @abstractmethod
    def asked(self, target: Target) -> Callable[[], Any]:
        """What starts the work of the fields, in a thread of its own. Raises ``HdbkitError``."""

    @abstractmethod
    def code(self) -> str:
        """The equivalent Python code. Raises ``HdbkitError``."""

    @abstractmethod
    def show_plan(self, plan: Any) -> None:
        """Fill the fields from the plan of work that is attached."""

    @abstractmethod
    def use_shared(self) -> None:
        """Follow the target and the workload that the panels share."""

    @property
    def needs_target(self) -> bool:
        """Whether nothing can start without a target."""
        return True

    # -- what can be asked of it ----------------------------------------------------------------------------

    def start(self) -> None:
        """Start what is shown, as the button does. Raises ``InputError`` while something is in progress here."""
        if self.shared.target is None:
            raise InputError(self.no_target)
        self._begin(self.asked(self.shared.target))

    def attach(self, wanted: str = "last") -> Self:
        """Watch work in progress, whoever started it, or show the result of work that has ended; returns the panel.

        Its target is chosen where none is, and its workload.

        Raises:
            InputError: there is none of this id, or other work is in progress here.
        """
        running = getattr(self.workspace, self.attaches)(wanted)
        plan: Any = running.manifest.plan if isinstance(running, api.Running) else running.plan
        if not isinstance(plan, self.plans):
            raise InputError(f"{wanted} is {plan.title}, which this panel does not show; attach it with hdbkit.ui()")
        self._require_idle()
        cell: Any = plan if isinstance(plan, RunPlan) else plan.cell(plan.runs[0])
        if self.shared.target is None and not getattr(plan, "own_servers", False):
            self.shared.target = cell.target
        self.shared.workload = cell.workload.identity
        self.show_plan(plan)
        self._busy()
        self._watch(running)
        return self

    def wait(self) -> ShownResult:
        """Wait for the end of what is watched here; its result. Raises what it failed with."""
        self._idle.wait()
        if self._failure is not None:
            raise self._failure
        if self.result is None:
            raise InputError(f"no {self.noun} was started here; call start() first")
        return self.result

    def close(self) -> None:
        """Stop watching; the work continues, and ``wait()`` raises ``InputError``."""
        super().close()
        if not self._idle.is_set():
            attach = call_code(self.workspace, self.attaches)
            self._failure = InputError(
                f"the panel was closed before its {self.noun} ended; wait with {attach}.wait()"
            )
            self._idle.set()
            self._show_buttons()
        self.view.close()  # last, so that a look that finds it closed has the reason

    def refresh(self) -> None:
        """Show the call that the button makes, or why it cannot be pressed; one thread after the other."""
        with self._showing:
            self._refresh()

    def _refresh(self) -> None:
        code = self._why = ""
        target = self.shared.target if self.needs_target else None
        self.aim.value = f"on {html.escape(target.given)}" if target else ""
        self.aim.tooltip = target.url if target else ""
        self.wrong_fields.show(None)
        try:
            code = self.code()
            self._why = self.no_target if self.needs_target and self.shared.target is None else ""
        except ConfigErrors as error:
            self.wrong_fields.show(error)
            self._why = "; ".join(f"{one.where}: {one.what}" for one in error.problems)
        except HdbkitError as error:
            self._why = str(error)
        self.show_call(code)
        self._show_buttons()

    @property
    def busy(self) -> bool:
        """Whether something is in progress here."""
        return not self._idle.is_set()

    # -- the life of the work, seen from here ---------------------------------------------------------------

    @property
    def no_target(self) -> str:
        """Why nothing starts without a target, and what to do."""
        return f"no target is chosen; choose one in the Target panel, or pass {type(self).__name__}(target=...)"

    def _require_idle(self) -> None:
        if not self._idle.is_set():
            raise InputError(f"a {self.noun} is in progress in this panel; stop it first, or open another panel")

    def _busy(self) -> None:
        self._require_idle()
        self._idle.clear()
        self.clear_error()
        self.result = self._failure = None
        self._watched = False
        self._show_buttons()

    def _begin(self, begin: Callable[[], Any]) -> None:
        self._busy()
        self.say("checking the target and its schema ...", State.BUSY)

        def work() -> None:
            try:
                self._watch(begin())
            except Exception as error:
                self._ended(None, error)

        self.in_background(work)

    def _watch(self, running: Any) -> None:
        if self._idle.is_set():  # closed while it began
            return
        self._running, self._watched, self._stops = running, True, 0
        name = self.view.begin(running)
        self._show_buttons()
        call = html.escape(f'{panel_code(type(self).__name__, self.workspace)}.attach("{name}")')
        self.keep(
            f"<p>The {self.noun} {html.escape(name)} was in progress when this was saved; to watch it: "
            f"<code>{call}</code></p>"
        )
        self.every(self.view.period_s, self._look)

    def _look(self) -> bool:
        """Called by the ticker: read the work once and show it; whether it has ended."""
        try:
            seen = self.view.look(self._running)
        except Exception as error:
            if not self._idle.is_set():  # else it was closed meanwhile
                self._ended(None, error)
            return True
        self.progress.value = "" if seen.ended else seen.bar
        self.say("reading the result ..." if seen.ended else seen.words, State.BUSY)
        if seen.ended:
            self.in_background(lambda: self._end(seen))
        return bool(seen.ended)

    def _end(self, seen: Seen) -> None:
        try:
            result = self.view.end(self._running)
        except Exception as error:
            self._ended(None, error, seen)
        else:
            self._ended(result, None, seen)

    def _ended(self, result: Any, error: Exception | None, seen: Seen | None = None) -> None:
        """The work has ended, or did not start; one that was stopped before it had a result has not failed."""
        self.result, self._failure, self.progress.value = result, error, ""
        self.say(seen.words if seen else "", seen.state if seen else State.IDLE)
        if error is not None:
            self.keep(f"<p>{html.escape(str(error))}</p>")
            self.fail(error)
        self.shared.finished += self._watched  # other panels may take a while to show it
        self._show_buttons(idle=True)
        self._idle.set()

    def _stop(self) -> None:
        words = self.view.stop(self._running, again=self._stops > 0)
        self._stops += 1
        self.say(words, State.BUSY)
        self._show_buttons()

    def _resume(self) -> None:
        experiment_id, planned, target = self._running.experiment_id, self._running.plan.targets, self.shared.target
        given = target if target is not None and [target.url] == [one.url for one in planned] else None
        self._begin(lambda: self.workspace.start_experiment(experiment_id, given))

    def _show_buttons(self, idle: bool = False) -> None:
        """Each button is disabled with its reason; ``idle``: nothing is in progress from now on."""
        idle, experiment = idle or self._idle.is_set(), isinstance(self._running, api.RunningExperiment)
        why = self._why if idle else f"a {self.noun} is in progress here"
        self.go.disabled, self.go.tooltip = bool(why), why or self.verb[1]
        watched = not idle and self._watched
        self.stop.disabled = not watched or (experiment and self._stops > 0)
        again = watched and not experiment and self._stops > 0
        self.stop.description, self.stop.button_style = ("Stop at once", "danger") if again else ("Stop", "")
        unfinished = idle and experiment and self._running.status is not api.ExperimentStatus.DONE
        self.resume.layout.display = "" if unfinished else "none"
        if idle and (why or self._said_why):
            self.say(why, State.STOPPED if why else State.IDLE)
        self._said_why = idle and bool(why)
