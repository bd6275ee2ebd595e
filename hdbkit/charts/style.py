"""How every figure looks: one palette, light and dark, safe for colour-blind readers.

Figures are drawn in the light colours. A page recolours them by name, so each colour stands here once, with its
name and its value on a dark ground. Series follow Okabe and Ito, darkened or lightened to at least 3:1.

Charts in a browser are drawn by plotly.js and by the layer of ours that reports, panels and notebooks share.
plotly.js is the bundle of Cartesian charts, a third of the whole, which opens faster:
``plotly/plotly-cartesian.min.js`` is the file of npm's package ``plotly.js-cartesian-dist-min``, unchanged, under the
MIT licence beside it; a newer one is taken from there by hand. The tests of reports draw every kind of trace with it.
"""

from __future__ import annotations

import base64
import gzip
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from hdbkit.config.metric import Better, Metric
from hdbkit.later import graph_objects as go


@dataclass(frozen=True)
class Colour:
    """A colour by its use, on a light and on a dark ground."""

    light: str
    dark: str


COLOURS: Final = {
    "series-1": Colour("#0069a8", "#5ab4f0"),
    "series-2": Colour("#c24e00", "#ff9f4a"),
    "series-3": Colour("#00805c", "#35c79a"),
    "series-4": Colour("#a8478a", "#e59acb"),
    "series-5": Colour("#8a6d00", "#e6c84b"),
    "ink": Colour("#1c2330", "#e7eaf0"),
    "muted": Colour("#5d6677", "#9ea8ba"),
    "grid": Colour("#dfe3ea", "#333a47"),
    "shade": Colour("#eef1f5", "#222833"),
    "heat-low": Colour("#eaf3fa", "#16324a"),
    "heat-high": Colour("#3f98d4", "#256d9f"),
}
NAMES: Final = {one.light.lower(): name for name, one in COLOURS.items()}
"""The name of each colour of a figure; a page that shows it replaces the colour by its own of that name."""
SERIES: Final = tuple(f"series-{i}" for i in range(1, 6))
MAX_COLOURED: Final = len(SERIES)
"""Lines of a chart in which each has a colour of its own; tables hold all."""
DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash")
MARKERS: Final = ("circle", "square", "diamond", "triangle-up", "x")
PATTERNS: Final = ("", "/", "x", ".", "\\", "-")
HEIGHT: Final = 380
_LONGEST_TITLE: Final = 50
"""The characters of a line that fits along the y axis of a chart of this height."""
INVERTED: Final = 0.933
"""How far a drawing in the light colours is inverted on a dark page; white becomes the ground of JupyterLab, #111."""


def colour(name: str) -> str:
    """A colour of the palette as a figure takes it."""
    return COLOURS[name].light


