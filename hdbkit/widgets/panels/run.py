"""The run panel: a workload and its load, Run and Stop, live charts, and the result with its checks.

The run takes place in processes of its own. The panel only watches the run's folder, so that a restarted kernel or a
closed browser loses nothing: ``attach`` watches the run again.
"""

from __future__ import annotations

import html
import threading
from pathlib import Path
from typing import ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.api import Workspace
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.errors import HdbkitError, InputError
from hdbkit.results.manifest import Status
from hdbkit.widgets.parts.base import Panel, Shared, State
from hdbkit.widgets.parts.layout import button, row
from hdbkit.widgets.parts.live import LiveChart
from hdbkit.widgets.parts.load_form import DefaultPhases, LoadForm
from hdbkit.widgets.parts.no_target import no_target
from hdbkit.widgets.parts.python_code import call_code, first_lines, panel_code, target_code
from hdbkit.widgets.parts.run_words import doing, progress_html, whole
from hdbkit.widgets.parts.workload_choice import WorkloadChoice, workload_code
from hdbkit.workloads import specification

PERIOD_S = 0.5
STALLED_S = 1.0
"""A silence of this length is drawn as zero; in a shorter one every user may have been waiting."""


class RunPanel(Panel):
    """Choose a workload and a load, run it, watch it, keep its result.

    ``target`` and ``workload`` are what ``hdbkit.run`` takes, by default those that the panels share; ``load`` is
    what the fields show at first, by default phases of seconds on a private server and of minutes elsewhere.
    ``start()`` and ``wait()`` do what the buttons do.

    Example:
        >>> hdbkit.widgets.RunPanel(target="lab", load=hdbkit.Load(virtual_users=8))  # doctest: +SKIP
    """

    title: ClassVar[str] = "Run"

    def __init__(
        self,
        shared: Shared | None = None,
        *,
        target: Target | str | None = None,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
    ) -> None:
        super().__init__(shared)
        if target is not None:
            self.shared.target = self.workspace.target(target)
        if workload is not None:
            self.shared.workload = specification(workload).identity
        self.choice = WorkloadChoice(self.shared, self.guarded)
        self.form = LoadForm(load or Load(), self.choice.spec)
        self._phases = DefaultPhases(Load()) if load is None else None
        self.run = button("Run", self.guarded(self.start), style="primary", hint="start a run of this load")
        self.stop = button("Stop", self.guarded(self._stop), hint="close the window now and keep the result")
        self.live = LiveChart()
        self.outcome = ipywidgets.HTML().add_class("hdbkit-outcome")
        self.live.layout.display = "none"
        self.progress = ipywidgets.HTML().add_class("hdbkit-progress")
        buttons = row(self.run, self.stop, self.bell, self._state)
        without = no_target(self.shared, "RunPanel(target=...)")
        self.body.children = [without, self.choice.box, self.form.widget, buttons, self.progress]
        self.show_below(self.outcome, self.live)
        self.root.children = [part for part in self.root.children if part is not self._state]  # beside the buttons
        self.result: api.Result | None = None
        self._running: api.Running | None = None
        self._view: api.LiveView | None = None
        self._load = Load()
        self._stops = 0
        self._failure: Exception | None = None
        self._idle = threading.Event()
        self._ready()
        self.form.observe(self.guarded(self._show_call))
        self.shared.observe(self.guarded(self._use_target), ["target"])
        self.shared.observe(self.guarded(self._use_workload), ["workload"])
        self._use_target()

    # -- what can be asked of it --------------------------------------------------------------------------

    def start(self) -> None:
        """Start a run of the load that is shown, as the button does. Raises ``InputError`` during another one."""
        target, load, label = self.shared.target, self.form.load(), self.form.label.value.strip() or None
        if target is None:
            raise InputError("no target is chosen; choose one in the Target panel, or pass RunPanel(target=...)")
        workload = self.choice.spec
        self._busy()
        self.say("checking the target and its schema ...", State.BUSY)

        def begin() -> None:
            try:
                self._watch(self.workspace.start(target, workload, load, label=label))
            except Exception as error:
                self._failed(error)

        self.in_background(begin)

    def attach(self, run_id: str = "last") -> RunPanel:
        """Watch a run in progress, whoever started it, or show the result of one that has ended; returns the panel.

        Its target is chosen where none is, and its workload.

        Raises:
            InputError: there is no such run, or another one is running here.
        """
        running = self.workspace.attach(run_id)
        plan = running.manifest.plan
        self._busy()
        if self.shared.target is None:
            self.shared.target = plan.target
        self.shared.workload = plan.workload.identity
        self.form.show(plan.load)
        self.form.label.value = plan.label or ""
        self._watch(running)
        return self

    def wait(self) -> api.Result:
        """Wait for the end of the run that is watched here; its result. Raises what the run failed with."""
        self._idle.wait()
        if self._failure is not None:
            raise self._failure
        if self.result is None:
            raise InputError("no run was started here; call start() first")
        return self.result

    def close(self) -> None:
        """Stop watching; the run continues, and ``wait()`` raises ``InputError``."""
        super().close()
        if not self._idle.is_set():
            attach = call_code(self.workspace, "attach")
            self._failure = InputError(f"the panel was closed before its run ended; wait with {attach}.wait()")
            self.run.disabled = False
            self._idle.set()
        if self._view is not None:  # last, so that a look that finds it closed has the reason
            self._view.close()

    # -- the life of a run, seen from here ----------------------------------------------------------------

    def _busy(self) -> None:
        if not self._idle.is_set():
            raise InputError("a run is in progress in this panel; stop it first, or open another panel")
        self._idle.clear()
        self.clear_error()
        self.bell.begin()
        self.run.disabled = True
        self.result = self._failure = None
        self.outcome.value = ""

    def _watch(self, running: api.Running) -> None:
        if self._idle.is_set():  # closed while it began
            return
        manifest = running.manifest
        self._running, self._view, self._load = running, running.live(), manifest.plan.load
        self._stops = 0
        self.stop.disabled = False
        self.shared.run_id = running.run_id
        self.live.begin(manifest, 0 if manifest.lists else self._load.starting_s + self._load.rampup_s)
        self.live.layout.display = ""
        self.keep(_in_progress(running.run_id, self.workspace))
        self.every(PERIOD_S, self._look)

    def _look(self) -> bool:
        """Called by the ticker: read the run once and show it; whether it has ended."""
        assert self._running is not None and self._view is not None
        try:
            manifest = self._running.manifest
            if manifest.status.ended:
                self.in_background(self._end)
                return True
            tick = self._view.tick()
            self.say(doing(tick, manifest, stopping=self._stops > 0), State.BUSY)
            self.progress.value = progress_html(tick, self._load, stopping=self._stops > 0)
            seen = tick.operations_per_s or tick.failed or tick.silent_s > STALLED_S
            if seen and not self._stops and whole(tick, self._load, PERIOD_S):
                self.live.add(tick)
        except Exception as error:
            if not self._idle.is_set():  # else it was closed meanwhile
                self._failed(error)
            return True
        return False

    def _end(self) -> None:
        assert self._running is not None and self._view is not None
        self._view.close()
        self.stop.disabled = True
        self.say("reading the result ...", State.BUSY)
        try:
            result = self._running.wait()
            card = result._repr_html_()
            self.keep(card, _picture(result))
            self.outcome.value = card
        except Exception as error:
            self._failed(error)
            return
        self.result = result
        status = result.manifest.status
        self.say(f"{status.value}: run {result.run_id}", State.DONE if status is Status.DONE else State.STOPPED)
        self.bell.end(repr(result))
        self._ready()

    def _failed(self, error: Exception) -> None:
        self._failure = error
        self.say("")
        self.bell.end(f"failed: {error}")
        self.keep(f"<p>{html.escape(str(error))}</p>")
        self.fail(error)
        self._ready()

    def _ready(self) -> None:
        self.stop.disabled = True
        self.progress.value = ""
        self.stop.description, self.stop.button_style = "Stop", ""
        if not self._idle.is_set():
            self.shared.finished += self._running is not None  # other panels may take a while to show it
        self.run.disabled = False
        self._idle.set()

    def _stop(self) -> None:
        assert self._running is not None
        self._running.stop(at_once=self._stops > 0)
        self._stops += 1
        self.stop.description, self.stop.button_style = "Stop at once", "danger"
        self.say("stopping: the window is closed and the clients finish; press again to stop them at once")

    def _show_call(self) -> None:
        self.show_call("")  # there is none while a value is wrong
        label = self.form.label.value.strip()
        target, workload = target_code(self.shared.target, self.workspace), workload_code(self.choice.spec)
        named = f"label={label!r}" if label else ""
        run = call_code(self.workspace, "run", target, workload, "load=load", named)
        self.show_call(f"{first_lines(self.workspace)}load = {self.form.code()}\nresult = {run}\nresult")

    def _use_target(self) -> None:
        if self._phases is not None:
            self._phases.use(self.shared.target, *(self.form.fields[name] for name in ("rampup_s", "duration_s")))
        self._show_call()

    def _use_workload(self) -> None:
        self.form.use(self.choice.spec)
        self._show_call()


def _in_progress(run_id: str, workspace: Workspace) -> str:
    call = html.escape(f'{panel_code("RunPanel", workspace)}.attach("{run_id}")')
    return f"<p>Run {html.escape(run_id)} was in progress when this was saved; to watch it: <code>{call}</code></p>"


def _picture(result: api.Result) -> bytes | None:
    """The times of the operations one by one, or the throughput over time, as PNG; None without a window to draw."""
    try:
        charts = result.charts()
        return charts.get("profile", charts["throughput"]).image("png", title=True, dpi=120)
    except HdbkitError:
        return None
