"""The fields of a sweep: what it tries, how often and how long; and the equivalent Python code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets

from hdbkit.api import DEFAULT, Workspace
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.config.quantities import counts_in
from hdbkit.config.specs import load_class, load_from
from hdbkit.config.sweep_spec import FILES
from hdbkit.errors import ConfigErrors, InputError, Problem
from hdbkit.text import exact_number
from hdbkit.widgets.parts.layout import LABELS, grid
from hdbkit.widgets.parts.model_form import label_of, named
from hdbkit.widgets.parts.python_code import call_code, first_lines, target_code
from hdbkit.widgets.parts.sweep_factors import FactorsPicker
from hdbkit.widgets.parts.sweep_settings import SettingsPicker
from hdbkit.widgets.parts.workload_choice import spec_code
from hdbkit.workloads import specification, workload

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
            "name": self.name, "virtual_users": self.users, "blocks": self.blocks, "looks": self.looks,
            "winner_blocks": self.winners, "rampup_s": self.rampup, "duration_s": self.duration,
            "cooldown_s": self.cooldown, "smallest_effect": self.effect,
        }  # fmt: skip
        for name, field in inputs.items():
            named(field, name)
        self.effect.add_class("hdbkit-unit").add_class("hdbkit-unit-percent")
        phases = (self.rampup, self.duration, self.cooldown)
        fields = (self.name, self.users, self.blocks, self.looks, self.winners, *phases, self.effect)
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
        self.blocks.value = spec.blocks
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
