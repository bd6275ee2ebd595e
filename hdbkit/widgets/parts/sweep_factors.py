"""The factors of a sweep: options of the load and the schema, tried beside settings of the server."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, get_args

import ipywidgets

from hdbkit.config import WorkloadSpec
from hdbkit.config.specs import MODELS
from hdbkit.config.sweep_factors import OF_TARGET, factor_texts, load_factors, schema_factors
from hdbkit.widgets.parts.layout import LABELS, button, row
from hdbkit.widgets.parts.model_form import default_of
from hdbkit.widgets.parts.picked_values import PickedValues, text_of


class FactorsPicker:
    """The factors of a sweep and their values; ``changed`` is called at each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.list = ipywidgets.Dropdown(description="Options", style=LABELS)
        self.list.layout = ipywidgets.Layout(flex="0 1 420px", width="auto", min_width="0")
        self.add = button("Add the option", lambda _: self.pick(self.list.value), hint="try values of this option")
        self.about = ipywidgets.HTML().add_class("hdbkit-note")
        self._picked = PickedValues(changed)
        self.box = ipywidgets.VBox([row(self.list, self.add), self.about, self._picked.box])
        self.list.observe(lambda _: self._show_about(), "value")
        self._show_about()

    def use(self, spec: WorkloadSpec, engine_options: Iterable[str]) -> None:
        """Offer the options of a workload, and those that a schema has on the target's engine."""
        known = {*MODELS[spec.kind].load.model_fields, *type(spec).model_fields, *engine_options}
        names = [(name, name) for name in _factors() if name in known]
        self.list.options = [("an option of the load or the schema", ""), *names]

    def pick(self, name: str, values: str | None = None) -> None:
        """Try an option; ``values`` as typed, by default its default and all other choices."""
        self._picked.pick(name, text_of(_choices(name)) if values is None else values, _about_factor(name))
        self.list.value = ""

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values to try of each factor; the first is the baseline's."""
        return self._picked.values

    def show(self, factors: Mapping[str, tuple[str, ...]]) -> None:
        """Show exactly these factors and values."""
        self._picked.have(factors, _about_factor)

    def _show_about(self) -> None:
        self.add.disabled = not self.list.value
        self.about.value = _about_factor(self.list.value) if self.list.value else ""


def _factors() -> dict[str, Any]:
    return {**load_factors(), **schema_factors()}


def _field(name: str) -> Any:
    return _factors()[name]


def _about_factor(name: str) -> str:
    """What a factor is, and the effect of a change."""
    if name.startswith(OF_TARGET):
        return html.escape(f"{name}: an option of the target. A change takes effect in the next run.")
    takes = "takes effect in the next run" if name in load_factors() else "rebuilds the schema"
    return html.escape(f"{name}: {_field(name).description}. A change {takes}.")


def _choices(name: str) -> tuple[str, ...]:
    """The default of an option, and all others where they are few; none is left out where it means one of them."""
    found: list[object] = [default_of(_field(name))]
    for kind in get_args(_field(name).annotation) or (_field(name).annotation,):
        if kind is bool:
            found += [False, True]
        elif Enum in getattr(kind, "__mro__", ()):
            found = [one for one in found if one is not None] + list(kind)
    return factor_texts(name, list(dict.fromkeys(found)))
