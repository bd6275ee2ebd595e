"""The sweep panel: settings and options to try, the plan, and what it would find."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

import ipywidgets
import pandas as pd

from hdbkit import api
from hdbkit.config import SweepSpec, Target
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.experiment.slicing import on_server_note
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.text import many
from hdbkit.widgets.panels.experiment import ExperimentPanel
from hdbkit.widgets.parts.base import Shared, State
from hdbkit.widgets.parts.layout import button, group, row
from hdbkit.widgets.parts.load_form import DefaultPhases
from hdbkit.widgets.parts.sweep_form import DEFAULT_LOAD, SweepForm, sweep_code

_ANYWHERE = "nulldb:///anywhere"
"""A target for a plan while none is chosen."""


class SweepPanel(ExperimentPanel[api.SweepResult]):
    """Choose a workload, settings and values, see the plan, start the sweep, and watch it until there is an answer.

    ``target`` is what ``hdbkit.start_sweep`` takes, by default the one that the panels share; ``spec`` is what the
    fields show at first.

    Example:
        >>> hdbkit.widgets.SweepPanel(target="lab", spec=hdbkit.SweepSpec.read("params/sweep.yaml"))  # doctest: +SKIP
    """

    title, noun = "Sweep", "sweep"
    verb, plans = ("Start the sweep", "check the values, then execute all runs"), (SweepPlan,)

    def __init__(
        self,
        shared: Shared | None = None,
        *,
        target: Target | str | None = None,
        spec: SweepSpec | None = None,
    ) -> None:
        super().__init__(shared, target=target, workload=spec.workload if spec is not None else None)
        self._given = spec
        self._answer: tuple[tuple[object, ...], Sequence[str], Sequence[str]] = ((), (), ())
        self.form = SweepForm(self.guarded(self.refresh))
        self._phases = DefaultPhases(DEFAULT_LOAD) if spec is None else None
        self.planned, self.power, self.wrong = (ipywidgets.HTML().add_class("hdbkit-note") for _ in range(3))
        self.permit = ipywidgets.Checkbox(
            description="Allow hdbkit to change this server's settings and restore them"
        )
        self.permit.indent, self.permit.layout.width = False, "auto"
        self.read = button(
            "Read the server's settings", self.guarded(self.read_settings), hint="so that they can be picked below"
        )
        if spec is not None:
            self.form.show(spec)
        self.permit.observe(self.guarded(self.refresh), "value")
        self.shared.observe(self.guarded(self._schema_known), "schema")
        self.lay_out(
            group("What is tried"), row(self.read), self.form.box, self.planned, self.power, self.permit, self.wrong
        )

    def read_settings(self) -> None:
        """Read the list of the server's settings."""
        target = self._target()
        self.say(f"reading the settings of {target.url} ...", State.BUSY)

        show = self.reading("settings")

        def load() -> None:
            try:
                settings = self.workspace.connect(target).settings()
            except Exception:
                show(lambda: self.say(""))
                raise
            show(lambda: self._offer(settings))

        self.in_background(load)

    def _offer(self, settings: pd.DataFrame) -> None:
        self.form.picker.load(settings)
        self.refresh()
        self.say(f"the server has {len(settings):,} settings")

    def asked(self, target: Target) -> Callable[[], api.RunningExperiment[api.SweepResult]]:
        """The sweep of the fields; the server checks all values first."""
        at, spec = self._target(), self.form.spec
        return lambda: self.workspace.start_sweep(at, spec)

    def show_plan(self, plan: SweepPlan) -> None:
        self._given = plan.spec
        self.form.show(plan.spec)

    def use_shared(self) -> None:
        target = self.shared.target
        options = database(target).schema_options.model_fields if target is not None else ()
        self.form.use(self.choice.spec, options)
        if self._phases is not None:
            self._phases.use(target, self.form.rampup, self.form.duration)
        self.refresh()

    def _schema_known(self) -> None:
        if self.shared.schema is not None and self.shared.target is not None and not self.busy:
            self.read_settings()

    def _target(self) -> Target:
        """The shared target, with the permission that is given here."""
        target: Target | None = self.shared.target
        if target is None:
            raise InputError(self.no_target)
        return target.with_(may_change_settings=True) if self._permits(target) else target

    def _permits(self, target: Target) -> bool:
        return self.permit.value and not target.may_change_settings

    def code(self) -> str:
        """The call that starts the sweep; shows the number of runs, the duration and what the server says as well."""
        target = self.shared.target
        self.permit.layout.display = "none" if target is None or target.may_change_settings else ""
        self.wrong.value = self.power.value = ""
        show_power = self.reading(self.power)
        try:
            spec = self.form.spec
            planned = self.workspace.plan_sweep(target or _ANYWHERE, spec)
        except ConfigErrors as error:
            self.planned.value = f"<p>{html.escape(str(error))}</p>"
            raise
        except InputError:
            self.planned.value = ""
            raise
        self.planned.value = plan_html(planned)
        if len(planned.configurations) < 2 and spec != self._given:
            raise InputError("one configuration has nothing to be compared with; give a second value")
        self.in_background(lambda: self._promise(planned, show_power))
        if target is not None and self.form.picker.loaded:
            self._ask(self._target(), planned.spec)
        return sweep_code(target, spec, target is not None and self._permits(target), self.workspace)

    def _promise(self, planned: SweepPlan, show: Callable[[Callable[[], None]], None]) -> None:
        """Read from recent results what the sweep would find."""
        if found := self.workspace.planned_power(planned):
            sentence = f"<p>{html.escape(found.sentence)}.</p>"
            show(lambda: setattr(self.power, "value", sentence))

    def _ask(self, target: Target, spec: SweepSpec) -> None:
        """Ask the server once which values it rejects. Raises ``InputError`` if it has rejected some."""
        asked = (target.url, target.may_change_settings, repr(spec.tried))
        if asked == self._answer[0]:
            self.wrong.value = "".join(f"<p>{html.escape(one)}</p>" for one in (*self._answer[1], *self._answer[2]))
            if self._answer[1]:
                raise InputError("; ".join(self._answer[1]))
            return

        show = self.reading(self.wrong)

        def work() -> None:
            connection = self.workspace.connect(target)
            answer = (asked, connection.problems(spec.tried), connection.memory_warnings(spec.tried))
            show(lambda: self._answered(answer))

        self.in_background(work)

    def _answered(self, answer: tuple[tuple[object, ...], Sequence[str], Sequence[str]]) -> None:
        self._answer = answer
        self.refresh()


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
