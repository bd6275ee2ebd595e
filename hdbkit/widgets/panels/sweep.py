"""The sweep panel: settings of the server and their values, what it will take, progress, ranking, answer."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import ipywidgets

import hdbkit
from hdbkit import api
from hdbkit.analysis.wording import many
from hdbkit.config import SweepSpec, Target
from hdbkit.config.quantities import duration_text
from hdbkit.errors import HdbkitError, InputError
from hdbkit.widgets.parts.base import Panel, Shared
from hdbkit.widgets.parts.layout import button, row
from hdbkit.widgets.parts.sweep_form import SweepForm, sweep_code
from hdbkit.widgets.parts.sweep_view import SweepView

_ANYWHERE = "nulldb:///anywhere"
"""A target for a plan while none is chosen."""


class SweepPanel(Panel):
    """Choose settings and values, see what it takes, start; then watch until there is an answer.

    ``target`` is what ``hdbkit.start_sweep`` takes, by default the one that the panels share; ``spec`` is what the
    fields show at first. ``start()`` and ``wait()`` do without a hand what the buttons do.

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
            self.shared.target = target if isinstance(target, Target) else Target.parse(target)
        self.result: api.SweepResult | None = None
        self._running: api.RunningSweep | None = None
        self._failure: Exception | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._asked = 0
        self.form = SweepForm(self.guarded(self._show_plan))
        self.view = SweepView(self)
        self.planned, self.wrong = (ipywidgets.HTML().add_class("hdbkit-note") for _ in range(2))
        self.leave = ipywidgets.Checkbox(description="hdbkit may change this server's settings; it puts them back")
        self.leave.indent, self.leave.layout.width = False, "auto"
        self._make_buttons()
        self.body.children = [
            row(self.read),
            self.form.box,
            self.planned,
            self.leave,
            self.wrong,
            row(self.run, self.stop, self.resume),
        ]
        self.show_below(self.view.box)
        if spec is not None:
            self.form.show(spec)
        self.leave.observe(self.guarded(self._show_plan), "value")
        self.shared.observe(self.guarded(self._show_plan), "target")
        self.shared.observe(self.guarded(self._schema_known), "schema")
        self._show_buttons(goes_on=False)
        self._show_plan()

    def _make_buttons(self) -> None:
        self.read = button("Read the server's settings", self.guarded(self.read_settings))
        self.run = button("Start the sweep", self.guarded(self.start), style="primary")
        self.stop = button("Stop", self.guarded(self._stop), style="danger", hint="as Ctrl-C: the settings come back")
        self.resume = button("Resume", self.guarded(self._resume), hint="do the runs that are missing")

    # -- what can be asked of it --------------------------------------------------------------------------

    def read_settings(self) -> None:
        """Ask the server which settings it has."""
        target = self._target()
        self.say(f"reading the settings of {target.url} ...")

        def load() -> None:
            try:
                settings = api.connect(target).settings()
                self.form.picker.load(settings)
                self._show_plan()
            except Exception:
                self.say("")
                raise
            self.say(f"the server has {len(settings):,} settings")

        self.in_background(load)

    def start(self) -> None:
        """Start the sweep that is shown, as the button does. Raises ``InputError`` where one goes on here."""
        target, spec = self._target(), self.form.spec
        self._begin(lambda: hdbkit.start_sweep(target, spec))

    def attach(self, sweep_id: str = "last") -> SweepPanel:
        """Watch a sweep that goes on, whoever started it, or show one that has ended; gives the panel.

        Raises:
            InputError: there is no such sweep, or another goes on here.
        """
        running = api.attach_sweep(sweep_id)
        spec = running.result.plan.spec
        self._busy()
        self.form.show(spec)
        self._watch(running)
        return self

    def wait(self) -> api.SweepResult:
        """Wait for the end of the sweep that goes on here, and give its result. Raises what it failed with."""
        self._idle.wait()
        if self._failure is not None:
            raise self._failure
        if self.result is None:
            raise InputError("no sweep was started here; call start() first")
        return self.result

    def close(self) -> None:
        """Stop watching; the sweep goes on, and ``wait()`` raises ``InputError``."""
        super().close()
        self.view.close()
        if not self._idle.is_set():
            self._failure = InputError(
                "the panel was closed before its sweep ended; wait with hdbkit.attach_sweep().wait()"
            )
            self.run.disabled = False
            self._idle.set()

    # -- before it starts ---------------------------------------------------------------------------------

    def _schema_known(self) -> None:
        if self.shared.schema is not None and self.shared.target is not None and self._idle.is_set():
            self.read_settings()

    def _target(self) -> Target:
        """The shared target, with the leave that is given here."""
        target: Target | None = self.shared.target
        if target is None:
            raise InputError("no target is chosen; choose one in the panel Target, or give SweepPanel(target=...)")
        return target.with_(may_change_settings=True) if self._gives_leave(target) else target

    def _gives_leave(self, target: Target) -> bool:
        return self.leave.value and not target.may_change_settings

    def _show_plan(self) -> None:
        """How many runs, how long, and the same in Python; mistakes instead where there are some."""
        target = self.shared.target
        self.leave.layout.display = "none" if target is None or target.may_change_settings else ""
        self.wrong.value = ""
        try:
            spec = self.form.spec
            planned = api.plan(target or _ANYWHERE, spec)
            self.planned.value = plan_html(planned)
        except HdbkitError as error:
            self.planned.value = _sentences([str(error)])
            self.show_call("")
            return
        self.show_call(sweep_code(target, spec, target is not None and self._gives_leave(target)))
        if target is not None and self.form.picker.loaded:
            self._ask(self._target(), planned.spec)

    def _ask(self, target: Target, spec: SweepSpec) -> None:
        """Ask the server, on a thread of its own, what it would refuse; the newest question counts."""
        self._asked += 1
        mine = self._asked

        def ask() -> None:
            found = api.connect(target).mistakes(spec.settings)
            if mine == self._asked:
                self.wrong.value = _sentences(found)

        self.in_background(ask)

    # -- while it goes on ---------------------------------------------------------------------------------

    def _busy(self) -> None:
        if not self._idle.is_set():
            raise InputError("a sweep goes on in this panel; stop it first, or open another panel")
        self._idle.clear()
        self.clear_error()
        self.result = self._failure = None
        self._show_buttons(goes_on=True)

    def _begin(self, begin: Callable[[], api.RunningSweep]) -> None:
        """Start on a thread of its own: the server is asked for all mistakes first."""
        self._busy()
        self.say("asking the server whether it takes all of this ...")

        def work() -> None:
            try:
                self._watch(begin())
            except Exception as error:
                self.say("nothing was started")
                self._ended(None, error)

        self.in_background(work)

    def _resume(self) -> None:
        assert self._running is not None
        sweep_id, planned, target = self._running.sweep_id, self._running.result.plan.target, self.shared.target
        same = target is not None and target.url == planned.url
        self._begin(lambda: hdbkit.start_sweep(target if same else None, resume_id=sweep_id))

    def _stop(self) -> None:
        assert self._running is not None
        self._running.stop()
        self.stop.disabled = True

    def _watch(self, running: api.RunningSweep) -> None:
        if self._idle.is_set():  # closed while it began
            return
        self._running = running
        self._show_buttons(goes_on=True)
        self.keep(_goes_on(running.sweep_id))
        self.view.watch(running, self._ended)

    def _ended(self, result: api.SweepResult | None, error: Exception | None) -> None:
        """The sweep has its end, or never began."""
        self.result, self._failure = result, error
        if error is not None:
            self.fail(error)
        try:
            if result is not None:
                self.keep(*kept(result))
        finally:
            self._show_buttons(goes_on=False)
            self.shared.finished += result is not None
            self._idle.set()

    def _show_buttons(self, goes_on: bool) -> None:
        self.run.disabled, self.stop.disabled = goes_on, not goes_on or self._running is None
        self.stop.layout.display = "" if goes_on else "none"
        unfinished = not goes_on and self._running is not None and self._running.status is not api.SweepStatus.DONE
        self.resume.layout.display = "" if unfinished else "none"


