"""A site: pages that share styles and scripts, and an index of them with search, for a web server or a folder.

Pages hold no script of their own, and their policy permits only the scripts beside them: the output of a notebook,
or a file that somebody else changed, executes nothing. No page asks another host for anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markupsafe import Markup

from hdbkit.charts.style import BUNDLE
from hdbkit.files import replace_file
from hdbkit.report import templates
from hdbkit.report.page import Content, script, styles

ASSETS = {
    "report.css": "text/css",
    "site.css": "text/css",
    "plotly.js": "text/javascript",
    "charts.js": "text/javascript",
    "search.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""What the pages share, and the types of these files."""
_STATIC = "static/"
FILTERS = ("kind", "database", "workload", "state")
"""The facts of an entry that the index can be filtered by."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "form-action 'none'; base-uri 'none'"
)
_OWN = Path(__file__).parent / "static"


@dataclass(frozen=True)
class Entry:
    """A line of an index: what it is, its verdict, where it leads, and a thumbnail of its first chart."""

    title: str
    link: str
    state: str
    """How it ended, in a few words that others share, such as ``done``."""
    mark: str = ""
    """How the state is marked: good, bad, unsure or not at all."""
    verdict: str = ""
    about: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the index can be filtered by; see ``FILTERS``."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Further links, by their words."""
    thumbnail: str = ""
    """An image in HTML; see :meth:`hdbkit.charts.chart.Chart.thumbnail`."""


@cache
def asset(name: str) -> bytes:
    """The content of a file of ``ASSETS``; charts and styles are those of the reports."""
    if name == "report.css":
        return styles().encode()
    if name == "plotly.js":
        return BUNDLE.read_bytes()
    if name == "charts.js":
        return script().encode()
    return (_OWN / name).read_bytes()


def write_assets(folder: Path) -> None:
    """Write what the pages below ``folder`` share."""
    (folder / _STATIC).mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        path = folder / _STATIC / name
        if not path.is_file() or path.read_bytes() != asset(name):
            replace_file(path, asset(name))


def write_site_page(folder: Path, name: str, title: str, content: Content, source: str = "") -> None:
    """Write the page ``name`` of the site in ``folder``; ``source`` is a file beside it that it was made from."""
    up = "../" * name.count("/")
    text = templates().get_template("site_page.html").render(
        title=title, content=content, source=source, static=f"{up}{_STATIC}", index=f"{up}index.html", policy=_POLICY,
    )  # fmt: skip
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode())


def write_index(folder: Path, title: str, entries: Sequence[Entry], words: str = "", runs: str = "") -> Path:
    """Write the index of the site in ``folder``, and give its path.

    ``runs`` is the list of all runs in HTML; it stands for their entries, and the others follow in this order.
    """
    shown = [
        {**one.__dict__, "thumbnail": Markup(one.thumbnail)}  # noqa: S704 (an image of our own)
        for one in entries
        if not runs or one.facts.get("kind") != "run"
    ]
    filters = {name: sorted({one.facts[name] for one in entries if one.facts.get(name)}) for name in FILTERS}
    text = templates().get_template("site_index.html").render(
        title=title, words=words, entries=shown, total=len(entries), runs=Markup(runs),  # noqa: S704 (escaped)
        filters=filters, static=_STATIC, policy=_POLICY,
    )  # fmt: skip
    replace_file(folder / "index.html", text.encode())
    return folder / "index.html"
