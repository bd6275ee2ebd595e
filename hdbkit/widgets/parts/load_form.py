"""The fields of a load, with sliders for its mix: they hold a ``hdbkit.Load`` of a workload, and can show one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import ipywidgets

from hdbkit.api import default_load
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.load import WINDOW
from hdbkit.config.specs import MODELS
from hdbkit.errors import HdbkitError
from hdbkit.text import plural
from hdbkit.widgets.parts.layout import button, grid, group, row
from hdbkit.widgets.parts.model_form import MIN_WIDTH_PX, WIDE_LABELS, ModelForm, default_of
from hdbkit.workloads import workload

_FIRST: Final = ("virtual_users", "rampup_s", "duration_s")
"""The shared fields that are always shown; the others are in a section that opens."""
_GROUPS: Final = {
    "Pace": (
        "rate", "rate_of", "arrivals", "latency_limit_ms", "steps", "rampup_max_s", "iterations",
        "keying_and_thinking", "keying_scale", "thinking_scale",
    ),
    "Connections": (
        "users_per_process", "sessions_per_user", "connect_rate", "connect_per_operation", "start_delay_ms",
        "reconnect", "routing", "replica_reads", "cluster", "cut_off_hosts",
    ),
    "Transactions": (
        "isolation", "statement_timeout_ms", "lock_timeout_ms", "max_retries", "raise_error", "read_only",
        "parallel_workers",
    ),
}  # fmt: skip
"""The groups of the other fields; what is in none is about the measurement."""


class LoadForm:
    """Fields for a load of one workload, with sliders for its mix; ``label`` names the run."""

    def __init__(self, load: Load, spec: WorkloadSpec) -> None:
        self.widget = ipywidgets.VBox()
        self.label = ipywidgets.Text(
            description="Label", placeholder="a name to find the run by", continuous_update=False, style=WIDE_LABELS
        )
        self._actions: list[Callable[..., None]] = []
        self.label.observe(self._changed, "value")
        self.use(spec, load)

    def use(self, spec: WorkloadSpec, load: Load | None = None) -> None:
        """Show the fields of another workload; without ``load``, the options of all workloads keep their values."""
        if load is None:
            kept = self.load().model_dump(exclude_unset=True, include=set(Load.model_fields))
            load = Load(**kept)
        self.spec, self._workload, self._model = spec, workload(spec), MODELS[spec.kind].load
        own = {n: field for n, field in self._model.model_fields.items() if n not in Load.model_fields}
        weights = [name for name, field in own.items() if "dict" in str(field.annotation)]
        self._mix_field = weights[0] if weights else ""
        typed = {n: field for n, field in self._model.model_fields.items() if n not in weights}
        self.form = ModelForm(typed)
        self.fields: dict[str, Any] = self.form.inputs
        self.mix = MixSliders(self._workload.mix(self._planned(load)), self._workload.noun)
        without = WINDOW if self._workload.listed(Load()) else ()
        shared = [name for name in Load.model_fields if name not in without]
        always = [name for name in _FIRST if name in shared]
        groups = {f"Options of {self._workload.title}": [name for name in own if name in typed]}
        groups |= {title: [name for name in names if name in shared] for title, names in _GROUPS.items()}
        grouped = {*_FIRST, *(name for names in groups.values() for name in names)}
        groups["Measurement"] = [name for name in shared if name not in grouped]
        self._advanced = [name for names in groups.values() for name in names]
        parts = [
            part
            for title, names in groups.items()
            if names
            for part in (group(title), grid(*self.form.pick(names), min_width_px=MIN_WIDTH_PX))
        ]
        if self._mix_field and self.mix.sliders:
            parts = [group(f"Mix of {plural(self._workload.noun)} (%)"), self.mix.widget, *parts]
        self.advanced = ipywidgets.Accordion([ipywidgets.VBox(parts)], titles=["Advanced"], selected_index=None)
        self.show(load)
        self.form.observe(self._changed)
        self.mix.observe(self._changed)
        self.widget.children = [
            group("Load"),
            grid(*self.form.pick(always), min_width_px=220),
            group("Naming"),
            grid(self.label, min_width_px=MIN_WIDTH_PX),
            self.advanced,
        ]
        self._count()

    def load(self) -> Load:
        """What the fields hold. Raises ``ConfigErrors``."""
        mix = {self._mix_field: self.mix.mix} if self.mix.mix is not None else {}
        return self._model(**{**self.form.values, **mix})

    def show(self, load: Load) -> None:
        """Fill the fields from a load. Raises ``ConfigErrors`` for one of another workload."""
        shown = self._workload.load(load)
        self.form.show(shown.model_dump())
        self.mix.show(self._workload.mix(self._planned(shown)), getattr(shown, self._mix_field, None))

    def observe(self, action: Callable[..., None]) -> None:
        """Call ``action`` whenever a field changes."""
        self._actions.append(action)

    def code(self) -> str:
        """The load as Python; defaults are omitted."""
        said = self.load().model_dump(mode="json")
        default = {name: default_of(field) for name, field in self._model.model_fields.items()}
        given = {name: value for name, value in said.items() if value != default[name]}
        model = Load if given.keys() <= Load.model_fields.keys() else self._model
        return f"hdbkit.{model.__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def _planned(self, load: Load) -> Load:
        """``load`` with the mix that its other options plan."""
        kept = load.model_dump(exclude_unset=True, exclude={self._mix_field})
        return self._model(**kept)

    def _count(self) -> None:
        """State in the title of the section how many of its fields are not as by default."""
        with suppress(HdbkitError):
            changed = len(self.form.values.keys() & {*self._advanced}) + (self.mix.mix is not None)
            self.advanced.set_title(0, f"Advanced  \N{BLACK CIRCLE} {changed} changed" if changed else "Advanced")

    def _changed(self, change: Any) -> None:
        self._count()
        if change["owner"] in self.fields.values():
            with suppress(HdbkitError):  # the caller of ``load`` reports an invalid value
                self.mix.show(self._workload.mix(self._planned(self.load())), self.mix.mix)
        for action in self._actions:
            action(change)


# The default phases of a form: they follow the target until somebody changes them.


class DefaultPhases:
    """Seconds on a private server, ``own`` on any other target."""

    def __init__(self, own: Load) -> None:
        self._own = self._shown = own

    def use(self, target: Target | None, rampup: Any, duration: Any) -> None:
        """Put the default for a target into two inputs, unless they show something else than the last default."""
        before = self._shown
        self._shown = self._own if target is None or target.server_folder is None else default_load(target)
        if (rampup.value, duration.value) == (before.rampup_s, before.duration_s):
            rampup.value, duration.value = self._shown.rampup_s, self._shown.duration_s


WHOLE = 1000
"""100 % in tenths: whole numbers, so that a sum is exact."""


def balanced(tenths: Mapping[str, int], moved: str) -> dict[str, int]:
    """The mix after one part was moved: the others share the rest in the proportion that they had.

    Where the others were all 0, they share it evenly. The sum is exactly ``WHOLE``.
    """
    rest = WHOLE - tenths[moved]
    weights = {name: part for name, part in tenths.items() if name != moved}
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1)
    return {**dict.fromkeys(tenths, tenths[moved]), **shared_out(weights, rest)}


def shared_out(weights: Mapping[str, float], whole: int) -> dict[str, int]:
    """``whole`` in integers, in proportion to ``weights``; the rest from rounding goes to the largest remainders."""
    total = sum(weights.values())
    exact = {name: whole * weight / total for name, weight in weights.items()}
    parts = {name: int(part) for name, part in exact.items()}
    by_remainder = sorted(exact, key=lambda name: parts[name] - exact[name])
    for name in by_remainder[: whole - sum(parts.values())]:
        parts[name] += 1
    return parts


class MixSliders:
    """Sliders for a mix; ``mix`` is None until a user moves one, then weights in percent."""

    def __init__(self, weights: Mapping[str, float], noun: str) -> None:
        self._own = dict(weights)
        self._moved = self._moving = False
        self.sliders = {
            name: ipywidgets.FloatSlider(
                description=name.replace("_", " "), min=0, max=100, step=0.1, readout_format=".1f",
                continuous_update=False, style={"description_width": "148px"}, layout=ipywidgets.Layout(width="auto"),
            )
            for name in (weights if len(weights) > 1 else ())
        }  # fmt: skip
        for name, slider in self.sliders.items():
            slider.observe(lambda _, name=name: self._slid(name), "value")
        self.reset = button(
            "Default mix", lambda _: self.show(self._own, None), hint=f"default weights of {plural(noun)}"
        )
        self.widget = ipywidgets.VBox([grid(*self.sliders.values(), min_width_px=300), row(self.reset)])
        self.show(weights, None)

    @property
    def mix(self) -> dict[str, float] | None:
        """The weights in percent; None: the workload's own."""
        return {name: slider.value for name, slider in self.sliders.items()} if self._moved else None

    def show(self, weights: Mapping[str, float], mix: Mapping[str, float] | None) -> None:
        """Set the sliders to ``mix``, or to the workload's own ``weights`` if it is None."""
        self._own, self._moved = dict(weights), mix is not None
        if not self.sliders:
            return
        self._put(shared_out(weights if mix is None else {name: mix.get(name, 0.0) for name in weights}, WHOLE))

    def observe(self, action: Any) -> None:
        """Call ``action`` whenever the mix may have changed."""
        for slider in self.sliders.values():
            slider.observe(action, "value")

    def _slid(self, name: str) -> None:
        if not self._moving:
            self._moved = True
            self._put(balanced({name: round(10 * slider.value) for name, slider in self.sliders.items()}, name))

    def _put(self, tenths: Mapping[str, int]) -> None:
        self._moving = True
        try:
            for name, part in tenths.items():
                self.sliders[name].value = part / 10
        finally:
            self._moving = False