def series(index: int) -> dict[str, Any]:
    """Colour, dash and marker of the ``index``-th series: never colour alone; the first 25 differ."""
    i, other = index % len(SERIES), (index + index // len(SERIES)) % len(SERIES)
    return {"ink": SERIES[i], "color": colour(SERIES[i]), "dash": DASHES[other], "symbol": MARKERS[other]}


def axis_title(metric: Metric) -> str:
    """The title of an axis of the metric's values; it states if a lower value is better."""
    if metric.better is Better.LOWER:
        return f"{metric.title} ({metric.unit}, lower is better)"
    return metric.name if metric.name == metric.title else f"{metric.name} ({metric.title})"


def hover(metric: Metric, values: Iterable[Any], axis: str = "y") -> str:
    """The value of a point with its unit, as plotly writes it: whole where values reach 1,000, else three digits."""
    largest = max((abs(float(value)) for value in values if value is not None), default=0.0)
    return f"%{{{axis}:{',.0f' if largest >= 1000 else ',.3r'}}} {metric.unit}"


def compact(value: float) -> float | None:
    """A value as JSON keeps it: whole from 1,000 on, else with four digits; None where it is not known."""
    if not math.isfinite(value):
        return None
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def shade_rampup(
    fig: go.Figure, until_s: float, since_s: float = 0, name_at: str = "bottom left", *, over: bool = False
) -> None:
    """Shade what lies ahead of the window, and name it; nothing without a ramp-up.

    ``over`` shades what is drawn, for a chart whose areas would hide a ground.
    """
    if until_s > since_s:
        look = {"layer": "above", "opacity": 0.6} if over else {"layer": "below"}
        fig.add_vrect(
            since_s, until_s, fillcolor=colour("shade"), line_width=0, annotation_text="ramp-up",
            annotation_position=name_at, annotation_font_color=colour("ink" if over else "muted"), **look,
        )  # fmt: skip


def along_run(
    start_s: float, y: str, *, name_at: str = "bottom left", over: bool = False, **layout: Any
) -> go.Figure:
    """An empty figure over the seconds of a run; its ramp-up, up to ``start_s``, is shaded as by ``shade_rampup``."""
    fig = figure("seconds since the start", y, **layout)
    shade_rampup(fig, start_s, name_at=name_at, over=over)
    return fig


def add_line(
    fig: go.Figure, index: int, x: Sequence[Any], y: Sequence[Any], name: str, hover: str, **trace: Any
) -> None:
    """Add a line that looks like the ``index``-th series, broken where ``y`` is None; ``hover`` is a template."""
    look = series(index)
    line = {"color": look["color"], "dash": look["dash"], "width": 2}
    fig.add_scatter(x=x, y=y, name=name, line=line, hovertemplate=hover, **{"mode": "lines", **trace})


def log_axis(values: Iterable[float]) -> dict[str, Any]:
    """A logarithmic axis from the 1-2-5 step below the least value above 0 to the step above the greatest."""
    known = [value for value in values if value > 0] or [1.0]
    low, high = min(known), max(known)
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    steps = [float(f"{mantissa}e{decade}") for decade in decades for mantissa in (1, 2, 5)]
    first = max(step for step in steps if step < low)
    last = min(step for step in steps if step > high)
    ticks = [step for step in steps if first <= step <= last]
    bounds = [math.log10(first), math.log10(last)]
    texts = [f"{tick:,.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks]
    return {"type": "log", "range": bounds, "tickvals": ticks, "ticktext": texts}


def figure(x: str, y: str, height: int = HEIGHT, **layout: Any) -> go.Figure:
    """An empty figure with titled axes, on a transparent ground; a long title of the y axis has several lines."""
    titled = {"color": colour("muted"), "size": 13}
    axis = {
        "gridcolor": colour("grid"),
        "linecolor": colour("grid"),
        "zerolinecolor": colour("grid"),
        "tickfont": {"color": colour("muted")},
        "automargin": True,
        "separatethousands": True,
        "exponentformat": "none",
    }
    base: dict[str, Any] = {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": colour("ink")},
        "margin": {"l": 60, "r": 16, "t": 16, "b": 52},
        "height": height,
        "hovermode": "closest",
        "modebar": {"remove": ["sendChartToCloud"]},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        "xaxis": {**axis, "title": {"text": x, "font": titled}},
        "yaxis": {**axis, "title": {"text": "<br>".join(textwrap.wrap(y, _LONGEST_TITLE)), "font": titled}},
    }
    from hdbkit.charts.plain import PlainFigure

    return PlainFigure(layout=base).update_layout(**layout)


def inverted_css(selector: str) -> str:
    """A rule for drawings in the light colours on a dark JupyterLab: lightness inverted, hues kept.

    For what a page cannot recolour by name: pixels, and plots that another extension draws.
    """
    look = f"filter: invert({INVERTED:.1%}) hue-rotate(180deg)"
    return f'[data-jp-theme-light="false"] {selector} {{{look}}}\n'


def palette_css(selector: str) -> str:
    """``--hdbkit-<name>`` for each colour below ``selector``: for a light page, and for a dark JupyterLab."""
    light = "".join(f"--hdbkit-{name}: {colour.light};" for name, colour in COLOURS.items())
    dark = "".join(f"--hdbkit-{name}: {colour.dark};" for name, colour in COLOURS.items())
    return f'{selector} {{{light}}}\n[data-jp-theme-light="false"] {selector} {{{dark}}}\n'


BUNDLE = Path(__file__).parent / "plotly" / "plotly-cartesian.min.js"
_LAYER = Path(__file__).parent / "browser"

CONFIG: Final[dict[str, Any]] = {"displaylogo": False, "showSendToCloud": False, "plotlyServerURL": ""}
"""plotly's configuration wherever a chart is drawn: no button leads to another host."""


@cache
def plotly_script() -> str:
    """The content of a ``<script>`` that brings ``Plotly``."""
    return BUNDLE.read_text(encoding="utf-8").replace("</script", "<\\/script")


@cache
def packed_plotly() -> str:
    """The same script for a page that holds all it needs, compressed to less than half; ``layer.js`` unpacks it."""
    return base64.b64encode(gzip.compress(BUNDLE.read_bytes(), mtime=0)).decode("ascii")


@cache
def layer_script() -> str:
    """The function ``chartLayer``, for a script or a module; ``browser/layer.js`` states how it is called."""
    return (_LAYER / "layer.js").read_text(encoding="utf-8")


@cache
def layer_css() -> str:
    """How charts stand in a page that has the palette as ``--hdbkit-<name>``."""
    return (_LAYER / "layer.css").read_text(encoding="utf-8")
