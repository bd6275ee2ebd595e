"""The sweep panel: settings and options to try, the plan, progress, ranking, answer."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Sequence
from typing import ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.api import Workspace
from hdbkit.config import SweepSpec, Target
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, InputError
from hdbkit.experiment.slicing import on_server_note
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.text import many
from hdbkit.widgets.parts.base import Panel, Shared, State
from hdbkit.widgets.parts.layout import button, row
from hdbkit.widgets.parts.load_form import DefaultPhases
from hdbkit.widgets.parts.no_target import no_target
from hdbkit.widgets.parts.python_code import call_code, panel_code
from hdbkit.widgets.parts.sweep_form import DEFAULT_LOAD, SweepForm, sweep_code
from hdbkit.widgets.parts.sweep_view import SweepView
from hdbkit.widgets.parts.workload_choice import WorkloadChoice

_ANYWHERE = "nulldb:///anywhere"
"""A target for a plan while none is chosen."""


class SweepPanel(Panel):
    """Choose a workload, settings and values, see the plan, start the sweep, and watch it until there is an answer.

    ``target`` is what ``hdbkit.start_sweep`` takes, by default the one that the panels share; ``spec`` is what the
    fields show at first. ``start()`` and ``wait()`` do what the buttons do.

    Example:
        >>> hdbkit.widgets.SweepPanel(target="lab", spec=hdbkit.SweepSpec.read("params/sweep.yaml"))  # doctest: +SKIP
    """

    title: ClassVar[str] = "Sweep"

    def __init__(
        self,
        shared: Shared | None = None,
        *,
        target: Target | str | None = None,
        spec: SweepSpec | None = None,
    ) -> None:
        super().__init__(shared)
        if target is not None:
            self.shared.target = self.workspace.target(target)
        self.result: api.SweepResult | None = None
        self._running: api.RunningExperiment[api.SweepResult] | None = None
        self._failure: Exception | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._asked = self._promised = 0
        if spec is not None and spec.workload is not None:
            self.shared.workload = spec.workload.identity
        self.choice = WorkloadChoice(self.shared, self.guarded)
        self.form = SweepForm(self.guarded(self._show_plan))
        self._phases = DefaultPhases(DEFAULT_LOAD) if spec is None else None
        self.view = SweepView(self)
        self.planned, self.power, self.wrong = (ipywidgets.HTML().add_class("hdbkit-note") for _ in range(3))
        self.permit = ipywidgets.Checkbox(
            description="Allow hdbkit to change this server's settings and restore them"
        )
        self.permit.indent, self.permit.layout.width = False, "auto"
        self._make_buttons()
        self.body.children = [
            no_target(self.shared, "SweepPanel(target=...)"),
            self.choice.box,
            row(self.read),
            self.form.box,
            self.planned,
            self.power,
            self.permit,
            self.wrong,
            row(self.run, self.stop, self.resume, self.bell),
        ]
        self.show_below(self.view.box)
        if spec is not None:
            self.form.show(spec)
        self.permit.observe(self.guarded(self._show_plan), "value")
        self.shared.observe(self.guarded(self._use_workload), ["target", "workload"])
        self.shared.observe(self.guarded(self._schema_known), "schema")
        self._show_buttons(running=False)
        self._use_workload()

    def _make_buttons(self) -> None:
        self.read = button(
            "Read the server's settings", self.guarded(self.read_settings), hint="so that they can be picked below"
        )
        self.run = button(
            "Start the sweep",
            self.guarded(self.start),
            style="primary",
            hint="check the values, then execute all runs",
        )
        self.stop = button("Stop", self.guarded(self._stop), style="danger", hint="stop it and restore the settings")
        self.resume = button("Resume", self.guarded(self._resume), hint="run what is missing")

    # -- what can be asked of it --------------------------------------------------------------------------

    def read_settings(self) -> None:
        """Read the list of the server's settings."""
        target = self._target()
        self.say(f"reading the settings of {target.url} ...", State.BUSY)

        def load() -> None:
            try:
                settings = self.workspace.connect(target).settings()
                self.form.picker.load(settings)
                self._show_plan()
            except Exception:
                self.say("")
                raise
            self.say(f"the server has {len(settings):,} settings")

        self.in_background(load)

    def start(self) -> None:
        """Start the sweep that is shown, as the button does. Raises ``InputError`` while one is running here."""
        target, spec = self._target(), self.form.spec
        self._begin(lambda: self.workspace.start_sweep(target, spec))

    def attach(self, experiment_id: str = "last") -> SweepPanel:
        """Watch a sweep in progress, whoever started it, or show one that has ended; returns the panel.

        Raises:
            InputError: there is no such sweep, or another one is running here.
        """
        running = self.workspace.attach_experiment(experiment_id)
        spec = running.result.plan.spec
        self._busy()
        if spec.workload is not None:
            self.shared.workload = spec.workload.identity
        self.form.show(spec)
        self._watch(running)
        return self

    def wait(self) -> api.SweepResult:
        """Wait for the end of the sweep that is watched here; its result. Raises what the sweep failed with."""
        self._idle.wait()
        if self._failure is not None:
            raise self._failure
        if self.result is None:
            raise InputError("no sweep was started here; call start() first")
        return self.result

    def close(self) -> None:
        """Stop watching; the sweep continues, and ``wait()`` raises ``InputError``."""
        super().close()
        self.view.close()
        if not self._idle.is_set():
            attach = call_code(self.workspace, "attach_experiment")
            self._failure = InputError(f"the panel was closed before its sweep ended; wait with {attach}.wait()")
            self.run.disabled = False
            self._idle.set()

    # -- before it starts ---------------------------------------------------------------------------------

    def _use_workload(self) -> None:
        target = self.shared.target
        options = database(target).schema_options.model_fields if target is not None else ()
        self.form.use(self.choice.spec, options)
        if self._phases is not None:
            self._phases.use(target, self.form.rampup, self.form.duration)
        self._show_plan()

    def _schema_known(self) -> None:
        if self.shared.schema is not None and self.shared.target is not None and self._idle.is_set():
            self.read_settings()

    def _target(self) -> Target:
        """The shared target, with the permission that is given here."""
        target: Target | None = self.shared.target
        if target is None:
            raise InputError("no target is chosen; choose one in the Target panel, or pass SweepPanel(target=...)")
        return target.with_(may_change_settings=True) if self._permits(target) else target

    def _permits(self, target: Target) -> bool:
        return self.permit.value and not target.may_change_settings

    def _show_plan(self) -> None:
        """The number of runs, the duration and the Python code; the errors instead if there are some."""
        target = self.shared.target
        self.permit.layout.display = "none" if target is None or target.may_change_settings else ""
        self.wrong.value = ""
        try:
            spec = self.form.spec
            planned = self.workspace.plan_sweep(target or _ANYWHERE, spec)
            self.planned.value = plan_html(planned)
        except HdbkitError as error:
            self.planned.value, self.power.value = _sentences([str(error)]), ""
            self.show_call("")
            return
        self._promise(planned)
        permits = target is not None and self._permits(target)
        self.show_call(sweep_code(target, spec, permits, self.workspace))
        if target is not None and self.form.picker.loaded:
            self._ask(self._target(), planned.spec)

    def _promise(self, planned: SweepPlan) -> None:
        """Read from recent results, in a thread of its own, what the sweep would find; only the newest is shown."""
        self._promised += 1
        mine = self._promised

        def read() -> None:
            found = self.workspace.planned_power(planned)
            if mine == self._promised:
                self.power.value = _sentences([f"{found.sentence}."] if found else [])

        self.in_background(read)

    def _ask(self, target: Target, spec: SweepSpec) -> None:
        """Ask the server, in a thread of its own, which values it rejects; only the newest answer is shown."""
        self._asked += 1
        mine = self._asked

        def ask() -> None:
            connection = self.workspace.connect(target)
            found = connection.problems(spec.settings) + connection.memory_warnings(spec.settings)
            if mine == self._asked:
                self.wrong.value = _sentences(found)

        self.in_background(ask)

    # -- in progress ----------------------------------------------------------------------------------------

    def _busy(self) -> None:
        if not self._idle.is_set():
            raise InputError("a sweep is in progress in this panel; stop it first, or open another panel")
        self._idle.clear()
        self.clear_error()
        self.bell.begin()
        self.result = self._failure = None
        self._show_buttons(running=True)

    def _begin(self, begin: Callable[[], api.RunningExperiment[api.SweepResult]]) -> None:
        """Start in a thread of its own; the server checks all values first."""
        self._busy()
        self.say("the server checks the values ...", State.BUSY)

        def work() -> None:
            try:
                self._watch(begin())
            except Exception as error:
                self.say("nothing was started")
                self._ended(None, error)

        self.in_background(work)

    def _resume(self) -> None:
        assert self._running is not None
        experiment_id, planned, target = (
            self._running.experiment_id,
            self._running.result.plan.target,
            self.shared.target,
        )
        given = target if target is not None and target.url == planned.url else None
        self._begin(lambda: self.workspace.start_experiment(experiment_id, given))

    def _stop(self) -> None:
        assert self._running is not None
        self.view.stopping = f"stopping; this waits for {self._running.stops_after}"
        self._running.stop()
        self.stop.disabled = True

    def _watch(self, running: api.RunningExperiment[api.SweepResult]) -> None:
        if self._idle.is_set():  # closed while it began
            return
        self._running = running
        self._show_buttons(running=True)
        self.keep(_in_progress(running.experiment_id, self.workspace))
        self.view.watch(running, self._ended)

    def _ended(self, result: api.SweepResult | None, error: Exception | None) -> None:
        """The sweep ended, or did not start."""
        self.result, self._failure = result, error
        self.bell.end(result.answer if result is not None and error is None else f"ended: {error}")
        if error is not None:
            self.fail(error)
        try:
            if result is not None:
                self.shared.finished += 1
                self.keep(*kept(result))
        finally:
            self._show_buttons(running=False)
            self._idle.set()

    def _show_buttons(self, running: bool) -> None:
        self.run.disabled, self.stop.disabled = running, not running or self._running is None
        self.stop.layout.display = "" if running else "none"
        unfinished = (
            not running and self._running is not None and self._running.status is not api.ExperimentStatus.DONE
        )
        self.resume.layout.display = "" if unfinished else "none"


