"""The files of the pages, which are the same for everyone: styles, scripts, icon."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hdbkit.charts.script import BUNDLE
from hdbkit.report import page

_OWN = Path(__file__).parent / "static"
STATIC = {
    "/static/report.css": "text/css",
    "/static/site.css": "text/css",
    "/static/plotly.js": "text/javascript",
    "/static/charts.js": "text/javascript",
    "/static/live.js": "text/javascript",
    "/static/icon.svg": "image/svg+xml",
}
"""The paths of the files, and their types. They need no token."""


@cache
def content_of(path: str) -> bytes:
    """The content of a file of ``STATIC``: styles and charts are those of the reports."""
    if path.endswith("report.css"):
        return page.styles().encode()
    if path.endswith("plotly.js"):
        return BUNDLE.read_bytes()
    if path.endswith("charts.js"):
        return page.script().encode()
    return (_OWN / path.rpartition("/")[2]).read_bytes()
