"""Which settings a sweep tries: a search over the server's own list, and a line of values for each one picked."""

from __future__ import annotations

import csv
import html
from collections.abc import Callable, Mapping

import ipywidgets
import pandas as pd

from hdbkit.errors import InputError
from hdbkit.widgets.layout import button, row

NEEDS = {
    "session": "takes effect at once",
    "reload": "needs a reload",
    "restart": "needs a restart",
    "fixed": "cannot be changed",
}
MOST_SHOWN = 200


class SettingsPicker:
    """The settings of one server and the values to try; ``changed`` is called whenever the values are others."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed, self._known = changed, pd.DataFrame()
        self._lines: dict[str, _Line] = {}
        self.search = ipywidgets.Text(
            placeholder="part of a name or of what it does, such as buffer",
            layout=ipywidgets.Layout(width="auto", max_width="420px"),
        )
        self.list = ipywidgets.Select(rows=7, layout=ipywidgets.Layout(width="auto"))
        self.about = ipywidgets.HTML().add_class("hdbkit-note")
        self.add = button("Add to the sweep", lambda _: self.pick(self.list.value), hint="try values of this setting")
        self.picked = ipywidgets.VBox()
        self.box = ipywidgets.VBox([self.search, self.list, self.about, row(self.add), self.picked])
        self.search.observe(lambda _: self._show_list(), "value")
        self.list.observe(lambda _: self._show_about(), "value")
        self._show_list()

    def load(self, settings: pd.DataFrame) -> None:
        """Offer the settings of a server, as ``Connection.settings()`` gives them; what was picked stays."""
        self._known = settings[settings["apply_by"] != "fixed"]
        self._show_list()
        for name, line in self._lines.items():
            line.note.value = self._told(name)

    @property
    def loaded(self) -> bool:
        """Whether a server's list is there."""
        return len(self._known) > 0

    def pick(self, name: str | None, values: str | None = None) -> None:
        """Try a setting; ``values`` as they are typed, by default its present one or all choices."""
        if name is None:
            raise InputError("choose a setting in the list first")
        if name not in self._lines:
            text = values if values is not None else self._first_values(name)
            self._lines[name] = _Line(name, text, self._told(name), self._changed, lambda: self.drop(name))
            self._show_picked()

    def drop(self, name: str) -> None:
        """Try it no more."""
        self._lines.pop(name, None)
        self._show_picked()

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values to try of each setting; the first is the baseline's."""
        return {name: values_in(line.values.value) for name, line in self._lines.items()}

    def show(self, settings: Mapping[str, tuple[str, ...]]) -> None:
        """Have exactly these settings and values."""
        self._lines = {}
        for name, values in settings.items():
            self.pick(name, text_of(values))
        self._show_picked()

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
            for name, one in known.head(MOST_SHOWN).iterrows()
        ]
        self.list.options = options
        self.list.value = options[0][1] if options else None
        self._show_about()

    def _show_about(self) -> None:
        name = self.list.value
        self.add.disabled = name is None
        if name is not None:
            self.about.value = self._told(name, str(self._known["description"][name]))
        elif self.loaded:
            self.about.value = f"The server has no setting with '{html.escape(self.search.value)}' in it."
        else:
            self.about.value = "The list comes from the server: read its settings first."

    def _told(self, name: str, more: str = "") -> str:
        """What is to be known of a setting to choose values: now, default, allowed, and what a change takes."""
        if name not in self._known.index:
            return ""
        one = self._known.loc[name]
        unit = f" (in {one['unit']} without a unit)" if isinstance(one["unit"], str) else ""
        words = [
            f"{name}: {more.rstrip('.')}." if more else "",
            f"Now {one['text']}.",
            f"Allowed: {one['allowed']}{unit}." if one["allowed"] else "",
            f"A change {NEEDS[str(one['apply_by'])]}.",
        ]
        return html.escape(" ".join(filter(None, words)))

    def _first_values(self, name: str) -> str:
        one = self._known.loc[name]
        others = one["choices"] or (("on", "off") if one["kind"] == "bool" else ())
        return text_of((str(one["text"]), *(choice for choice in others if choice != one["text"])))

    def _show_picked(self) -> None:
        self.picked.children = tuple(line.box for line in self._lines.values())
        self._changed()


class _Line:
    """A setting that was picked: its name, its values, what is allowed, and a way to be rid of it."""

    def __init__(
        self, name: str, values: str, note: str, changed: Callable[[], None], drop: Callable[[], None]
    ) -> None:
        self.name = ipywidgets.HTML(f"<b>{html.escape(name)}</b>", layout=ipywidgets.Layout(min_width="100px"))
        self.values = ipywidgets.Text(
            value=values,
            placeholder="values, separated by commas, or a range: = 128MB to 1GB factor 2",
            tooltip="values, separated by commas, or a range (= 128MB to 1GB factor 2); the first is the baseline's",
            continuous_update=False,
            layout=ipywidgets.Layout(flex="1 1 140px", width="auto"),
        )
        self.note = ipywidgets.HTML(note).add_class("hdbkit-note")
        self.values.observe(lambda _: changed(), "value")
        remove = button("Remove", lambda _: drop(), hint=f"do not try {name}")
        self.box = ipywidgets.VBox([row(self.name, self.values, remove), self.note]).add_class("hdbkit-setting")


def values_in(text: str) -> tuple[str, ...]:
    """Values separated by commas; one that holds a comma stands in quotes: ``64MB, "a, b"``."""
    return tuple(one.strip() for line in csv.reader([text], skipinitialspace=True) for one in line if one.strip())


def text_of(values: tuple[str, ...]) -> str:
    """Values as they are typed; the inverse of ``values_in``."""
    return ", ".join(f'"{one}"' if "," in one else one for one in values)