def plan_html(plan: SweepPlan) -> str:
    """How many runs a sweep has, and about how long it takes."""
    spec = plan.spec
    ends, fresh = " or ".join(map(str, spec.looks[:-1])), spec.winner_blocks
    more = f" It ends after {ends} blocks if every verdict is decided by then." if ends else ""
    more += " A configuration that is decided is not run in later blocks." if ends and spec.drop_decided else ""
    more += f" Then {fresh} further blocks of the three best configurations and the baseline follow." if fresh else ""
    each = f"{plan.slices.described}, " if plan.slices else f"{many(len(plan.configurations), 'configuration')} x "
    note = on_server_note(plan)
    more += f" {html.escape(note[:1].upper() + note[1:])}." if note else ""
    return (
        f"<b>{many(len(plan.runs), 'run')}</b>: {each}"
        f"{many(len(spec.virtual_users), 'user count')} x {spec.blocks} blocks; "
        f"<b>{plan.time_text}</b>. The first value of each setting or option is "
        f"the baseline.{more}"
    )


def kept(result: api.SweepResult) -> tuple[str, bytes | None]:
    """The HTML and the picture that a notebook keeps of a sweep."""
    drawn = result.charts().get("configurations")
    return result._repr_html_(), drawn.image("png", title=True, dpi=110) if drawn else None


def _in_progress(experiment_id: str, workspace: Workspace) -> str:
    call = html.escape(f'{panel_code("SweepPanel", workspace)}.attach("{experiment_id}")')
    return (
        f"<p>Sweep {html.escape(experiment_id)} was in progress when this was saved; to watch it: "
        f"<code>{call}</code></p>"
    )


def _sentences(said: Sequence[str]) -> str:
    return "".join(f"<p>{html.escape(one)}</p>" for one in said)
