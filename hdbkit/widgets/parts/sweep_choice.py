"""What a sweep tries: settings of the server, options of load and schema, and a line of values for each."""

from __future__ import annotations

import csv
import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import Enum
from typing import Any, get_args

import ipywidgets

from hdbkit.config import WorkloadSpec
from hdbkit.config.specs import MODELS
from hdbkit.config.sweep_factors import OF_TARGET, factor_texts, load_factors, schema_factors
from hdbkit.later import pandas as pd
from hdbkit.widgets.parts.layout import LABELS, button, row
from hdbkit.widgets.parts.model_form import default_of

NEEDS = {
    "session": "takes effect at once",
    "reload": "needs a reload",
    "restart": "needs a restart",
    "fixed": "cannot be changed",
}
MAX_SHOWN = 200


class _Picker(ABC):
    """A list to pick from, and a line for each name that was picked; ``changed`` is called at each change."""

    list: Any

    def __init__(self, changed: Callable[[], None], words: str, hint: str) -> None:
        self._changed = changed
        self.add = button(words, lambda _: self.pick(self.list.value), hint=hint)
        self.about = ipywidgets.HTML().add_class("hdbkit-note")
        self._lines: dict[str, _Line] = {}
        self._picked = ipywidgets.VBox()

    @abstractmethod
    def _note(self, name: str) -> str:
        """What a name is, and the effect of a change."""

    @abstractmethod
    def _first_values(self, name: str) -> str:
        """The values that are tried of a name unless others are typed."""

    def pick(self, name: str, values: str | None = None) -> None:
        """Try ``values`` of a name, as typed; those of a name that is already there stay."""
        if name not in self._lines:
            self._lines[name] = self._line(name, self._first_values(name) if values is None else values)
            self._show_lines()

    def drop(self, name: str) -> None:
        """Remove a name."""
        self._lines.pop(name, None)
        self._show_lines()

    def show(self, given: Mapping[str, tuple[str, ...]]) -> None:
        """Show exactly these names and values."""
        self._lines = {name: self._line(name, text_of(values)) for name, values in given.items()}
        self._show_lines()

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values to try of each name, in the order of picking; the first is the baseline's."""
        return {name: values_in(line.values.value) for name, line in self._lines.items()}

    def _line(self, name: str, values: str) -> _Line:
        return _Line(name, values, self._note(name), self._changed, lambda: self.drop(name))

    def _show_lines(self) -> None:
        self._picked.children = tuple(line.box for line in self._lines.values())
        self._changed()


class _Line:
    """One name: its values, the allowed values, and a button to remove it."""

    def __init__(
        self, name: str, values: str, note: str, changed: Callable[[], None], drop: Callable[[], None]
    ) -> None:
        self.name = ipywidgets.HTML(f"<b>{html.escape(name)}</b>", layout=ipywidgets.Layout(min_width="100px"))
        self.values = ipywidgets.Text(
            value=values,
            description=f"Values of {name}",
            placeholder="values, separated by commas, or a range: = 128MB to 1GB factor 2",
            tooltip="values, separated by commas, or a range (= 128MB to 1GB factor 2); the first is the baseline's",
            continuous_update=False,
            layout=ipywidgets.Layout(flex="1 1 140px", width="auto"),
        )
        self.values.add_class("hdbkit-unlabelled")
        self.note = ipywidgets.HTML(note).add_class("hdbkit-note")
        self.values.observe(lambda _: changed(), "value")
        remove = button("Remove", lambda _: drop(), hint=f"do not try {name}")
        self.box = ipywidgets.VBox([row(self.name, self.values, remove), self.note]).add_class("hdbkit-setting")