def plan_html(plan: Any) -> str:
    """How many runs a sweep has, and about how long it takes."""
    spec = plan.spec
    ends, fresh = " or ".join(map(str, spec.looks[:-1])), spec.winner_blocks
    more = f" It ends after {ends} blocks where all is decided by then." if ends else ""
    more += f" Then {fresh} fresh blocks of the three fastest and the baseline follow." if fresh else ""
    return (
        f"<b>{many(len(plan.runs), 'run')}</b>: {many(len(plan.configurations), 'configuration')} x "
        f"{many(len(spec.virtual_users), 'count')} of virtual users x {spec.blocks} blocks; "
        f"<b>about {duration_text(plan.estimated_s)}</b>. The first value of each setting or option is the "
        f"baseline's.{more}"
    )


def kept(result: api.SweepResult) -> tuple[str, bytes | None]:
    """The HTML and the picture that a notebook keeps of a sweep."""
    drawn = result.charts().get("configurations")
    return result._repr_html_(), drawn.image("png", title=True, dpi=110) if drawn else None


def _goes_on(sweep_id: str) -> str:
    call = html.escape(f'hdbkit.widgets.SweepPanel().attach("{sweep_id}")')
    return f"<p>Sweep {html.escape(sweep_id)} was going on when this was kept. To see it: <code>{call}</code></p>"


def _sentences(said: Sequence[str]) -> str:
    return "".join(f"<p>{html.escape(one)}</p>" for one in said)
