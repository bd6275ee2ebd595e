"""What a notebook shows while its kernel lives, and keeps without it: places for panels and charts."""

from __future__ import annotations

import base64
import html
import threading
import uuid
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import ipywidgets
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import display

_STATIC = Path(__file__).parent


class Slot(anywidget.AnyWidget):
    """Fills every element of its class with a view of ``root``; ``words`` are the still until there is another.

    ``look`` is a further class of these elements, for style sheets.
    """

    _esm: ClassVar[Any] = _STATIC / "slot.js"
    _css: ClassVar[Any] = _STATIC / "slot.css"
    root = traitlets.Instance(ipywidgets.Widget).tag(sync=True, **ipywidgets.widget_serialization)
    slot = traitlets.Unicode("").tag(sync=True)

    def __init__(self, root: ipywidgets.Widget, words: str = "", look: str = "") -> None:
        super().__init__(root=root, slot=f"hdbkit-slot-{uuid.uuid4().hex}")
        self._words = words or "A panel of hdbkit: run the cell to activate it."
        self._still = f"<p>{html.escape(self._words)}</p>"
        self._png: bytes | None = None
        self._shown = False
        self._look = look
        self.on_msg(self._asked)

    def show(self) -> None:
        """Display the panel in the present cell."""
        self._shown = True
        display(self._bundle(), raw=True, display_id=self.slot)  # type: ignore[no-untyped-call]

    def keep(self, still: str, png: bytes | None = None) -> None:
        """From now on the notebook keeps this HTML and picture for the panel, wherever it is shown."""
        self._still, self._png = still, png
        if self._shown:
            display(self._bundle(), raw=True, display_id=self.slot, update=True)  # type: ignore[no-untyped-call]
            self._send_still()

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        if content == {"kind": "hello"} and self._shown:
            alone(self._send_still)

    def _send_still(self) -> None:
        self.send({"kind": "still", "bundle": self._bundle()})

    def _bundle(self) -> dict[str, str]:
        picture = ""
        bundle = {"text/plain": self._words}
        if self._png is not None:
            bundle["image/png"] = base64.b64encode(self._png).decode()
            picture = f'<img alt="" style="max-width: 100%" src="data:image/png;base64,{bundle["image/png"]}">'
        kept = f"{self._still}{picture}"
        still = f'<div class="hdbkit-still">{kept}</div>' if kept else ""
        return {**bundle, "text/html": f'<div class="{f"{self.slot} {self._look}".rstrip()}"></div>{still}'}


def alone(work: Callable[[], object]) -> None:
    """Do ``work`` now; what it sends answers no request."""
    copy_context().run(_answer_none, work)


def background(work: Callable[[], object], name: str) -> None:
    """Do ``work`` alone, in a thread of this name that does not keep the process."""
    threading.Thread(target=alone, args=(work,), name=name, daemon=True).start()


def _answer_none(work: Callable[[], object]) -> None:
    parent = getattr(getattr(get_ipython(), "kernel", None), "_shell_parent", None)
    if isinstance(parent, ContextVar):  # where the kernel keeps one for each thread
        parent.set({})
    work()
