"""The panel of ``find_max``: the highest rate of an open loop that keeps a limit, its progress, chart and report.

Each run takes place in processes of its own, the search in the kernel; a search that was stopped continues while
nothing was changed in the panel.
"""

from __future__ import annotations

import html
import math
import threading
from functools import partial
from pathlib import Path
from typing import ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.analysis.run.limits import Limit
from hdbkit.api.max_rate import DEFAULT_BLOCKS
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.errors import InputError, SearchFailed
from hdbkit.experiment import EventKind, ExperimentEvent
from hdbkit.text import number
from hdbkit.widgets.parts.base import Panel, Shared, State
from hdbkit.widgets.parts.chart_box import ChartBox
from hdbkit.widgets.parts.layout import button, row
from hdbkit.widgets.parts.links import ReportLink
from hdbkit.widgets.parts.load_form import DefaultPhases, LoadForm
from hdbkit.widgets.parts.no_target import no_target
from hdbkit.widgets.parts.python_code import call_code, first_lines, target_code
from hdbkit.widgets.parts.workload_choice import WorkloadChoice, workload_code
from hdbkit.workloads import specification

_STOPPED = "the search was stopped; Search continues it while nothing is changed here"


class MaxRatePanel(Panel):
    """Choose a limit on the response time and a load, and search for the highest rate that keeps it.

    The arguments are those of ``RunPanel``. ``start()`` and ``wait()`` do what the buttons do.

    Example:
        >>> hdbkit.widgets.MaxRatePanel(target="lab", load=hdbkit.Load(virtual_users=50))  # doctest: +SKIP
    """

    title: ClassVar[str] = "Highest rate"

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
        self.limit = ipywidgets.Text("p95=20ms", description="Limit", continuous_update=False)
        self.blocks = ipywidgets.BoundedIntText(DEFAULT_BLOCKS, min=2, max=100, description="Blocks")
        self.search = button(
            "Search", self.guarded(self.start), style="primary", hint="search the highest rate within the limit"
        )
        self.stop = button("Stop", self.guarded(self._stop), hint="stop the present run and the search")
        self.stop.disabled = True
        self.runs, self.outcome, self.charts = ipywidgets.HTML(), ipywidgets.HTML(), ChartBox(self)
        self.report = ReportLink(self)
        self.body.children = [
            no_target(self.shared, "MaxRatePanel(target=...)"),
            self.choice.box,
            row(self.limit, self.blocks),
            self.form.widget,
            row(self.search, self.stop, self.bell),
        ]
        self.show_below(self.outcome, self.report.box, self.charts.box, self.runs)
        self.result: api.MaxRate | None = None
        self._running: api.Running | None = None
        self._stopping = False
        self._lines: list[str] = []
        self._unfinished: tuple[tuple[object, ...], str] | None = None
        """What a stopped search was asked, and its id."""
        self._failure: BaseException | None = None
        self._idle = threading.Event()
        self._idle.set()
        for field in (self.limit, self.blocks):
            field.observe(self.guarded(self._show_call), "value")
        self.form.observe(self.guarded(self._show_call))
        self.shared.observe(self.guarded(self._use_target), ["target"])
        self.shared.observe(self.guarded(self._use_workload), ["workload"])
        self._use_target()

    def start(self) -> None:
        """Start or continue a search, as the button does. Raises ``InputError`` during another one."""
        target, limit, load, workload = self.shared.target, self.limit.value, self.form.load(), self.choice.spec
        if target is None:
            raise InputError("no target is chosen; choose one in the Target panel, or pass MaxRatePanel(target=...)")
        if not self._idle.is_set():
            raise InputError("a search is in progress in this panel; stop it first, or open another panel")
        self._idle.clear()
        self._stopping, self._running, self._failure, self.result = False, None, None, None
        self.bell.begin()
        self.search.disabled, self.stop.disabled = True, False
        self.outcome.value = ""
        self.charts.show()
        self.report.hide()
        self.say("checking the target and its schema ...", State.BUSY)

        def work() -> None:
            try:
                self._show(self._searched(target, limit, workload, load))
            except (Exception, KeyboardInterrupt) as error:
                self._ended(error)
            finally:
                self.search.disabled, self.stop.disabled = False, True
                self._idle.set()

        self.in_background(work)

    def _searched(self, target: Target, limit: str, workload: WorkloadSpec | None, load: Load) -> api.MaxRate:
        """Search, or continue the search that was stopped here."""
        asked = (target, limit, workload, load, self.blocks.value, self.form.label.value)
        stopped = self._unfinished[1] if self._unfinished and self._unfinished[0] == asked else None
        if stopped is None:
            self._lines, self.runs.value = [], ""
        watch = partial(self._stepped, Limit.given(limit))
        if stopped is not None:
            found = self.workspace.resume_experiment(stopped, watch=watch, watch_run=self._look)
        else:
            label = self.form.label.value.strip() or None
            planned = self.workspace.plan_max_rate(
                target, limit, workload, load, blocks=self.blocks.value, label=label
            )
            self._unfinished = asked, planned.experiment_id
            found = self.workspace.run_experiment(planned, watch=watch, watch_run=self._look)
        self._unfinished = None
        assert isinstance(found, api.MaxRate)
        return found

    def wait(self) -> api.MaxRate:
        """Wait for the end of the search; its result. Raises its error; ``InputError`` if it was stopped."""
        self._idle.wait()
        if self._failure is not None:
            raise self._failure
        if self.result is None:
            raise InputError("no search was started here; call start() first")
        return self.result

    def close(self) -> None:
        """Stop the search; the present run is stopped with it."""
        super().close()
        if not self._idle.is_set():
            self._stop()

    def _stop(self) -> None:
        self._stopping = True
        self.stop.disabled = True
        self.say("stopping ...", State.BUSY)
        if self._running is not None:
            self._running.stop()

    def _look(self, running: api.Running) -> None:
        """Called several times per second with the present run."""
        if self._running is None or running.run_id != self._running.run_id:
            self._running = running
            if self._stopping:
                running.stop()
        if not self._stopping:
            rate = running.manifest.plan.load.rate
            at = "in a closed loop" if rate is None else f"at {number(rate)} per second"
            self.say(f"run {len(self._lines) + 1} {at}: {running.status.value}", State.BUSY)

    def _stepped(self, limit: Limit, event: ExperimentEvent) -> None:
        """Called at each step of the search."""
        manifest = event.manifest
        if event.kind is not EventKind.FINISHED or event.planned is None or manifest is None:
            return
        self._running, rate = None, manifest.plan.load.rate
        if rate is None:
            text = "closed loop: the users reach the maximum from which the search begins"
        else:
            held = "within the limit" if limit.excess(manifest) <= 0 else "beyond the limit"
            phase = f"block {event.planned.block}" if event.planned.block else "search"
            value_ms = limit.value_ms(manifest)
            value = "none" if math.isnan(value_ms) else f"{number(value_ms)} ms"
            text = f"{phase}: {number(rate)} per second, {limit.quantile} {value}, {held}"
        self._lines.append(text)
        items = "".join(f"<li>{html.escape(line)}</li>" for line in self._lines)
        self.runs.value = f"<details open><summary>Runs</summary><ol>{items}</ol></details>"
        self.shared.finished += 1
        if self._stopping:
            raise KeyboardInterrupt

    def _ended(self, error: BaseException) -> None:
        """The search ended without a result: stopped here, by whoever stopped its run, or by an error."""
        stopped = self._stopping or isinstance(error, KeyboardInterrupt)
        if isinstance(error, SearchFailed):
            self._unfinished = None  # it has its answer; the next search measures again
        self._failure = InputError(_STOPPED) if stopped else error
        self.say(_STOPPED if stopped else "", State.STOPPED)
        self.bell.end(_STOPPED if stopped else f"failed: {error}")
        if not stopped:
            self.fail(error)

    def _show(self, found: api.MaxRate) -> None:
        card, charts = f"<p><b>{html.escape(found.answer)}</b></p>", [*found.charts().values()]
        self.outcome.value = card
        self.charts.show(charts)
        self.report.show(found.report)
        self.keep(card, charts[0].image("png", title=True, dpi=110))
        self.result = found
        self.say(f"done: {len(self._lines)} runs with the label {found.label}", State.DONE)
        self.bell.end(found.answer)

    def _show_call(self) -> None:
        self.show_call("")  # there is none while a value is wrong
        label = self.form.label.value.strip()
        found = call_code(
            self.workspace, "find_max", target_code(self.shared.target, self.workspace), repr(self.limit.value),
            workload_code(self.choice.spec), "load=load",
            f"blocks={self.blocks.value}" if self.blocks.value != DEFAULT_BLOCKS else "",
            f"label={label!r}" if label else "")  # fmt: skip
        load = f"load = {self.form.code()}"
        self.show_call(f"{first_lines(self.workspace)}{load}\nfound = {found}\nfound.answer")

    def _use_target(self) -> None:
        if self._phases is not None:
            self._phases.use(self.shared.target, *(self.form.fields[name] for name in ("rampup_s", "duration_s")))
        self._show_call()

    def _use_workload(self) -> None:
        self.form.use(self.choice.spec)
        self._show_call()
