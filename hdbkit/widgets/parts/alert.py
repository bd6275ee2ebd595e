"""An error in a panel, which can take the keyboard's focus and so comes into view and is read aloud."""

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
