"""Notifications of the browser after long work: a button that asks for them, and the notification at the end."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import anywidget

_STATIC = Path(__file__).parents[1] / "static"
LONG_S = 20.0
"""Work that took less is not notified: who started it is likely still there."""


class Bell(anywidget.AnyWidget):
    """Whether to notify is the choice of a browser, for all panels; it does while nobody looks at the page."""

    _esm: ClassVar[Any] = _STATIC / "bell.js"

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._title, self._clock = title, clock
        self._begun_s: float | None = None

    def begin(self) -> None:
        """Work begins."""
        self._begun_s = self._clock()

    def end(self, words: str) -> None:
        """The work ended with this result; each end is notified once, however many pages show the panel."""
        begun_s, self._begun_s = self._begun_s, None
        if begun_s is not None and self._clock() - begun_s >= LONG_S:
            self.send({"title": f"hdbkit: {self._title}", "body": words, "tag": uuid.uuid4().hex})
