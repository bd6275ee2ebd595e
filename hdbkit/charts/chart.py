"""A chart: a question, a figure that answers it, a text alternative, and the numbers behind it.

Drawn once, with plotly; on paper and in files by matplotlib (:mod:`hdbkit.charts.static`), which is imported when it
is asked for.
"""

from __future__ import annotations

import base64
import html
import importlib.util
import io
import json
import math
import re
import string
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hdbkit.charts.style import COLOURS, CONFIG, NAMES, colour, inverted_css, layer_css, layer_script, packed_plotly
from hdbkit.errors import InputError
from hdbkit.later import graph_objects as go
from hdbkit.later import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hdbkit.in_notebook import Slot

DRAWING = threading.RLock()
"""Held while matplotlib draws: its settings are those of the whole process."""
ImageFormat = Literal["png", "svg", "pdf"]
_KINDS: tuple[ImageFormat, ...] = ("png", "svg", "pdf")
_DATES = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
_WHITE = "#ffffff"
_TITLE_PX = 40
"""The height that a notebook's figure has for its question, above its legend."""
_IMAGE = """<img class="hdbkit-image" alt="{question}" src="data:image/png;base64,{image}"
style="max-width: 100%; height: auto; background: #fff">
"""
_DRAWN = ".jp-OutputArea-child:has(+ .jp-OutputArea-child .hdbkit-words) :is(.jp-RenderedPlotly, .hdbkit-image)"
"""The drawing above the words of its chart in a notebook, which are an output of their own."""
_WORDS = """<p class="hdbkit-words" style="margin: 0 0 0.5em; color: var(--jp-ui-font-color2)">{alternative}</p>
<style>{css}</style>
"""
_LIVING = ".jp-OutputArea-child:has(.hdbkit-chart-place.hdbkit-alive)"
_NEXT = "+ .jp-OutputArea-child"
_HIDDEN = f"{_LIVING} {_NEXT}, {_LIVING} {_NEXT} {_NEXT} {{display: none}}"
"""The drawing and the words that the notebook keeps are hidden while the living chart is above them."""
_MARKS = {
    "checkpoint": ("series-5", "dot"), "automatic vacuum": ("series-4", "dashdot"), "purge": ("series-2", "longdash"),
    "restart of the server": ("series-3", "solid"), "deadlock": ("series-2", "dash"), "fault": ("ink", "dash"),
    "note": ("series-1", "dashdot"), "pause of the load host": ("ink", "solid"), "stall": ("ink", "dot"),
    "changed plan": ("series-3", "dash"), "latency": ("series-2", "dot"),
}  # fmt: skip
"""The colour and dash of each kind of event."""
_DASHES = {"dot": "dotted", "dash": "dashed", "dashdot": "dash-dotted", "longdash": "long-dashed", "solid": "solid"}
_OTHER, _MAX_MARKS = ("muted", "dot"), 60
_PAGE = Path(__file__).parent / "browser" / "page.html"
_DARK = "#14171d"


