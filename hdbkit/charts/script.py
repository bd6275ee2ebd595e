"""plotly.js as the pages embed it: the bundle of Cartesian charts, a third of the whole, which opens faster.

``plotly/plotly-cartesian.min.js`` is the file of npm's package ``plotly.js-cartesian-dist-min``, unchanged, under the
MIT licence beside it; a newer one is taken from there by hand. The tests of reports draw every kind of trace with it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

BUNDLE = Path(__file__).parent / "plotly" / "plotly-cartesian.min.js"

CONFIG: Final[dict[str, Any]] = {"displaylogo": False, "showSendToCloud": False, "plotlyServerURL": ""}
"""plotly's configuration wherever a chart is drawn: no button leads to another host."""


@cache
def plotly_script() -> str:
    """The content of a ``<script>`` that brings ``Plotly``."""
    return BUNDLE.read_text(encoding="utf-8").replace("</script", "<\\/script")
