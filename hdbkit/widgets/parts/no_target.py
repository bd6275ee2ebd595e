"""What a panel shows while no target is chosen: where to choose one."""

from __future__ import annotations

import html

import ipywidgets

from hdbkit.widgets.parts.base import Shared


def no_target(shared: Shared, argument: str) -> ipywidgets.Widget:
    """A note that hides itself once a target is chosen; ``argument`` is how the panel takes one in Python."""
    words = f"No target is chosen yet: choose one or start a private server in the panel Target, or pass {argument}."
    note = ipywidgets.HTML(html.escape(words)).add_class("hdbkit-empty")

    def show(_: object = None) -> None:
        note.layout.display = "none" if shared.target is not None else ""

    shared.observe(show, "target")
    show()
    return note
