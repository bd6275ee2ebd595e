"""The fields of a load, with sliders for its mix: they hold a ``hdbkit.Load`` of a workload, and can show one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import ipywidgets

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.load import WINDOW
from hdbkit.config.specs import MODELS
from hdbkit.errors import HdbkitError
from hdbkit.text import plural
from hdbkit.widgets.parts.layout import grid, group
from hdbkit.widgets.parts.mix_sliders import MixSliders
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
