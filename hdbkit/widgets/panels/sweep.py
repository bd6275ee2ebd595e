"""The sweep panel: its form with settings and options to try, the plan, and what it would find."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ipywidgets

from hdbkit import api
from hdbkit.api import DEFAULT, Workspace
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.config.quantities import counts_in
from hdbkit.config.specs import load_class, load_from
from hdbkit.config.sweep_spec import FILES
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.experiment.kinds.sweep.slicing import on_server_note
from hdbkit.later import pandas as pd
from hdbkit.text import exact_number, many
from hdbkit.widgets.panels.experiment import ExperimentPanel
from hdbkit.widgets.parts.base import Shared, call_code, first_lines, target_code
from hdbkit.widgets.parts.default_phases import DefaultPhases
from hdbkit.widgets.parts.layout import LABELS, button, grid, group, row, until_decided_field
from hdbkit.widgets.parts.model_form import label_of, named
from hdbkit.widgets.parts.sweep_choice import FactorsPicker, SettingsPicker
from hdbkit.widgets.parts.workload_choice import spec_code
from hdbkit.workloads import specification, workload

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
        self, shared: Shared | None = None, *, target: Target | str | None = None, spec: SweepSpec | None = None
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
        show = self.reading("settings")

        def load() -> None:
            settings = self.workspace.connect(target).settings()
            show(lambda: self._offer(settings))

        self.busy_with(f"reading the settings of {target.url} ...", load)

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
    more += " It ends after the block that decides every verdict." if spec.until_decided else ""
    drops = spec.drop_decided and (ends or spec.until_decided)
    more += " A configuration that is decided is not run in later blocks." if drops else ""
    more += f" Then {fresh} further blocks of the three best configurations and the baseline follow." if fresh else ""
    each = f"{plan.slices.described}, " if plan.slices else f"{plan.made_of} x "
    note = on_server_note(plan)
    more += f" {html.escape(note[:1].upper() + note[1:])}." if note else ""
    return (
        f"<b>{many(len(plan.runs), 'run')}</b>: {each}"
        f"{many(len(spec.virtual_users), 'user count')} x {spec.blocks} blocks; "
        f"<b>{plan.time_text}</b>. The first value of each setting or option is "
        f"the baseline.{more}"
    )


DEFAULT_LOAD = Load(rampup_s=10, duration_s=60)
"""The phases of each run, unless the target is a private server."""


class SweepForm:
    """The fields of a sweep; ``spec`` reads them, ``show`` fills them. Other fields of a spec stay as shown."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._base = SweepSpec(settings={"none": ("none",)}, load=DEFAULT_LOAD, blocks=3)
        self._filling = False
        self._wanted: WorkloadSpec | None = None
        self._changed = changed
        self.picker, self.factors = SettingsPicker(self._tell), FactorsPicker(self._tell)
        self.name = _text("Name", "letters, digits, _ and -")
        self.users = _text("Virtual users", "counts, such as 1, 4, 16")
        self.blocks = ipywidgets.BoundedIntText(description="Blocks", min=2, max=1000, style=LABELS)
        self.until_decided = until_decided_field()
        self.looks = _text("Looks", "such as 4, 8")
        self.looks.tooltip = "numbers of blocks after which it ends if all verdicts are decided; the last: all"
        self.winners = ipywidgets.BoundedIntText(description="Winner blocks", min=0, max=1000, style=LABELS)
        self.winners.tooltip = "further blocks of the three best configurations and the baseline at the end; 0: none"
        self.rampup = _seconds("Ramp-up", "seconds before the measured window")
        self.duration = _seconds("Duration", "seconds of the measured window")
        self.cooldown = _text("Cool-down", "at most 10")
        self.cooldown.tooltip = "maximum cool-down; it ends early on an idle host; none: 10 s, or a shorter duration"
        self.effect = ipywidgets.FloatText(description="Effect", step=0.5, style=LABELS)
        self.effect.tooltip = "smallest change of the metric that matters"
        inputs = {
            "name": self.name, "virtual_users": self.users, "blocks": self.blocks,
            "until_decided": self.until_decided, "looks": self.looks,
            "winner_blocks": self.winners, "rampup_s": self.rampup, "duration_s": self.duration,
            "cooldown_s": self.cooldown, "smallest_effect": self.effect,
        }  # fmt: skip
        for name, field in inputs.items():
            named(field, name)
        self.effect.add_class("hdbkit-unit").add_class("hdbkit-unit-percent")
        phases = (self.rampup, self.duration, self.cooldown)
        fields = (
            self.name,
            self.users,
            self.blocks,
            self.until_decided,
            self.looks,
            self.winners,
            *phases,
            self.effect,
        )
        self.box = ipywidgets.VBox([self.picker.box, self.factors.box, grid(*fields, min_width_px=220)])
        self._fill()
        for field in fields:
            field.observe(lambda _: self._tell(), "value")

    @property
    def spec(self) -> SweepSpec:
        """The sweep of the fields. Raises ``InputError`` with every error."""
        settings, factors = self.picker.values, self.factors.values
        files = tuple(self._base.settings_file)
        tried = {**settings, **factors, **({FILES: files} if files else {})}
        if not tried:
            raise InputError("pick at least one setting or option to try")
        users, looks = _counts("virtual_users", self.users.value), _counts("looks", self.looks.value)
        load = self._base.load.model_copy(update={"rampup_s": self.rampup.value, "duration_s": self.duration.value})
        return self._base.with_(
            name=self.name.value.strip(),
            settings=settings,
            factors=factors,
            baseline={name: value for name, value in self._base.baseline.items() if value in tried.get(name, ())},
            special={name: values for name, values in self._base.special.items() if name in tried},
            virtual_users=users,
            blocks=self.blocks.value,
            until_decided=self.until_decided.value,
            looks=looks,
            winner_blocks=self.winners.value,
            cooldown_s=_optional(self.cooldown.value),
            smallest_effect=round(self.effect.value / 100, 6),
            load=load_from(load.given),
            workload=self._wanted,
        )

    def use(self, spec: WorkloadSpec, engine_options: Iterable[str]) -> None:
        """Sweep a workload; the scale and the load options of another workload or schema are dropped."""
        self.factors.use(spec, engine_options)
        for field in (self.rampup, self.duration):
            field.layout.display = "none" if workload(spec).listed(Load()) else None
        if specification(self._wanted).identity != spec.identity:
            self._wanted = None if spec == specification() else spec
            shared = self._base.load.model_dump(include=set(Load.model_fields), exclude_unset=True)
            self._base = self._base.with_(load=Load(**shared))

    def show(self, spec: SweepSpec) -> None:
        """Fill the fields from a sweep."""
        self._base, self._filling, self._wanted = spec, True, spec.workload
        self.picker.show(spec.settings)
        self.factors.show(spec.factors)
        self._fill()
        self._tell()

    def _fill(self) -> None:
        spec, self._filling = self._base, True
        self.name.value = spec.name
        self.users.value = ", ".join(map(str, spec.virtual_users))
        self.blocks.value, self.until_decided.value = spec.blocks, spec.until_decided
        self.looks.value, self.winners.value = ", ".join(map(str, spec.looks)), spec.winner_blocks
        self.rampup.value, self.duration.value = spec.load.rampup_s, spec.load.duration_s
        self.cooldown.value = "" if spec.cooldown_s is None else exact_number(spec.cooldown_s)
        self.effect.value = round(100 * spec.smallest_effect, 4)
        self._filling = False

    def _tell(self) -> None:
        if not self._filling:
            self._changed()


