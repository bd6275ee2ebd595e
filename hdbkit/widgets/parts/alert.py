"""An error message in a panel. Focus scrolls it into view, and screen readers then read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

_STATIC = Path(__file__).parents[1] / "static"


class Alert(anywidget.AnyWidget):
    """Shows the HTML in ``value``; ``focus()`` moves the focus to it."""

    _esm: ClassVar[Any] = _STATIC / "alert.js"
    value = traitlets.Unicode("").tag(sync=True)
