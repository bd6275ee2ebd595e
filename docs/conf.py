"""Configuration of the documentation site (Sphinx): the documents and notebooks of the repository, as they are.

``make docs`` builds it into ``build/docs``; it needs no network when it is read. The source folder is the root of the
repository, so links between documents work there as they do here.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

project = "hdbkit"
author = "the maintainers of hdbkit"
project_copyright = author
version = release = version_of("hdbkit")

root_doc = "docs/index"
include_patterns = [
    *(f"{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")),
    "docs/**",
    *(f"{folder}/README.md" for folder in ("bench", "notebooks", "results", "runners", "schemas", "tests")),
    "notebooks/*.ipynb",
]
exclude_patterns = ["**/.ipynb_checkpoints"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
suppress_warnings = [
    "myst.header",
    "ref.python",  # attributes of two classes have one name
    "mystnb.unknown_mime_type",  # a chart is an image as well as a Plotly figure
]
myst_heading_anchors = 4
nitpicky = False

nb_execution_mode = os.environ.get("HDBKIT_DOCS_NOTEBOOKS", "off")  # "force": each notebook is executed
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # scripts of other sites; no page shows a widget

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # as written: the value of a default may have the folders of who builds the site
autodoc_typehints = "description"
autodoc_typehints_format = "short"

html_theme = "furo"
html_title = f"hdbkit {version}"
html_extra_path = ["site"]
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sourcelink = False


def setup(app: Any) -> None:
    """Have each model list the descriptions of its fields."""
    app.connect(
        "autodoc-process-docstring", lambda _app, what, _name, model, _, lines: add_fields(what, model, lines)
    )
    app.connect("build-finished", complete_pages)


SPOKEN = {
    'class="caption" role="heading">': 'class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="This page">',
    "<pre>": '<pre tabindex="0">',
}
"""What the theme's pages lack for screen readers and keys: levels of headings, names of areas, code that scrolls."""


def complete_pages(app: Any, error: Exception | None) -> None:
    """Add ``SPOKEN`` to each page."""
    for path in () if error else Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for found, wanted in SPOKEN.items():
            text = text.replace(found, wanted)
        path.write_text(text, encoding="utf-8")


def add_fields(what: str, model: Any, lines: list[str]) -> None:
    """Append a line for each described field of a model to its documentation."""
    if what == "class":
        fields = getattr(model, "model_fields", {})
        lines += ["", *(f"* ``{name}``: {field.description}" for name, field in fields.items() if field.description)]
        lines.append("")
