"""The settings of a sweep: a search in the server's own list, and a line of values for each setting."""

from __future__ import annotations

import html
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import ipywidgets
import pandas as pd

from hdbkit.errors import InputError
from hdbkit.widgets.parts.layout import button, row
from hdbkit.widgets.parts.picked_values import PickedValues, text_of

NEEDS = {
    "session": "takes effect at once",
    "reload": "needs a reload",
    "restart": "needs a restart",
    "fixed": "cannot be changed",
}
MAX_SHOWN = 200


class SettingsPicker:
    """The settings of one server and the values to try; ``changed`` is called at each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._known = pd.DataFrame()
        self.search = ipywidgets.Text(
            description="Search",
            placeholder="part of a name or of what it does, such as buffer",
            layout=ipywidgets.Layout(width="auto", max_width="420px"),
        )
        self.search.add_class("hdbkit-unlabelled")
        self.list = ipywidgets.Select(description="Settings", rows=7, layout=ipywidgets.Layout(width="auto"))
        self.list.add_class("hdbkit-unlabelled")
        self.about = ipywidgets.HTML().add_class("hdbkit-note")
        self.add = button("Add to the sweep", lambda _: self.pick(self.list.value), hint="try values of this setting")
        self._picked = PickedValues(changed)
        self.box = ipywidgets.VBox([self.search, self.list, self.about, row(self.add), self._picked.box])
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
        self._picked.annotate(self._about_setting)

    @property
    def loaded(self) -> bool:
        """Whether a server's list is loaded."""
        return len(self._known) > 0

    def pick(self, name: str | None, values: str | None = None) -> None:
        """Try a setting; ``values`` as typed, by default the current value and all choices."""
        if name is None:
            raise InputError("choose a setting in the list first")
        self._picked.pick(name, values if values is not None else self._first_values(name), self._about_setting(name))

    def drop(self, name: str) -> None:
        """Remove a setting."""
        self._picked.drop(name)

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values to try of each setting; the first is the baseline's."""
        return self._picked.values

    def show(self, settings: Mapping[str, tuple[str, ...]]) -> None:
        """Show exactly these settings and values."""
        self._picked.have(settings, self._about_setting)

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
            self.about.value = self._about_setting(name, str(self._known["description"][name]))
        elif self.loaded:
            self.about.value = f"No setting of the server contains '{html.escape(self.search.value)}'."
        else:
            self.about.value = "The server provides the list: read its settings first."

    def _about_setting(self, name: str, more: str = "") -> str:
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
