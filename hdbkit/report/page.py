"""The page itself: template, charts as JSON, one embedded plotly.js, colours of both grounds.

The page blocks every external address (a Content-Security-Policy of ``none``), so it shows the same with
the network off; every text is escaped by the template, and ``<`` in the charts' JSON as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from hdbkit.charts.chart import Chart
from hdbkit.charts.marks import RUN
from hdbkit.charts.script import CONFIG, layer_css, layer_script, plotly_script
from hdbkit.charts.style import COLOURS, NAMES
from hdbkit.files import replace_file
from hdbkit.report.tables import Table, frame_table
from hdbkit.results.manifest import CheckLine

_SPECS = '<script type="application/json" id="specs">'
_WITHIN_A_NAME = re.compile(r"(?<=\w{8})(_)(?=\w{2})")


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
    question: str
    answer: str
    notice: str
    command: str
    next_step: str = ""
    figures: Sequence[Figure] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    evidence: Sequence[Table] = ()
    plans: Sequence[Table] = ()
    plans_title: str = "Plans of the queries"
    checks: Sequence[CheckLine] = ()
    environment: Sequence[Table] = field(default_factory=tuple)
    journal: Sequence[Table] = ()


def write_page(path: Path, page: Page) -> Path:
    """Write ``page`` as one HTML file and give its path."""
    replace_file(path, render(page, reports_of(page.charts, path)).encode("utf-8"))
    return path


def reports_of(charts: Sequence[Chart], path: Path) -> dict[str, str]:
    """The reports of the runs in the charts, relative to a page at ``path``, where they are written already."""
    ids = {run for chart in charts for trace in chart.figure.data if trace.meta == RUN for run in trace.customdata}
    roots = [one for one in path.absolute().parents if any((one / run / "manifest.json").is_file() for run in ids)]
    if not roots:
        return {}
    up = "../" * list(path.absolute().parents).index(roots[0])
    return {run: f"{up}{run}/report.html" for run in ids if (roots[0] / run / "report.html").is_file()}


def render(page: Page, reports: Mapping[str, str]) -> str:
    """The whole page as HTML; a click on the dot of a run opens its report, where ``reports`` has one."""
    return (
        templates()
        .get_template("page.html")
        .render(
            page=page,
            chart_tables=[frame_table(chart.table, "") for chart in page.charts],
            styles=Markup(styles()),  # noqa: S704 (our own)
            script=Markup(script()) if page.charts else "",  # noqa: S704 (our own)
            plotly=Markup(plotly_script()) if page.charts else "",  # noqa: S704 (plotly's own script)
            specs=Markup(_specs(page.charts, reports)),  # noqa: S704 (escaped by _specs)
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
    """The content of a page that ``write_page`` wrote; None if there is none. Its body may hold no script.

    ``reports`` are the pages that the dots of runs open, by the id of the run; by default they open nothing.

    The caller's page has to forbid inline scripts, so that a file changed by someone else runs nothing.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    head, main = _between(text, "<header>", "</header>"), _between(text, "<main>", "</main>")
    if not head:
        return None
    charts = _elsewhere(_between(text, _SPECS, "</script>"), reports)
    return Content(Markup(head + main), Markup(charts))  # noqa: S704 (escaped when it was written)


def _elsewhere(specs: str, reports: Mapping[str, str] | None) -> str:
    """The charts of a page for another one, where its links to reports lead nowhere; empty if there are none.

    Pages of earlier versions keep their charts in another form, which is not drawn.
    """
    try:
        content = json.loads(specs)
    except ValueError:
        return ""
    if not isinstance(content, dict) or "charts" not in content:
        return ""
    return _embedded(content | {"reports": reports} | ({} if reports is None else {"site": True}))


def _between(text: str, first: str, last: str) -> str:
    """What is between two marks; empty if they are not there."""
    return text.partition(first)[2].partition(last)[0] if first in text and last in text else ""


def _specs(charts: Sequence[Chart], reports: Mapping[str, str]) -> str:
    return embedded_charts({chart.key: chart.spec() for chart in charts}, reports)


def embedded_charts(specs: Mapping[str, Any], reports: Mapping[str, str] | None = None) -> str:
    """Charts (``Chart.spec`` by key) as the JSON that the script of a page reads, without ``<``."""
    return _embedded({"names": NAMES, "charts": specs, "config": CONFIG, "reports": reports})


def _embedded(content: dict[str, Any]) -> str:
    """Content as JSON that ends no element of the page."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def templates() -> Environment:
    """The templates of this package; every value is escaped."""
    made = Environment(
        loader=PackageLoader("hdbkit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["breakable"] = _breakable
    return made


def _breakable(text: str) -> Markup:
    """A cell's text that may wrap within a long name, as of a setting and its value."""
    return Markup(_WITHIN_A_NAME.sub(r"\1<wbr>", str(escape(text))))  # noqa: S704 (escaped)
