"""The page itself: template, charts as JSON, one embedded plotly.js, colours of both grounds.

The page blocks every external address (a Content-Security-Policy of ``none``), so it shows the same with
the network off; every text is escaped by the template, and ``<`` in the charts' JSON as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from hdbkit.charts.chart import Chart
from hdbkit.charts.flame import Flame
from hdbkit.charts.marks import RUN
from hdbkit.charts.style import COLOURS, CONFIG, NAMES, layer_css, layer_script, packed_plotly
from hdbkit.errors import InputError
from hdbkit.files import read_bytes, replace_file
from hdbkit.report import templates
from hdbkit.report.card import Card
from hdbkit.report.tables import Table, frame_table
from hdbkit.results.seal import is_sealed, seal_of


@dataclass(frozen=True)
class Figure:
    """A key figure: what it is, its value, and what it means."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Page:
    """The content of a report, in its order."""

    kicker: str
    card: Card
    notice: str
    command: str
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    flames: Sequence[Flame] = ()
    evidence: Sequence[Table] = ()
    plans: Sequence[Table] = ()
    plans_title: str = "Plans of the queries"
    environment: Sequence[Table] = field(default_factory=tuple)
    journal: Sequence[Table] = ()


def write_page(path: Path, page: Page) -> Path:
    """Write ``page`` as one HTML file, and its content beside it as JSON for other pages; give the former's path."""
    body, charts = _body(page), _specs(page)
    stored = {"body": str(body), "charts": charts}
    text = json.dumps({**stored, "seal": _seal(stored)}, separators=(",", ":"), allow_nan=False)
    replace_file(content_file(path), text.encode("utf-8"))
    specs = embedded_charts(charts, reports_of(page.charts, path))
    replace_file(path, _render(page, body, specs).encode("utf-8"))
    return path


def _seal(stored: dict[str, Any]) -> str:
    """What tells this account's pages from those that came from elsewhere; empty if it has no key."""
    mark = _mark(stored)
    _written.add(mark)
    with suppress(InputError):
        return seal_of({"page": mark})
    return ""


def _is_own(stored: dict[str, Any], seal: object) -> bool:
    """Whether this account wrote a stored page, so that its body is HTML whose texts are escaped."""
    mark = _mark(stored)
    with suppress(InputError):
        return mark in _written or is_sealed({"page": mark}, seal)
    return False


def _mark(stored: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()


_written = set[str]()
"""The digests of what this process has written, for an account that has no key."""


def _specs(page: Page) -> dict[str, Any]:
    return {chart.key: chart.spec() for chart in page.charts}


def page_content(page: Page) -> Content:
    """What a page shows, for another page, without a file."""
    charts = _specs(page)
    return Content(_body(page), Markup(embedded_charts(charts) if charts else ""))  # noqa: S704 (JSON, without <)


def content_file(path: Path) -> Path:
    """Where the content of the page at ``path`` is."""
    return path.with_suffix(".json")


def reports_of(charts: Sequence[Chart], path: Path) -> dict[str, str]:
    """The reports of the runs in the charts, relative to a page at ``path``, where they are written already."""
    ids = {run for chart in charts for trace in chart.figure.data if trace.meta == RUN for run in trace.customdata}
    roots = [one for one in path.absolute().parents if any((one / run / "manifest.json").is_file() for run in ids)]
    if not roots:
        return {}
    up = "../" * list(path.absolute().parents).index(roots[0])
    return {run: f"{up}{run}/report.html" for run in ids if (roots[0] / run / "report.html").is_file()}


def _body(page: Page) -> Markup:
    """The content of a page as HTML; its charts are drawn by the script of whatever page shows it."""
    tables = [frame_table(chart.table, "") for chart in page.charts]
    return Markup(templates().get_template("content.html").render(page=page, chart_tables=tables))  # noqa: S704 (escaped)


def _render(page: Page, body: Markup, specs: str) -> str:
    """The whole page as HTML."""
    return (
        templates()
        .get_template("page.html")
        .render(
            page=page,
            body=body,
            styles=Markup(styles()),  # noqa: S704 (our own)
            script=Markup(script()) if page.charts else "",  # noqa: S704 (our own)
            plotly=packed_plotly() if page.charts else "",
            specs=Markup(specs),  # noqa: S704 (escaped by embedded_charts)
        )
    )


@cache
def styles() -> str:
    """The style sheet, with the colours of both grounds, and that of charts."""
    return templates().get_template("page.css").render(colours=COLOURS) + layer_css()


def script() -> str:
    """The script that draws the charts of a page."""
    return layer_script() + templates().get_template("page.js").render()


@dataclass(frozen=True)
class Content:
    """What a stored page shows, without its scripts and styles: its body as HTML, its charts as JSON."""

    body: Markup
    charts: Markup


def read_content(path: Path, reports: Mapping[str, str] | None = None) -> Content | None:
    """The content of a page that this account has written with ``write_page``; None if there is none.

    ``reports`` are the pages that the dots of runs open, by the id of the run; by default they open nothing.

    A file that came from elsewhere or was changed is not shown: its body could have any HTML, such as a false page of
    this site.
    """
    try:
        stored = json.loads(read_bytes(content_file(path)))
        body, charts = str(stored["body"]), dict(stored["charts"])
        if not _is_own({"body": body, "charts": charts}, stored.get("seal")):
            return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    specs = embedded_charts(charts, reports, in_site=reports is not None) if charts else ""
    return Content(Markup(body), Markup(specs))  # noqa: S704 (escaped when it was written)


def embedded_charts(
    specs: Mapping[str, Any], reports: Mapping[str, str] | None = None, *, in_site: bool = False
) -> str:
    """Charts (``Chart.spec`` by key) as the JSON that the script of a page reads, without ``<``."""
    site = {"site": True} if in_site else {}
    content = {"names": NAMES, "charts": specs, "config": CONFIG, "reports": reports, **site}
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
