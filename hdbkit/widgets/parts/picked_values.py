"""The values that a sweep tries, as typed: a line for each setting or factor."""

from __future__ import annotations

import csv
import html
from collections.abc import Callable, Mapping

import ipywidgets

from hdbkit.widgets.parts.layout import button, row


class PickedValues:
    """Names and their values, in the order of picking; ``changed`` is called at each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lines: dict[str, _Line] = {}
        self.box = ipywidgets.VBox()

    def pick(self, name: str, values: str, note: str) -> None:
        """Add ``name``; the values of a name that is already there stay."""
        if name not in self._lines:
            self._lines[name] = self._line(name, values, note)
            self._show()

    def drop(self, name: str) -> None:
        """Remove a name."""
        self._lines.pop(name, None)
        self._show()

    def have(self, given: Mapping[str, tuple[str, ...]], note: Callable[[str], str]) -> None:
        """Show exactly these names and values; ``note`` gives the note of each."""
        self._lines = {name: self._line(name, text_of(values), note(name)) for name, values in given.items()}
        self._show()

    def annotate(self, note: Callable[[str], str]) -> None:
        """Replace the notes."""
        for name, line in self._lines.items():
            line.note.value = note(name)

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values to try of each name; the first is the baseline's."""
        return {name: values_in(line.values.value) for name, line in self._lines.items()}

    def _line(self, name: str, values: str, note: str) -> _Line:
        return _Line(name, values, note, self._changed, lambda: self.drop(name))

    def _show(self) -> None:
        self.box.children = tuple(line.box for line in self._lines.values())
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


def values_in(text: str) -> tuple[str, ...]:
    """Values separated by commas; a value with a comma is quoted: ``64MB, "a, b"``."""
    return tuple(one.strip() for line in csv.reader([text], skipinitialspace=True) for one in line if one.strip())


def text_of(values: tuple[str, ...]) -> str:
    """Values as typed; the inverse of ``values_in``."""
    return ", ".join(f'"{one}"' if "," in one else one for one in values)
