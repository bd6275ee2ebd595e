"""Links to files of the kernel's host, even if the browser cannot reach that host.

The bytes go to the browser when they are offered; they are no trait, so the notebook does not keep them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import anywidget

from hdbkit.widgets.parts.base import STATIC, Panel
from hdbkit.widgets.parts.layout import button, row


class FileLink(anywidget.AnyWidget):
    """Shows nothing until something is offered."""

    _esm: ClassVar[Any] = STATIC / "file_link.js"

    def offer(self, name: str, content: bytes, kind: str, *, opens: bool = False) -> None:
        """A link of this name to ``content`` of a media type; ``opens``: shown in a new tab, else downloaded."""
        self.send({"name": name, "kind": kind, "open": opens}, [content])

    def offer_report(self, name: str, path: Path) -> None:
        """A link of this name that opens a report."""
        self.offer(name, path.read_bytes(), "text/html", opens=True)


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
