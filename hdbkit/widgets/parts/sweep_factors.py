"""Which options of the load and the schema a sweep tries beside settings of the server: its factors."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, get_args

import ipywidgets

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.sweep_factors import LOAD_FACTORS, SCHEMA_FACTORS, factor_texts
from hdbkit.widgets.parts.layout import LABELS, button, row
from hdbkit.widgets.parts.picked_values import PickedValues, text_of


class FactorsPicker:
    """The factors of a sweep and their values; ``changed`` is called whenever they are others."""

    def __init__(self, changed: Callable[[], None]) -> None:
        names = [(name, name) for name in (*LOAD_FACTORS, *SCHEMA_FACTORS)]
        self.list = ipywidgets.Dropdown(
            options=[("an option of the load or the schema", None), *names], description="Try too", style=LABELS
        )
        self.list.layout = ipywidgets.Layout(flex="0 1 420px", width="auto", min_width="0")
        self.add = button("Add the option", lambda _: self.pick(self.list.value), hint="try values of this option")
        self.about = ipywidgets.HTML().add_class("hdbkit-note")
        self._picked = PickedValues(changed)
        self.box = ipywidgets.VBox([row(self.list, self.add), self.about, self._picked.box])
        self.list.observe(lambda _: self._show_about(), "value")
        self._show_about()

    def pick(self, name: str, values: str | None = None) -> None:
        """Try an option; ``values`` as they are typed, by default its default and all other choices."""
        self._picked.pick(name, text_of(_choices(name)) if values is None else values, _told(name))
        self.list.value = None

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values to try of each factor; the first is the baseline's."""
        return self._picked.values

    def show(self, factors: Mapping[str, tuple[str, ...]]) -> None:
        """Have exactly these factors and values."""
        self._picked.have(factors, _told)

    def _show_about(self) -> None:
        self.add.disabled = self.list.value is None
        self.about.value = _told(self.list.value) if self.list.value else ""


def _field(name: str) -> Any:
    return Load.model_fields[name] if name in LOAD_FACTORS else WorkloadSpec.model_fields[name]


def _told(name: str) -> str:
    """What a factor is, and what a change of it takes."""
    takes = "takes effect in the next run" if name in LOAD_FACTORS else "needs the schema built anew"
    return html.escape(f"{name}: {_field(name).description}. A change {takes}.")


def _choices(name: str) -> tuple[str, ...]:
    """The default of an option, and all others where they are few."""
    found: list[object] = [_field(name).default]
    for kind in get_args(_field(name).annotation) or (_field(name).annotation,):
        if kind is bool:
            found += [False, True]
        elif Enum in getattr(kind, "__mro__", ()):
            found += list(kind)
    return factor_texts(name, list(dict.fromkeys(found)))
