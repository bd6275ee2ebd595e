"""An executed notebook as the content of a page: text, code and outputs, its charts drawn by our own layer.

Outputs keep what shows text, tables and drawings of their HTML, and nothing that executes, sends or leads elsewhere
by itself: a notebook may come from elsewhere. Of the forms of an output, the first that a page without a kernel can
show is shown.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from hdbkit.charts.chart import Chart, kept_chart
from hdbkit.errors import DamagedResult
from hdbkit.files import read_bytes
from hdbkit.later import graph_objects as go
from hdbkit.later import pandas as pd
from hdbkit.report.page import Content, embedded_charts

_COLOURS_OF_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CARD = re.compile(r'<p class="hd-answer">(?P<answer>.*?)</p>', re.S)
_ID = re.compile(r"\b\d{8}-\d{6}-[\w-]+-[a-z]{6}\b")
_SCROLLED = Markup('<div class="output" tabindex="0" role="region" aria-label="output">{}</div>')
_SVG = frozenset({"svg", "g", "rect", "line", "path", "polyline", "polygon", "circle", "ellipse", "text", "tspan"})
_TAGS = (nh3.ALLOWED_TAGS | _SVG) - {"map", "area"}
_DRAWN = (
    *("width", "height", "viewbox", "viewBox", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "d"),
    *("points", "transform", "fill", "stroke", "stroke-width", "font-family", "font-size", "text-anchor", "opacity"),
)
_ATTRIBUTES = {
    **{name: {*of} for name, of in nh3.ALLOWED_ATTRIBUTES.items()},
    **{name: {*_DRAWN} for name in _SVG},
    "*": {"class", "style", "role", "tabindex", "aria-label", "aria-hidden", "title", "dir", "lang"},
    "details": {"open"},
    "th": {"scope", "colspan", "rowspan"},
}
_STYLES = {
    *("color", "background", "background-color", "font-weight", "font-style", "font-size", "font-family", "opacity"),
    *(
        "text-align",
        "text-anchor",
        "vertical-align",
        "white-space",
        "border",
        "border-bottom",
        "border-top",
        "padding",
    ),
    *("border-collapse", "border-left", "border-right", "border-radius", "margin", "width", "height", "max-width"),
    *("fill", "stroke", "stroke-width", "display"),
}
"""What an output may set; none of it moves something over the page."""
_IMAGES = ("image/png", "image/jpeg", "image/svg+xml")

_Cell = Mapping[str, Any]


@dataclass(frozen=True)
class NotebookPage:
    """A notebook for a page and an index."""

    title: str
    content: Content
    answer: str
    """The answer of the last result that it shows; empty without one."""
    ids: Sequence[str]
    """The ids of runs and sweeps that its outputs name, in their order."""
    thumbnail: str


def notebook_page(path: Path) -> NotebookPage:
    """The notebook of a file. Raises ``DamagedResult`` if it cannot be read."""
    try:
        cells: list[_Cell] = json.loads(read_bytes(path))["cells"]
        return _Reader(path.stem).read(cells)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedResult(f"the notebook {path} cannot be read: {error}") from None


class _Reader:
    """Reads the cells of one notebook."""

    def __init__(self, name: str) -> None:
        self._title = name
        self._charts: dict[str, dict[str, Any]] = {}
        self._said: list[str] = []

    def read(self, cells: Sequence[_Cell]) -> NotebookPage:
        body = Markup("").join(self._cell(one) for one in cells)
        said = "\n".join(self._said)
        answers = [Markup(one["answer"]).striptags() for one in _CARD.finditer(said)]  # noqa: S704 (to plain text)
        return NotebookPage(
            self._title,
            Content(body, Markup(embedded_charts(self._charts)) if self._charts else Markup("")),  # noqa: S704 (JSON)
            answers[-1] if answers else "",
            list(dict.fromkeys(_ID.findall(said))),
            next((_thumbnail(one) for one in self._charts.values()), ""),
        )

    def _cell(self, cell: _Cell) -> Markup:
        text = _joined(cell["source"])
        if cell["cell_type"] == "markdown":
            if heading := re.match(r"#\s+(.+)", text):
                self._title = heading[1].strip()
            return Markup(markdown_html(text))  # noqa: S704 (it escapes HTML)
        if cell["cell_type"] != "code":
            return Markup("")
        outputs = Markup("").join(self._output(one) for one in cell["outputs"])
        code = Markup("<pre><code>{}</code></pre>").format(text) if text.strip() else ""
        return Markup('<div class="cell">{}{}</div>').format(code, outputs)

    def _output(self, output: _Cell) -> Markup:
        kind = output["output_type"]
        if kind == "stream":
            return self._text(_joined(output["text"]), "text")
        if kind == "error":
            return self._text("\n".join(output["traceback"]) or output["evalue"], "text error")
        return self._bundle(output["data"])

    def _text(self, text: str, look: str) -> Markup:
        plain = _COLOURS_OF_TERMINAL.sub("", text).strip("\n")
        self._said.append(plain)
        return Markup('<div class="output {}"><pre><code>{}</code></pre></div>').format(look, plain)

    def _bundle(self, data: Mapping[str, Any]) -> Markup:
        key = f"c{len(self._charts) + 1}"
        if chart := kept_chart(data, key):
            self._charts[key] = chart
            high = chart["figure"]["layout"]["height"] + 28
            return Markup('<h3>{}</h3><div id="chart-{}" class="plot" style="min-height: {}px"></div>').format(
                chart["question"], key, high
            )
        if "text/html" in data:
            found = _joined(data["text/html"])
            self._said.append(found)
            return _SCROLLED.format(Markup(_cleaned(found)))  # noqa: S704
        if "text/markdown" in data:
            return Markup(markdown_html(_joined(data["text/markdown"])))  # noqa: S704 (it escapes HTML)
        for kind in _IMAGES:
            if kind in data:
                return _image(kind, _joined(data[kind]))
        return self._text(_joined(data.get("text/plain", "")), "text")


def _cleaned(html: str) -> str:
    """HTML of an output without what is more than text, tables and drawings."""
    return nh3.clean(
        html, tags=_TAGS, clean_content_tags={"script", "style", "title"}, attributes=_ATTRIBUTES,
        url_schemes={"https", "http", "data"}, filter_style_properties=_STYLES,
    )  # fmt: skip


def _image(kind: str, content: str) -> Markup:
    coded = base64.b64encode(content.encode()).decode() if kind.endswith("xml") else content.replace("\n", "")
    return Markup('<div class="output"><img alt="" src="data:{};base64,{}"></div>').format(kind, coded)


def _thumbnail(kept: Mapping[str, Any]) -> str:
    """A chart of a notebook as a small image; empty if its figure is none that can be drawn."""
    try:
        return Chart(kept["key"], "", go.Figure(kept["figure"]), "", pd.DataFrame()).thumbnail()
    except (ValueError, TypeError, KeyError):
        return ""


def _joined(text: str | Sequence[str]) -> str:
    """Text as notebooks keep it, in lines or as a whole."""
    return text if isinstance(text, str) else "".join(text)


def markdown_html(text: str) -> str:
    """Markdown as HTML, its own HTML escaped; links lead to other sites only, as files are not beside the page."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(text)
    for token in tokens:
        token.children = list(_in_page(token.children or [])) if token.children is not None else None
    return str(reader.renderer.render(tokens, reader.options, {}))


def _in_page(tokens: Sequence[Token]) -> Iterator[Token]:
    """The parts of a line without images and without links to files."""
    is_kept = True
    for token in tokens:
        if token.type == "link_open":
            is_kept = str(token.attrGet("href")).startswith(("https://", "http://", "#"))
        if token.type == "image":
            yield Token("text", "", 0, content=token.content)
        elif is_kept or token.type not in ("link_open", "link_close"):
            yield token
        if token.type == "link_close":
            is_kept = True
