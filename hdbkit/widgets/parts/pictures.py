"""A chart in a panel: its drawing as SVG in the page itself, in the colours of the page's theme.

No outside address and no plotly.js: a drawing is some kilobytes and has a text alternative. Each
colour of the palette becomes a CSS variable, so that the same drawing is right on a light and on a dark ground. The
interactive charts are in the report.
"""

from __future__ import annotations

import html
import re
import uuid
from collections.abc import Iterable

import matplotlib as mpl

from hdbkit.charts.chart import DRAWING, Chart
from hdbkit.charts.style import COLOURS, palette_css
from hdbkit.widgets.parts.base import STATIC

_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_NAMES = {one.light: name for name, one in COLOURS.items()}
_WIDTHS = {"wide": 2, "narrow": 1}
"""The columns of a paper for which a chart is drawn, by the panel's width: the page shows the one that fits."""
_IDS = re.compile(r'(\bid="|url\(#|href="#)')


def charts_html(charts: Iterable[Chart]) -> str:
    """Charts one below the other, each with its question above and its words below."""
    style = palette_css(".hdbkit-chart") + (STATIC / "chart.css").read_text(encoding="utf-8")
    return "".join(map(_figure, charts)) + f"<style>{style}</style>"


def _figure(chart: Chart) -> str:
    question, words = html.escape(chart.question), html.escape(chart.alternative)
    drawn = "".join(f'<div class="hdbkit-{width}">{svg(chart, columns)}</div>' for width, columns in _WIDTHS.items())
    return (
        f'<figure class="hdbkit-chart"><figcaption>{question}</figcaption>'
        f'<div role="img" aria-label="{words}">{drawn}</div><p>{words}</p></figure>'
    )


def svg(chart: Chart, columns: int = 2) -> str:
    """The chart as an SVG element in the colours of the theme; its ids are its own, so that many fit on a page."""
    with DRAWING, mpl.rc_context({"svg.fonttype": "none"}):
        drawing = chart.image("svg", columns).decode()
    mark = uuid.uuid4().hex[:8]
    element = drawing[drawing.index("<svg") :]
    own = _IDS.sub(rf"\g<1>{mark}-", re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL))
    return _COLOUR.sub(lambda found: _themed(found.group()), own)


def _themed(colour: str) -> str:
    """A colour of the light drawing as the theme's: by name, as the ground, or as the heat between its two ends."""
    if colour in _NAMES:
        return _variable(_NAMES[colour])
    if colour == "#ffffff":
        return "var(--hdbkit-ground, #ffffff)"
    heat = _heat(colour)
    if heat is None:
        return colour
    return f"color-mix(in srgb, {_variable('heat-high')} {100 * heat:.0f}%, {_variable('heat-low')})"


def _variable(name: str) -> str:
    return f"var(--hdbkit-{name}, {COLOURS[name].light})"


def _heat(colour: str) -> float | None:
    """How far a colour lies between the ends of the heat map's scale; None when it is not of it."""
    low, high, at = (_channels(one) for one in (COLOURS["heat-low"].light, COLOURS["heat-high"].light, colour))
    shares = [(c - a) / (b - a) for a, b, c in zip(low, high, at, strict=True)]
    return sum(shares) / 3 if min(shares) >= 0 and max(shares) <= 1 and max(shares) - min(shares) < 0.1 else None


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