class SettingsPicker(_Picker):
    """The settings of one server and the values to try."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__(changed, "Add to the sweep", "try values of this setting")
        self._known = pd.DataFrame()
        self.search = ipywidgets.Text(
            description="Search",
            placeholder="part of a name or of what it does, such as buffer",
            layout=ipywidgets.Layout(width="auto", max_width="420px"),
        )
        self.search.add_class("hdbkit-unlabelled")
        self.list = ipywidgets.Select(description="Settings", rows=7, layout=ipywidgets.Layout(width="auto"))
        self.list.add_class("hdbkit-unlabelled")
        self.box = ipywidgets.VBox([self.search, self.list, self.about, row(self.add), self._picked])
        self.search.observe(lambda _: self._show_list(), "value")
        self.list.observe(lambda _: self._show_about(), "value")
        self._show_list()

    def load(self, settings: pd.DataFrame) -> None:
        """Offer the settings of a server, as ``Connection.settings()`` gives them; picked settings stay.

        Sizes are first, then other quantities, then choices and numbers; texts, which hardly change speed, are last.
        """
        known = settings[settings["apply_by"] != "fixed"]
        self._known = known.assign(at=[_place(one) for one in known.to_dict("records")]).sort_values(
            "at", kind="stable"
        )
        self._show_list()
        for name, line in self._lines.items():
            line.note.value = self._note(name)

    @property
    def loaded(self) -> bool:
        """Whether a server's list is loaded."""
        return len(self._known) > 0

    # -- what is shown ------------------------------------------------------------------------------------

    def _show_list(self) -> None:
        word = self.search.value.strip().lower()
        known = self._known
        if word and len(known):
            inside = known.index.str.lower().str.contains(word, regex=False)
            known = known[inside | known["description"].str.lower().str.contains(word, regex=False)]
            known = known.assign(at=[not name.lower().count(word) for name in known.index]).sort_values(
                "at", kind="stable"
            )
        options = [
            (f"{name} = {one['text']}   ({NEEDS[str(one['apply_by'])]})", name)
            for name, one in known.head(MAX_SHOWN).iterrows()
        ]
        self.list.options = options
        self.list.value = options[0][1] if options else None
        self._show_about()

    def _show_about(self) -> None:
        name = self.list.value
        self.add.disabled = name is None
        if name is not None:
            self.about.value = self._note(name, str(self._known["description"][name]))
        elif self.loaded:
            self.about.value = f"No setting of the server contains '{html.escape(self.search.value)}'."
        else:
            self.about.value = "The server provides the list: read its settings first."

    def _note(self, name: str, more: str = "") -> str:
        """A setting's current value, its allowed values, and what a change requires."""
        if name not in self._known.index:
            return ""
        one = self._known.loc[name]
        unit = f" (in {one['unit']} without a unit)" if isinstance(one["unit"], str) else ""
        words = [
            f"{name}: {more.rstrip('.')}." if more else "",
            f"Current value: {one['text']}.",
            f"Allowed: {one['allowed']}{unit}." if one["allowed"] else "",
            f"A change {NEEDS[str(one['apply_by'])]}.",
        ]
        return html.escape(" ".join(filter(None, words)))

    def _first_values(self, name: str) -> str:
        one = self._known.loc[name]
        others = one["choices"] or (("on", "off") if one["kind"] == "bool" else ())
        return text_of((str(one["text"]), *(choice for choice in others if choice != one["text"])))


def _place(setting: Mapping[Hashable, Any]) -> int:
    """The place of a setting's kind in the list."""
    if isinstance(setting["unit"], str):
        return 0 if setting["unit"].endswith("B") else 1
    return {"size": 0, "string": 3, "list": 3}.get(str(setting["kind"]), 2)


class FactorsPicker(_Picker):
    """The factors of a sweep, options of the load and the schema, and their values."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__(changed, "Add the option", "try values of this option")
        self.list = ipywidgets.Dropdown(description="Options", style=LABELS)
        self.list.layout = ipywidgets.Layout(flex="0 1 420px", width="auto", min_width="0")
        self.box = ipywidgets.VBox([row(self.list, self.add), self.about, self._picked])
        self.list.observe(lambda _: self._show_about(), "value")
        self._show_about()

    def use(self, spec: WorkloadSpec, engine_options: Iterable[str]) -> None:
        """Offer the options of a workload, and those that a schema has on the target's engine."""
        known = {*MODELS[spec.kind].load.model_fields, *type(spec).model_fields, *engine_options}
        names = [(name, name) for name in _factors() if name in known]
        self.list.options = [("an option of the load or the schema", ""), *names]

    def pick(self, name: str, values: str | None = None) -> None:
        super().pick(name, values)
        self.list.value = ""

    def _show_about(self) -> None:
        self.add.disabled = not self.list.value
        self.about.value = self._note(self.list.value) if self.list.value else ""

    def _note(self, name: str) -> str:
        if name.startswith(OF_TARGET):
            return html.escape(f"{name}: an option of the target. A change takes effect in the next run.")
        takes = "takes effect in the next run" if name in load_factors() else "rebuilds the schema"
        return html.escape(f"{name}: {_factors()[name].description}. A change {takes}.")

    def _first_values(self, name: str) -> str:
        """The default of an option, and all others where they are few; not none where that means one of them."""
        field = _factors()[name]
        found: list[object] = [default_of(field)]
        for kind in get_args(field.annotation) or (field.annotation,):
            if kind is bool:
                found += [False, True]
            elif Enum in getattr(kind, "__mro__", ()):
                found = [one for one in found if one is not None] + list(kind)
        return text_of(factor_texts(name, list(dict.fromkeys(found))))


def _factors() -> dict[str, Any]:
    return {**load_factors(), **schema_factors()}


def values_in(text: str) -> tuple[str, ...]:
    """Values separated by commas; a value with a comma is quoted: ``64MB, "a, b"``."""
    return tuple(one.strip() for line in csv.reader([text], skipinitialspace=True) for one in line if one.strip())


def text_of(values: tuple[str, ...]) -> str:
    """Values as typed; the inverse of ``values_in``."""
    quoted = ('"{}"'.format(value.replace('"', '""')) if {",", '"'} & {*value} else value for value in values)
    return ", ".join(quoted)