def sweep_code(
    target: Target | None, spec: SweepSpec, may_change: bool = False, workspace: Workspace = DEFAULT
) -> str:
    """The Python code that starts the same sweep, without a password; defaults are omitted."""
    given = spec.model_dump(exclude_defaults=True, mode="json")
    given.pop("workload", None)
    lines = [f"    {name}={_literal(name, value)}," for name, value in given.items()]
    lines += [f"    workload={spec_code(spec.workload)},"] if spec.workload is not None else []
    at = target_code(target, workspace)
    if may_change:
        parse = "hdbkit.Target.parse" if workspace is DEFAULT else "workspace.target"
        at = f"{parse}({at}).with_(may_change_settings=True)"
    return "\n".join(
        [
            f"{first_lines(workspace)}spec = hdbkit.SweepSpec(",
            *lines,
            ")",
            f"running = {call_code(workspace, 'start_sweep', at, 'spec')}",
            "print(running.wait().answer)",
        ]
    )


def _literal(name: str, value: Any) -> str:
    if name != "load":
        return repr(value)
    return f"hdbkit.{load_class(value).__name__}({', '.join(f'{key}={one!r}' for key, one in value.items())})"


def _text(name: str, hint: str) -> ipywidgets.Text:
    return ipywidgets.Text(description=name, placeholder=hint, continuous_update=False, style=LABELS)


def _counts(name: str, text: str) -> tuple[int, ...]:
    """The numbers of a field. Raises ``ConfigErrors``, which names the field."""
    try:
        return counts_in(text, label_of(name).lower())
    except InputError as error:
        raise ConfigErrors("the sweep", [Problem(name, str(error))]) from None


def _optional(text: str) -> float | None:
    """The seconds of a text; None if it is empty."""
    try:
        return float(text) if text.strip() else None
    except ValueError:
        problem = Problem("cooldown_s", f"the cool-down must be a number of seconds, not '{text}'")
        raise ConfigErrors("the sweep", [problem]) from None


def _seconds(name: str, hint: str) -> ipywidgets.FloatText:
    made = ipywidgets.FloatText(description=name, style=LABELS)
    made.tooltip = hint
    return made