@dataclass(frozen=True)
class Chart:
    """A figure with its text alternative and its table; ``question`` is its title.

    Example:
        >>> hdbkit.result().charts()["throughput"].save("throughput.pdf", columns=1)  # doctest: +SKIP
    """

    key: str
    question: str
    figure: go.Figure
    alternative: str
    table: pd.DataFrame

    @property
    def is_over_time(self) -> bool:
        """Whether its horizontal axis is the time since the start of a run."""
        return "since the start" in (self.figure.layout.xaxis.title.text or "")

    def mark(self, events: pd.DataFrame) -> Chart:
        """The chart with a line at each event; ``events`` has time_s and kind, as ``Result.events``.

        A kind of more than 60 events is counted and not drawn.

        Raises:
            InputError: the chart's horizontal axis is not the time since the start of a run.

        Example:
            >>> run = hdbkit.result()  # doctest: +SKIP
            >>> run.charts()["latency_over_time"].mark(run.events)  # doctest: +SKIP
        """
        if not self.is_over_time:
            raise InputError(f"the chart '{self.question}' is not over the time since the start of a run")
        marked = type(self.figure)(self.figure)
        counts = []
        for kind, rows in events.groupby("kind", sort=False):
            ink, dash = _MARKS.get(str(kind), _OTHER)
            drawn = len(rows) <= _MAX_MARKS
            for at in rows["time_s"] if drawn else ():
                marked.add_vline(at, line_color=colour(ink), line_dash=dash, line_width=1.5)
            counts.append(f"{kind} ({len(rows)}, {f'{_DASHES[dash]} line' if drawn else 'not drawn'})")
        words = f"{self.alternative} Marked: {', '.join(counts)}." if counts else self.alternative
        return replace(self, figure=marked, alternative=words)

    def draw(self, library: Literal["plotly", "matplotlib"] = "plotly", columns: int = 2) -> go.Figure | Figure:
        """The chart as a plotly or as a matplotlib figure; ``columns`` is for the latter."""
        if library not in ("plotly", "matplotlib"):
            raise InputError(f"a chart is drawn with plotly or matplotlib, not {library!r}")
        return self.matplotlib(columns) if library == "matplotlib" else self.figure

    def matplotlib(self, columns: int = 2, *, title: bool = False) -> Figure:
        """The chart as a ``matplotlib.figure.Figure`` on white, without pyplot.

        Args:
            columns: how wide: 1 or 2 columns of a paper (3.5 or 7.16 inches).
            title: whether the question stands above it; in a paper it is the caption's.
        """
        from hdbkit.charts.static import WIDTHS_IN, drawn_on_paper

        if columns not in WIDTHS_IN:
            raise InputError(f"a chart is 1 or 2 columns wide, not {columns!r}")
        return drawn_on_paper(self.figure, columns, self.question if title else "")

    def image(self, kind: ImageFormat = "png", columns: int = 2, *, title: bool = False, dpi: int = 200) -> bytes:
        """The chart as the content of a PNG, SVG or PDF file; the same chart gives the same bytes."""
        import matplotlib as mpl

        from hdbkit.charts.static import SAVING

        content = io.BytesIO()
        with DRAWING, mpl.rc_context(SAVING):
            figure = self.matplotlib(columns, title=title)
            figure.savefig(content, format=kind, dpi=dpi, metadata=_DATES[kind])
        return content.getvalue()

    def thumbnail(self) -> str:
        """The chart as a small image in HTML."""
        image = base64.b64encode(self.image(columns=1, dpi=72)).decode()
        return f'<img src="data:image/png;base64,{image}" alt="">'

    def spec(self) -> dict[str, Any]:
        """The chart as ``browser/layer.js`` draws it: its words, its figure, and its table as CSV."""
        return {
            "key": self.key, "question": self.question, "words": self.alternative,
            "figure": _inert(self.figure.to_plotly_json()), "csv": self.table.to_csv(index=False),
        }  # fmt: skip

    def save(self, path: Path | str, columns: int = 2, *, title: bool = False) -> Path:
        """Write the chart as a .png, .svg, .pdf or .html file, and give its path.

        The HTML is the interactive one and holds all that it needs, ``columns`` and ``title`` are of the others.

        Raises:
            InputError: the name ends in none of these, or ``columns`` is neither 1 nor 2.
        """
        path = Path(path)
        if path.suffix == ".html":
            path.write_text(self._page(), encoding="utf-8")
            return path
        kind = next((one for one in _KINDS if path.suffix == f".{one}"), None)
        if kind is None:
            raise InputError(f"a chart is saved as .png, .svg, .pdf or .html, not as '{path.name}'")
        path.write_bytes(self.image(kind, columns, title=title))
        return path

    def _page(self) -> str:
        spec = json.dumps({"chart": self.spec(), "names": NAMES, "config": CONFIG}, allow_nan=False)
        light = {name: one.light for name, one in COLOURS.items()} | {"ground": _WHITE}
        dark = {name: one.dark for name, one in COLOURS.items()} | {"ground": _DARK}
        return string.Template(_PAGE.read_text(encoding="utf-8")).substitute(
            light=_variables(light), dark=_variables(dark), css=layer_css(), plotly=packed_plotly(),
            layer=layer_script(), spec=spec.replace("<", "\\u003c"), **self._words(),
        )  # fmt: skip

    def _words(self) -> dict[str, str]:
        return {"question": html.escape(self.question), "alternative": html.escape(self.alternative)}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if (slot := self._living()) is not None:
            slot.show()
        for bundle in self.in_notebook():
            display(bundle, raw=True)  # type: ignore[no-untyped-call]

    def _living(self) -> Slot | None:
        """A place for the chart as it is while the kernel lives; None where no kernel or no widget can be had."""
        from IPython.core.getipython import get_ipython

        if not hasattr(get_ipython(), "kernel") or importlib.util.find_spec("anywidget") is None:
            return None
        from hdbkit.charts.view import ChartView
        from hdbkit.in_notebook import Slot

        made = Slot(ChartView([self]), self.question, look="hdbkit-chart-place")
        made.keep("")
        return made

    def in_notebook(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The two outputs that a notebook shows and keeps, by media type: the drawing, and its words below.

        The drawing is plotly's where plotly can be drawn, else an image; in a dark JupyterLab both are inverted.
        While the kernel lives, :class:`~hdbkit.charts.view.ChartView` stands in their place.
        """
        high = self.figure.layout.height + _TITLE_PX
        title = {"text": self.question, "x": 0.01, "y": 1 - 8 / high, "yanchor": "top", "font": {"size": 15}}
        shown = go.Figure(self.figure).update_layout(
            paper_bgcolor=_WHITE, title=title, height=high, margin_t=_TITLE_PX + self.figure.layout.margin.t,
            legend={"yref": "container", "y": 1 - _TITLE_PX / high, "yanchor": "top"},
        )  # fmt: skip
        image = base64.b64encode(self.image(title=True, dpi=120)).decode()
        drawing = {
            "application/vnd.plotly.v1+json": {**_inert(shown.to_plotly_json()), "config": CONFIG},
            "text/html": _IMAGE.format(image=image, **self._words()),
            "text/plain": self.question,
        }
        words = _WORDS.format(css=inverted_css(_DRAWN) + _HIDDEN, **self._words())
        return drawing, {"text/html": words, "text/plain": self.alternative}


_TAG = re.compile(r"<(?!/?(?:br|b|extra)>)(?=[/!?a-zA-Z])")
"""The beginning of what plotly would take for a tag in a text, except for those that charts use."""


def _inert(part: Any) -> Any:
    """A part of a figure for JSON, without values that are not known.

    Its texts are shown as they are: plotly would make links of their tags.
    """
    if isinstance(part, str):
        return _TAG.sub("&lt;", part)
    if isinstance(part, float) and not math.isfinite(part):
        return None
    if isinstance(part, Mapping):
        return {name: _inert(one) for name, one in part.items()}
    return [_inert(one) for one in part] if isinstance(part, list | tuple) else part


def kept_chart(bundle: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    """A chart that a notebook kept (:meth:`Chart.in_notebook`), as ``browser/layer.js`` draws it; None for another.

    Its words are an output of their own, and the notebook keeps no table.
    """
    kept = bundle.get("application/vnd.plotly.v1+json")
    if not kept or (kept.get("config") or {}).get("plotlyServerURL") != CONFIG["plotlyServerURL"]:
        return None
    layout = {**kept["layout"]}
    if not {"title", "height", "margin", "font", "xaxis", "yaxis"} <= layout.keys():
        return None
    question = str(layout.pop("title")["text"])
    layout |= {"height": layout["height"] - _TITLE_PX, "paper_bgcolor": "rgba(0,0,0,0)"}
    layout["margin"] = {**layout["margin"], "t": layout["margin"]["t"] - _TITLE_PX}
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"}
    figure = _inert({"data": kept["data"], "layout": layout})
    return {"key": key, "question": question, "words": question, "figure": figure, "csv": None}


def _variables(colours: Mapping[str, str]) -> str:
    return " ".join(f"--hdbkit-{name}: {value};" for name, value in colours.items())
