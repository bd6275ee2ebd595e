"""A link to a file of the kernel's host, which the browser need not be able to reach.

The bytes go to the browser when they are offered; they are no trait, so the notebook does not keep them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import anywidget

from hdbkit.widgets.parts.base import STATIC


class FileLink(anywidget.AnyWidget):
    """Shows nothing until something is offered."""

    _esm: ClassVar[Any] = STATIC / "file_link.js"

    def offer(self, name: str, content: bytes, kind: str, *, opens: bool = False) -> None:
        """A link of this name to ``content`` of a media type; ``opens``: shown in a new tab, else downloaded."""
        self.send({"name": name, "kind": kind, "open": opens}, [content])
