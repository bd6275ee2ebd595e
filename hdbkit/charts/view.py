"""Charts as a widget: drawn by the layer of reports, in the colours of the notebook's theme, while the kernel lives.

The figures go to the browser when it asks for them, and so does plotly.js, once a page; neither is a trait, so the
notebook keeps none of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from hdbkit.charts.chart import Chart
from hdbkit.charts.style import CONFIG, NAMES, layer_css, layer_script, palette_css, plotly_script
from hdbkit.in_notebook import alone

_BROWSER = Path(__file__).parent / "browser"


class ChartView(anywidget.AnyWidget):
    """Shows charts, one below the other; ``opened`` is called with the id of a run whose dot is clicked."""

    _esm: ClassVar[Any] = layer_script() + (_BROWSER / "view.js").read_text(encoding="utf-8")
    _css: ClassVar[Any] = (
        palette_css(".hdbkit-chart") + layer_css() + (_BROWSER / "view.css").read_text(encoding="utf-8")
    )
    opens = traitlets.Bool(False).tag(sync=True)

    def __init__(self, charts: Iterable[Chart] = (), opened: Callable[[str], object] | None = None) -> None:
        super().__init__(opens=opened is not None)
        self._opened = opened
        self.charts: list[Chart] = []
        self._content = b""
        self.show(charts)
        self.on_msg(self._asked)

    def show(self, charts: Iterable[Chart]) -> None:
        """Show these charts in place of those that are shown."""
        self.charts = list(charts)
        content = {"names": NAMES, "config": CONFIG, "charts": [chart.spec() for chart in self.charts]}
        self._content = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
        self._send_charts()

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        if content == {"kind": "hello"}:
            alone(self._send_charts)
        elif content == {"kind": "plotly"}:
            alone(lambda: self.send({"kind": "plotly"}, [plotly_script().encode()]))
        elif content.get("kind") == "run" and self._opened is not None:
            self._opened(str(content.get("run")))

    def _send_charts(self) -> None:
        self.send({"kind": "charts"}, [self._content])
