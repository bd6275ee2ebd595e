"""Rows, grids, buttons, questions, links to files and small tables of the panels, for narrow and wide pages."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import ipywidgets

from hdbkit.files import read_bytes
from hdbkit.widgets.parts.base import STATIC, Panel

LABELS = {"description_width": "92px"}
"""The style of a field in a grid: labels of one width."""


def grid(*children: ipywidgets.Widget, min_width_px: int = 270) -> ipywidgets.Widget:
    """Fields side by side, as many per line as fit."""
    columns = f"repeat(auto-fill, minmax(min({min_width_px}px, 100%), 1fr))"
    layout = ipywidgets.Layout(display="grid", grid_template_columns=columns, grid_gap="4px 16px", width="100%")
    return ipywidgets.GridBox(children, layout=layout).add_class("hdbkit-grid")


def group(title: str) -> ipywidgets.HTML:
    """The title of a group of fields."""
    return ipywidgets.HTML(html.escape(title)).add_class("hdbkit-group")


def row(*children: ipywidgets.Widget) -> ipywidgets.Widget:
    """Buttons and notes in a line, which breaks where the page is narrow."""
    layout = ipywidgets.Layout(flex_flow="row wrap", align_items="center", width="100%")
    return ipywidgets.HBox(children, layout=layout).add_class("hdbkit-row")


class Question:
    """A question before what cannot be undone: a button that does it, and Keep. Hidden until it is asked."""

    def __init__(self, words: str, action: Callable[[], None], *, hint: str) -> None:
        self.words = ipywidgets.HTML()
        self.do_it = button(words, lambda _: self._answered(action), style="danger", hint="there is no way back")
        self.keep_it = button("Keep", lambda _: self.hide(), hint=hint)
        self.box = ipywidgets.VBox([self.words, row(self.do_it, self.keep_it)]).add_class("hdbkit-ask")
        self.hide()

    def ask(self, words: str) -> None:
        """Ask it, in HTML."""
        self.words.value = words
        self.box.layout.display = ""

    def hide(self) -> None:
        """Hide it, unanswered."""
        self.box.layout.display = "none"

    def _answered(self, action: Callable[[], None]) -> None:
        self.hide()
        action()


_ICONS = {
    **dict.fromkeys(("Run", "Start", "Start the sweep", "Resume"), "play"),
    "Stop": "stop",
    **dict.fromkeys(("Search", "Examine"), "search"),
    **dict.fromkeys(("Start a private server", "Read the server's settings"), "server"),
    **dict.fromkeys(("Delete ...", "Drop ...", "Stop and remove its data"), "trash"),
    **{"Refresh the list": "refresh", "Pin as baseline": "pin"},
    **{"Build": "build", "Check": "check", "Compare": "compare", "CSV": "save"},
    **{"Report": "report", "Tag": "tag", "Test connection": "plug"},
}
"""The icons of ``panel.css`` by the words of buttons."""


def button(text: str, action: Callable[..., None], *, style: str = "", hint: str) -> ipywidgets.Button:
    """A button as wide as its text, and a hint on hover; ``style`` is one of ipywidgets' (primary, danger, ...)."""
    made = ipywidgets.Button(
        description=text, button_style=style, tooltip=hint, layout=ipywidgets.Layout(width="auto")
    )
    made.on_click(action)
    return made.add_class(f"hdbkit-icon-{_ICONS[text]}") if text in _ICONS else made


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table as HTML; every value is escaped."""
    top = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
    lines = "".join(f"<tr>{''.join(f'<td>{html.escape(str(value))}</td>' for value in one)}</tr>" for one in rows)
    head = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    table = f"<table>{head}<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
    name = html.escape(caption or "table")
    return f'<div class="hdbkit-table" tabindex="0" role="region" aria-label="{name}">{table}</div>'


class FileLink(anywidget.AnyWidget):
    """A link to a file of the kernel's host, even if the browser cannot reach that host; empty until one is offered.

    The bytes go to the browser when they are offered; they are no trait, so the notebook does not keep them.
    """

    _esm: ClassVar[Any] = STATIC / "file_link.js"

    def offer(self, name: str, content: bytes, kind: str, *, opens: bool = False) -> None:
        """A link of this name to ``content`` of a media type; ``opens``: shown in a new tab, else downloaded."""
        self.send({"name": name, "kind": kind, "open": opens}, [content])

    def offer_report(self, name: str, path: Path) -> None:
        """A link of this name that opens a report."""
        self.offer(name, read_bytes(path), "text/html", opens=True)


class ReportLink:
    """A button that writes a report, and a link that opens it; hidden until there is a result."""

    def __init__(self, panel: Panel, name: str = "Report", hint: str = "writes the report and links it") -> None:
        self._panel = panel
        self._write: Callable[[], Path] | None = None
        self._link = FileLink()
        self.button = button(name, panel.guarded(self._make), hint=hint)
        self.box = row(self.button)
        self.hide()

    def hide(self) -> None:
        """Hide the button and the link."""
        self.box.layout.display = "none"

    def show(self, write: Callable[[], Path]) -> None:
        """Offer the report that ``write`` makes; the link to an earlier one is removed."""
        self._write, self._link = write, FileLink()
        self.box.children = (self.button, self._link)
        self.box.layout.display = ""

    def _make(self) -> None:
        write, link = self._write, self._link
        assert write is not None

        def work() -> None:
            path = write()
            link.offer_report("open the report", path)
            self._panel.say(f"the report is {path}")

        self._panel.busy_with("writing the report ...", work)


def until_decided_field() -> ipywidgets.Checkbox:
    """A field for whether an experiment ends when it is decided."""
    hint = "end after the block that decides every verdict; the number of blocks is the maximum"
    return ipywidgets.Checkbox(description="Until decided", tooltip=hint, indent=False)
