"""The fields of a load: what is shown is a ``hdbkit.Load``, and a ``Load`` can be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from hdbkit.config import Load
from hdbkit.widgets.parts.layout import LABELS, grid
from hdbkit.widgets.parts.mix import MixSliders

_WORDS = {
    "routines": {"stored routines": "stored", "client SQL": "client"},
    "input_rules": {"the specification's": "spec", "HammerDB's": "hammerdb"},
    "all_warehouses": {"its own warehouse": False, "any warehouse": True},
    "keying_and_thinking": {"none": False, "as in TPC-C 5.2.5": True},
}


class LoadForm:
    """Fields for a load. Fields of ``Load`` that have no widget here keep the values that were shown."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.virtual_users = ipywidgets.BoundedIntText(description="Virtual users", min=1, max=10_000, style=LABELS)
        self.rampup_s = ipywidgets.BoundedFloatText(description="Rampup (s)", min=0, max=86_400, style=LABELS)
        self.duration_s = ipywidgets.BoundedFloatText(description="Duration (s)", min=0.1, max=604_800, style=LABELS)
        self.routines = self._choice("Routines", "routines")
        self.all_warehouses = self._choice("Each user at", "all_warehouses")
        self.input_rules = self._choice("Inputs by", "input_rules")
        self.keying_and_thinking = self._choice("Thinking", "keying_and_thinking")
        self.label = ipywidgets.Text(
            description="Label", placeholder="to find the run again", continuous_update=False, style=LABELS
        )
        self.fields: dict[str, Any] = {
            name: getattr(self, name) for name in ("virtual_users", "rampup_s", "duration_s", *_WORDS)
        }
        self.mix = MixSliders(load.weights)
        mix = ipywidgets.Accordion([self.mix.widget], titles=["Mix of transactions (%)"], selected_index=None)
        self.widget = ipywidgets.VBox([grid(*self.fields.values(), self.label), mix])
        self.show(load)
        self.input_rules.observe(lambda _: self.mix.show(self.load().weights, self.mix.mix), "value")

    def load(self) -> Load:
        """What the fields say. Raises ``ConfigErrors``."""
        shown = {name: field.value for name, field in self.fields.items()}
        return Load(**{**self._load.model_dump(), **shown, "mix": self.mix.mix})

    def show(self, load: Load) -> None:
        """Put the fields to a load."""
        self._load = load
        for name, value in load.model_dump(mode="json", include=set(self.fields)).items():
            self.fields[name].value = value
        self.mix.show(load.model_copy(update={"mix": None}).weights, load.mix)

    def observe(self, action: Callable[..., None]) -> None:
        """Call ``action`` whenever a field changes."""
        for field in (*self.fields.values(), self.label):
            field.observe(action, "value")
        self.mix.observe(action)

    def code(self) -> str:
        """The arguments of ``Load`` that are not its defaults, as Python."""
        default, said = Load().model_dump(mode="json"), self.load().model_dump(mode="json")
        return ", ".join(f"{name}={value!r}" for name, value in said.items() if value != default[name])

    @staticmethod
    def _choice(text: str, name: str) -> ipywidgets.Dropdown:
        return ipywidgets.Dropdown(description=text, options=_WORDS[name], style=LABELS)
