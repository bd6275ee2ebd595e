"""What draws charts in a browser: plotly.js, and the layer of ours that reports, panels and notebooks share.

plotly.js is the bundle of Cartesian charts, a third of the whole, which opens faster:
``plotly/plotly-cartesian.min.js`` is the file of npm's package ``plotly.js-cartesian-dist-min``, unchanged, under the
MIT licence beside it; a newer one is taken from there by hand. The tests of reports draw every kind of trace with it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

BUNDLE = Path(__file__).parent / "plotly" / "plotly-cartesian.min.js"
_LAYER = Path(__file__).parent / "browser"

CONFIG: Final[dict[str, Any]] = {"displaylogo": False, "showSendToCloud": False, "plotlyServerURL": ""}
"""plotly's configuration wherever a chart is drawn: no button leads to another host."""


@cache
def plotly_script() -> str:
    """The content of a ``<script>`` that brings ``Plotly``."""
    return BUNDLE.read_text(encoding="utf-8").replace("</script", "<\\/script")


@cache
def layer_script() -> str:
    """The function ``chartLayer``, for a script or a module; ``browser/layer.js`` states how it is called."""
    return (_LAYER / "layer.js").read_text(encoding="utf-8")


@cache
def layer_css() -> str:
    """How charts stand in a page that has the palette as ``--hdbkit-<name>``."""
    return (_LAYER / "layer.css").read_text(encoding="utf-8")
